# Two commands for a newcomer: `make demo` and `make test`. Everything runs in .venv.
PY ?= python3.11
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo runtime browser shells azurite actionlint dashboard dashboard-test promptflow claude test test-quick coverage check lint fmt build install bench fuzz schemas reference api docs lock clean

demo: $(STAMP)
	$(BIN)/waza run examples/code-explainer/eval.yaml -v --no-save

# check first: it is quick and says most. Then every test, on all cores. The coverage at the end counts lines and branches
# that run in the processes of the tests themselves; `make coverage` counts those of the programs that they start as well.
test: check docs runtime browser shells azurite actionlint dashboard-test promptflow claude
	COVERAGE_FILE=$(COVERAGE) $(BIN)/python -m pytest -n auto --cov --cov-report= --cov-fail-under=50

test-quick: $(STAMP)
	$(BIN)/python -m pytest -n auto -m "not slow"

# The same tests with every process measured, which takes half as long again.
COVERAGE := $(CURDIR)/.venv/coverage/data
coverage: $(STAMP) docs runtime browser shells azurite actionlint dashboard promptflow claude
	COVERAGE_FILE=$(COVERAGE) COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(BIN)/python -m pytest -n auto --cov --cov-report=
	COVERAGE_FILE=$(COVERAGE) $(BIN)/coverage report --skip-covered --sort=cover

# The Copilot runtime that tests drive, from the npm registry by a committed lock; it is never committed itself.
runtime:
	@scripts/runtime.sh tests/runtime

# Chromium, for the tests that look at HTML reports.
browser:
	@scripts/browser.sh

# zsh and fish, for the tests of completion.
shells:
	@scripts/shells.sh

# An emulator of Azure Blob Storage, for the tests of stores.
azurite:
	@scripts/npm_packages.sh tests/azurite

# A linter of workflow files.
actionlint: $(STAMP)
	@scripts/actionlint.sh $(BIN)/actionlint

# The pages of `waza serve` and `waza report`, from TypeScript in dashboard/ into src/waza/dashboard/static.
dashboard:
	@scripts/npm_packages.sh dashboard
	cd dashboard && npm run --silent build

dashboard-test: dashboard
	cd dashboard && npm test --silent

# promptflow is not in requirements/dev.txt: waza is tested without it, and it holds other packages at old versions.
PROMPTFLOW := .venv/promptflow
promptflow: $(PROMPTFLOW)/.installed

$(PROMPTFLOW)/.installed: requirements/promptflow.txt | $(STAMP)
	$(PY) -m venv --clear $(PROMPTFLOW)
	$(PROMPTFLOW)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/promptflow.txt
	$(PROMPTFLOW)/bin/python -c "import sysconfig; print('$(CURDIR)/src', file=open(sysconfig.get_path('purelib') + '/waza.pth', 'w'))"
	touch $@

# The SDK of Claude Code brings a program of 200 MB, so it is not in requirements/dev.txt either.
CLAUDE := .venv/claude
claude: $(CLAUDE)/.installed

$(CLAUDE)/.installed: requirements/claude.txt | $(STAMP)
	$(PY) -m venv --clear $(CLAUDE)
	$(CLAUDE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/claude.txt
	$(CLAUDE)/bin/python -c "import sysconfig; print('$(CURDIR)/src', file=open(sysconfig.get_path('purelib') + '/waza.pth', 'w'))"
	touch $@

check: lint $(STAMP)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/schemas.py --check
	$(BIN)/python scripts/reference.py --check
	$(BIN)/python scripts/api_types.py --check

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

fmt: $(STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The pages are built anew, so that a package never has older ones than its sources.
build: $(STAMP) dashboard
	$(BIN)/uv build --no-build-isolation --python $(BIN)/python --out-dir dist

install:
	$(PY) -m pip install .

bench: $(STAMP)
	$(BIN)/python benchmarks/csv_tasks.py
	$(BIN)/python benchmarks/runs.py
	$(BIN)/python benchmarks/results.py
	$(BIN)/python benchmarks/dashboard.py
	$(BIN)/python benchmarks/wire.py
	$(BIN)/python benchmarks/wgp.py

# atheris has no place in requirements/dev.txt, so it gets an environment of its own. Crashes are kept there.
FUZZ := .venv/fuzz
FUZZ_SECONDS ?= 60
fuzz: $(STAMP)
	$(PY) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	for target in tests/fuzz/fuzz_*.py; do \
	  $(FUZZ)/bin/python $$target -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(FUZZ)/ || exit; \
	done

schemas: $(STAMP)
	$(BIN)/python scripts/schemas.py

reference: $(STAMP)
	$(BIN)/python scripts/reference.py

# The types of the HTTP API for the front end, from the structs of its answers.
api: $(STAMP)
	$(BIN)/python scripts/api_types.py

# The site, in site/. It is built offline; a broken link, a page without a way to it and whatever would be loaded from
# elsewhere are errors. The variable silences a note of the theme's about its successor.
DOCS := .venv/docs
docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict

$(DOCS)/.installed: requirements/docs.txt | $(STAMP)
	$(PY) -m venv --clear $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	touch $@

# Writes the files below requirements again from pyproject.toml. The action and the image install build.txt and run.txt,
# which have the versions that tests run with.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
  --no-emit-index-url --no-emit-find-links --no-annotate
lock: $(STAMP)
	$(COMPILE) pyproject.toml --extra dev -o requirements/dev.txt
	$(COMPILE) --group build -c requirements/dev.txt -o requirements/build.txt
	$(COMPILE) pyproject.toml --extra copilot -c requirements/dev.txt -o requirements/run.txt
	$(COMPILE) pyproject.toml --extra m365 --extra promptflow -o requirements/promptflow.txt
	$(COMPILE) pyproject.toml --extra claude -o requirements/claude.txt
	$(COMPILE) pyproject.toml --extra docs -o requirements/docs.txt

$(STAMP): requirements/dev.txt pyproject.toml
	$(PY) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e '.[dev]'
	$(BIN)/python -m compileall -q src
	touch $@

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache
