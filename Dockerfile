# waza with the extra `copilot` and git, for a user without rights. docs/ci.md has the calls.

FROM node:22-slim AS pages
WORKDIR /build/dashboard
COPY dashboard/package.json dashboard/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY dashboard ./
COPY src/waza/report/*.css ../src/waza/report/
RUN npm run build

FROM python:3.13-slim AS program
WORKDIR /build
COPY requirements/build.txt requirements/run.txt requirements/
RUN python -m venv --without-pip /opt/waza && \
    pip install --no-cache-dir --require-hashes -r requirements/build.txt && \
    pip --python /opt/waza/bin/python install --no-cache-dir --require-hashes -r requirements/run.txt
COPY pyproject.toml hatch_build.py README.md LICENSE CHANGELOG.md ./
COPY src src
COPY --from=pages /build/src/waza/dashboard/static src/waza/dashboard/static
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . && \
    pip --python /opt/waza/bin/python install --no-cache-dir --no-deps --no-index dist/*.whl

FROM python:3.13-slim
# The newest git that the system offers: its older versions are not kept.
# hadolint ignore=DL3008
RUN apt-get update && \
    apt-get install --yes --no-install-recommends git && \
    rm -rf /var/lib/apt/lists/* && \
    useradd --uid 10001 --create-home waza && \
    install --directory --owner=waza /workspace
COPY --from=program /opt/waza /opt/waza
ENV PATH=/opt/waza/bin:$PATH
USER 10001
WORKDIR /workspace
ENTRYPOINT ["waza"]
CMD ["--help"]
