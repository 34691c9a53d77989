"""Suite: a suite file with all that belongs to it, read and checked; and the project it lives in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.model.base import CountOrOff, Keys, NonBlank, NonNegative
from waza.model.capabilities import Capabilities
from waza.model.skill import Target
from waza.model.suite import SuiteFile
from waza.model.task import Task
from waza.problem import Problem

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=86_400)]


class TriggerPrompt(Keys, frozen=True, kw_only=True):
    """A prompt on which the skill should, or should not, fire."""

    prompt: NonBlank
    reason: str = ""
    confidence: Literal["", "high", "medium"] = ""


class TriggerTests(Keys, frozen=True, kw_only=True):
    """The keys of `trigger_tests.yaml`."""

    skill: NonBlank
    should_trigger_prompts: list[TriggerPrompt] = []
    should_not_trigger_prompts: list[TriggerPrompt] = []


class Paths(Keys, frozen=True, kw_only=True):
    """`paths` of `.waza.yaml`, relative to its directory."""

    skills: str = "skills/"
    evals: str = "evals/"
    results: str = "results/"


class FileNames(Keys, frozen=True, kw_only=True):
    """`files` of `.waza.yaml`."""

    evalFile: NonBlank = "eval.yaml"  # noqa: N815  # the file format's own spelling, as below
    taskGlob: NonBlank = "tasks/*.yaml"  # noqa: N815
    taskFileSuffix: NonBlank = ".yaml"  # noqa: N815


class Defaults(Keys, frozen=True, kw_only=True):
    """`defaults` of `.waza.yaml`."""

    engine: str = "copilot-sdk"
    model: str = "claude-sonnet-4.6"
    judgeModel: str = ""  # noqa: N815
    timeout: NonNegative = 300
    parallel: bool = False
    workers: CountOrOff = 0
    verbose: bool = False
    sessionLog: bool = False  # noqa: N815


class CacheKeys(Keys, frozen=True, kw_only=True):
    """`cache` of `.waza.yaml`."""

    enabled: bool = False
    dir: str = ".waza-cache"


class ServerKeys(Keys, frozen=True, kw_only=True):
    """`server` of `.waza.yaml`."""

    port: NonNegative = 3000
    resultsDir: str = "results/"  # noqa: N815


class DevKeys(Keys, frozen=True, kw_only=True):
    """`dev` of `.waza.yaml`."""

    model: str = "claude-sonnet-4-20250514"
    target: Literal["low", "medium", "medium-high", "high"] = "medium-high"
    maxIterations: NonNegative = 5  # noqa: N815


class TokenKeys(Keys, frozen=True, kw_only=True):
    """`tokens` of `.waza.yaml`."""

    warningThreshold: NonNegative = 500  # noqa: N815
    fallbackLimit: NonNegative = 1000  # noqa: N815
    limits: dict[str, Any] | None = None


class GraderKeys(Keys, frozen=True, kw_only=True):
    """`graders` of `.waza.yaml`: limits in seconds."""

    programTimeout: PositiveInt = 30  # noqa: N815
    codeTimeout: PositiveInt = 30  # noqa: N815


class StorageKeys(Keys, frozen=True, kw_only=True):
    """`storage` of `.waza.yaml`. The section being there switches uploads on."""

    strict_keys: ClassVar[bool] = True
    provider: Literal["", "azure-blob"] = ""
    accountName: str = ""  # noqa: N815
    containerName: str = "waza-results"  # noqa: N815
    enabled: bool = True


class ProviderKeys(Keys, frozen=True, kw_only=True):
    """`provider` of `.waza.yaml`: a model server of one's own. The key is named, never written down."""

    base_url: NonBlank
    type: str = ""
    wire_api: str = ""
    api_key_env: str = ""
    headers: dict[str, str] = {}


class RegistrySource(Keys, frozen=True, kw_only=True):
    """One of `registries` of `.waza.yaml`."""

    name: NonBlank
    url: NonBlank
    priority: int = 100


class ProjectFile(Keys, frozen=True, kw_only=True):
    """The keys of `.waza.yaml`."""

    strict_keys: ClassVar[bool] = False
    paths: Paths = Paths()
    files: FileNames = FileNames()
    defaults: Defaults = Defaults()
    cache: CacheKeys = CacheKeys()
    server: ServerKeys = ServerKeys()
    dev: DevKeys = DevKeys()
    tokens: TokenKeys = TokenKeys()
    graders: GraderKeys = GraderKeys()
    storage: StorageKeys | None = None
    registries: list[RegistrySource] = []
    provider: ProviderKeys | None = None
    hosts: dict[
        str, str
    ] = {}  # of graders from elsewhere: what stands before /owner/repo.git in their addresses


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The project that a command runs in. `directory` is that of `.waza.yaml`, else the current one."""

    directory: Path
    keys: ProjectFile = ProjectFile()
    found: bool = False
    warnings: tuple[Problem, ...] = ()


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite, ready to be planned: no key of it is unread, and every grader is built.

    `capabilities` are those of its executor. `tasks` are those that were selected; `models` the models to run on, one after another. `digest` names
    everything that may change a verdict, but for the model. `trigger_target` is the skill that the trigger tests are about,
    where it was found.
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
    skills_off: bool = False
    skill_paths: tuple[Path, ...] = ()
    disabled_skills: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    digest: str = ""
    filtered: bool = False

    @property
    def name(self) -> str:
        """The suite's name, else that of its file."""
        return self.file.name or self.path.stem

    @property
    def trigger_script(self) -> dict[str, bool]:
        """What a scripted executor does on the prompts of the trigger tests."""
        return (self.file.mock.triggers if self.file.mock else None) or {}
