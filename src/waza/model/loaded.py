"""Suite: a suite file with all that belongs to it, read and checked; and the project it lives in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.model.base import CountOrOff, Keys, NonBlank, NonNegative
from waza.model.capabilities import Capabilities
from waza.model.cost import PriceKeys
from waza.model.mock import scripted_skills
from waza.model.selection import Selection, Shard
from waza.model.skill import Target
from waza.model.suite import SuiteFile
from waza.model.task import Task
from waza.problem import Problem

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=86_400)]


class TriggerPrompt(Keys, frozen=True, kw_only=True):
    """A prompt on which the skill should, or should not, fire."""

    prompt: NonBlank
    """The prompt that the agent is given."""
    reason: str = ""
    """Why the skill should, or should not, be invoked. It has no effect."""
    confidence: Literal["", "high", "medium"] = ""
    """How sure the author is. Prompts of `medium` confidence weigh less in the figures."""
    expect: str = ""
    """The skill that should be invoked, the tested one or a neighbour, or `none`. Left out: the tested skill, and where
    that should not be invoked, no matter what else is. Only with `neighbours`."""


class TriggerTests(Keys, frozen=True, kw_only=True):
    """The keys of `trigger_tests.yaml`."""

    skill: NonBlank
    """The name of the skill."""
    should_trigger_prompts: list[TriggerPrompt] = []
    """Prompts on which the agent should invoke the skill."""
    should_not_trigger_prompts: list[TriggerPrompt] = []
    """Prompts on which it should not."""
    neighbours: list[NonBlank] = []
    """Skills that the agent is offered beside the tested one, by name or path, found as `skill:` of a suite is. Results
    then count in a table which skill was invoked where which was expected."""

    @property
    def prompts(self) -> list[tuple[TriggerPrompt, bool]]:
        """All prompts, each with whether the skill should be invoked."""
        should = [(one, True) for one in self.should_trigger_prompts]
        return should + [(one, False) for one in self.should_not_trigger_prompts]


class Paths(Keys, frozen=True, kw_only=True):
    """`paths` of `.waza.yaml`, relative to its directory."""

    skills: str = "skills/"
    """The directory of skills."""
    evals: str = "evals/"
    """The directory of suites, with one directory for each skill."""
    results: str = "results/"
    """The directory for results files. Without `-o`, a value other than the default makes `waza run` write
    there."""


class FileNames(Keys, frozen=True, kw_only=True):
    """`files` of `.waza.yaml`."""

    evalFile: NonBlank = "eval.yaml"  # noqa: N815  # the file format's own spelling, as below
    """The name of suite files."""
    taskGlob: NonBlank = "tasks/*.yaml"  # noqa: N815
    """The pattern of task files of new suites."""
    taskFileSuffix: NonBlank = ".yaml"  # noqa: N815
    """The suffix of task files of new suites."""


class Defaults(Keys, frozen=True, kw_only=True):
    """`defaults` of `.waza.yaml`."""

    engine: str = "copilot-sdk"
    """The agent of `waza m365 run` without `--agent`. A suite names its own."""
    model: str = "claude-sonnet-4.6"
    """The model of `waza m365 run` without `--model`. A suite names its own."""
    judgeModel: str = ""  # noqa: N815
    """The model of judges, instead of `config.judge_model` of suites. `--judge-model` wins."""
    timeout: NonNegative = 300
    """Accepted; suites name their own limits."""
    parallel: bool = False
    """Run trials at the same time, also where a suite does not ask for it."""
    workers: CountOrOff = 0
    """How many trials run at the same time. 0: what the suite says."""
    verbose: bool = False
    """Show prompts, responses, tools and graders, as `-v` does."""
    sessionLog: bool = False  # noqa: N815
    """Write a session log, as `--session-log` does."""


class CacheKeys(Keys, frozen=True, kw_only=True):
    """`cache` of `.waza.yaml`."""

    enabled: bool = False
    """Reuse results of tasks that did not change, as `--cache` does."""
    dir: str = ".waza-cache"
    """The directory of the cache."""


class ServerKeys(Keys, frozen=True, kw_only=True):
    """`server` of `.waza.yaml`."""

    port: NonNegative = 3000
    """The port of `waza serve` on 127.0.0.1."""
    resultsDir: str = "results/"  # noqa: N815
    """The directory that `waza serve` shows, where it is outside of the project; one inside is shown with the project."""


class DevKeys(Keys, frozen=True, kw_only=True):
    """`dev` of `.waza.yaml`."""

    model: str = ""
    """The model that `waza dev` asks. Default: that of judges."""
    target: Literal["low", "medium", "medium-high", "high"] = "medium-high"
    """The level that `waza dev` raises descriptions to."""
    maxIterations: NonNegative = 5  # noqa: N815
    """How many changes or candidates `waza dev` tries at most."""


class TokenLimitKeys(Keys, frozen=True, kw_only=True):
    """`tokens.limits` of `.waza.yaml`: numbers of tokens by file."""

    defaults: dict[str, NonNegative] = {}
    """Limits by pattern, such as `references/**/*.md`; the most specific pattern counts. `*` stays within a
    directory, `**` crosses directories."""
    overrides: dict[str, NonNegative] = {}
    """Limits of single files, by their path or the end of it. They come before `defaults`."""


class TokenKeys(Keys, frozen=True, kw_only=True):
    """`tokens` of `.waza.yaml`."""

    warningThreshold: NonNegative = 500  # noqa: N815
    """The number of tokens from which on `waza check` warns of a skill or agent."""
    fallbackLimit: NonNegative = 2000  # noqa: N815
    """The limit of files that no pattern of the limits matches."""
    limits: TokenLimitKeys | None = None
    """Limits by file. They replace the built-in ones: SKILL.md 500, `references/**/*.md` 1000, `docs/**/*.md` 1500,
    other Markdown 2000, README.md 3000 and CONTRIBUTING.md 2500."""


class GraderKeys(Keys, frozen=True, kw_only=True):
    """`graders` of `.waza.yaml`: limits in seconds."""

    programTimeout: PositiveInt = 30  # noqa: N815
    """Seconds that a `program` grader may take, where it does not say."""
    codeTimeout: PositiveInt = 30  # noqa: N815
    """Seconds that the assertions of a `code` grader may take together, where it does not say."""


class StorageKeys(Keys, frozen=True, kw_only=True):
    """`storage` of `.waza.yaml`. The section being there switches uploads on.

    Each key says which providers it is of; others refuse it.
    """

    strict_keys: ClassVar[bool] = True
    provider: str = ""
    """Where results are uploaded to: `azure-blob`, `s3`, `gcs`, `file`, or the name that a package brings."""
    accountName: str = ""  # noqa: N815
    """Of `azure-blob`: the name of the storage account."""
    containerName: str = "waza-results"  # noqa: N815
    """Of `azure-blob`: the name of the container. It must be there."""
    connectionString: str = ""  # noqa: N815
    """Of `azure-blob`: a connection string, for emulators. Else the variable `AZURE_STORAGE_CONNECTION_STRING`, unless
    it is of another account than `accountName`; else the credentials of Azure."""
    bucket: str = ""
    """Of `s3` and `gcs`: the name of the bucket. It must be there."""
    prefix: str = ""
    """Of `s3` and `gcs`: what comes before the names of results, such as `team/waza`."""
    endpoint: str = ""
    """Of `s3`, `gcs` and `azure-blob`: the address of the service, where it is not the usual one."""
    region: str = ""
    """Of `s3`: the region of the bucket."""
    path: str = ""
    """Of `file`: the directory, relative to this file. It must be there."""
    options: dict[str, Any] = {}
    """Of a provider that a package brings: what that package says."""
    enabled: bool = True
    """False switches the section off."""


class StorageKeysOf(msgspec.Struct, frozen=True):
    """The keys that a provider of results needs, and those that it takes besides `provider` and `enabled`."""

    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


STORAGE_KEYS = {
    "azure-blob": StorageKeysOf(("accountName",), ("containerName", "connectionString", "endpoint")),
    "s3": StorageKeysOf(("bucket",), ("prefix", "endpoint", "region")),
    "gcs": StorageKeysOf(("bucket",), ("prefix", "endpoint")),
    "file": StorageKeysOf(("path",)),
}
"""The keys of the providers of waza; all others take `options`."""


class ProviderKeys(Keys, frozen=True, kw_only=True):
    """`provider` of `.waza.yaml`: your own model server. The key is named, never written down."""

    base_url: NonBlank
    """The address of the server, such as `http://127.0.0.1:8080/v1`."""
    type: str = ""
    """The kind of server. Default: `openai`."""
    wire_api: str = ""
    """The interface that the server speaks, where it has several. Default: that of its kind."""
    api_key_env: str = ""
    """The name of the environment variable that holds the key. It must be set."""
    headers: dict[str, str] = {}
    """Further headers of requests."""


class RegistrySource(Keys, frozen=True, kw_only=True):
    """One of `registries` of `.waza.yaml`."""

    name: NonBlank
    """The name of the registry in reports."""
    url: NonBlank
    """The address or the path of its index file."""
    priority: int = 100
    """Registries with a lower number come first."""


class ProjectFile(Keys, frozen=True, kw_only=True):
    """The keys of `.waza.yaml`."""

    strict_keys: ClassVar[bool] = False
    paths: Paths = Paths()
    """Where things are, relative to this file."""
    files: FileNames = FileNames()
    """How files are named."""
    defaults: Defaults = Defaults()
    """Settings of commands where neither an option nor a suite says otherwise."""
    cache: CacheKeys = CacheKeys()
    """The cache of results."""
    server: ServerKeys = ServerKeys()
    """Settings of `waza serve`."""
    dev: DevKeys = DevKeys()
    """Settings of `waza dev`."""
    tokens: TokenKeys = TokenKeys()
    """Limits on the size of files."""
    graders: GraderKeys = GraderKeys()
    """Limits of graders."""
    prices: PriceKeys | None = None
    """What models cost. Without it costs are known by the extra `prices` alone, if it is installed."""
    storage: StorageKeys | None = None
    """Where results are uploaded to."""
    registries: list[RegistrySource] = []
    """Index files that `waza registry search` looks into."""
    provider: ProviderKeys | None = None
    """A model server for agents, instead of that of the Copilot runtime. Environment variables win."""
    hosts: dict[
        str, str
    ] = {}  # of graders from elsewhere: what comes before /owner/repo.git in their addresses
    """For graders of other repositories: by host, the address before `/owner/repo.git`, such as that of a
    mirror."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The project that a command runs in. `directory` is that of `.waza.yaml`, else the current one."""

    directory: Path
    keys: ProjectFile = ProjectFile()
    found: bool = False
    warnings: tuple[Problem, ...] = ()

    @property
    def storage(self) -> StorageKeys | None:
        """The store of the project; None where `.waza.yaml` names no provider, or switches it off."""
        keys = self.keys.storage
        return keys if keys is not None and keys.enabled and keys.provider else None


class SuitePart(msgspec.Struct, frozen=True, kw_only=True):
    """What the suite of a shard is a part of: `tasks`, `digest`, `selection` and `trigger_tests` are those of the whole.

    `places` are those of the tasks of the shard among all tasks, counted from 0.
    """

    shard: Shard
    digest: str
    tasks: tuple[Task, ...]
    places: tuple[int, ...]
    selection: Selection | None
    trigger_tests: TriggerTests | None


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite, ready to be planned: no key of it is unread, and every grader is built.

    `capabilities` are those of its executor. `tasks` are those that were selected; `models` the models to run on, one after another. `digest` names
    everything that may change a verdict, but for the model. `trigger_target` is the skill that the trigger tests are about,
    where it was found, `trigger_neighbours` are those that are offered beside it. `filtered`: options
    chose among its tasks; `selection` says which part they left, None for all.
    `packs` are the names of the packs whose tasks are in the place of its own. `part`: this is one shard of the suite.
    `prices` are those of its project.
    """

    path: Path
    directory: Path
    fixtures: Path
    file: SuiteFile
    tasks: tuple[Task, ...]
    models: tuple[str, ...]
    capabilities: Capabilities
    trigger_tests: TriggerTests | None = None
    trigger_target: Target | None = None
    trigger_neighbours: tuple[Target, ...] = ()
    skills_off: bool = False
    skill_paths: tuple[Path, ...] = ()
    disabled_skills: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    digest: str = ""
    filtered: bool = False
    selection: Selection | None = None
    packs: tuple[str, ...] = ()
    part: SuitePart | None = None
    prices: PriceKeys = PriceKeys()

    @property
    def all_tasks(self) -> tuple[Task, ...]:
        """The selected tasks of all shards."""
        return self.part.tasks if self.part else self.tasks

    @property
    def name(self) -> str:
        """The suite's name, else that of its file."""
        return self.file.name or self.path.stem

    @property
    def trigger_skill(self) -> str:
        """The name of the skill that the trigger tests are about; empty without trigger tests."""
        if self.trigger_target is not None:
            return self.trigger_target.name
        return self.trigger_tests.skill if self.trigger_tests else ""

    @property
    def trigger_script(self) -> dict[str, tuple[str, ...]]:
        """The names of the skills that a scripted executor invokes, by prompt of the trigger tests."""
        script = (self.file.mock.triggers if self.file.mock else None) or {}
        return {prompt: scripted_skills(found, self.trigger_skill) for prompt, found in script.items()}
