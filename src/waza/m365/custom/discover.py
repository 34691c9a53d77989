"""Finding custom evaluators: folders below `custom-evaluators/`, read but not yet run.

    custom-evaluators/
      professional_tone/            a judge: it has a .prompty
        professional_tone.py
        professional_tone.prompty
      forbidden_terms/              code-only: it has none
        forbidden_terms.py

Folder, evaluator and files have one name, in one spelling, also on disks that take `Tone` for `tone`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from waza.kit.names import nearest_name
from waza.m365.custom.custom_result import CustomKind
from waza.m365.custom.prompty import Prompty, PromptyError
from waza.m365.document.check import SIMILAR
from waza.m365.document.options import BUILT_IN, RESERVED
from waza.problem import Problem, display_path

FOLDER = "custom-evaluators"

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_LOADER = "load_flow"
_JUDGE_WORDS = (_LOADER, "promptflow", "model_config", ".prompty")  # only judges need these


class CustomEvaluator(msgspec.Struct, frozen=True, kw_only=True):
    """A custom evaluator that can be started.

    `wrapper` is the absolute path of its Python file. `classes` are the names of the classes defined there,
    in the order of the file; the first is the evaluator. If none is defined, they are the names that may be classes:
    those from a module in the same folder, and results of calls, such as of `type`.
    """

    name: str
    kind: CustomKind
    wrapper: Path
    classes: tuple[str, ...]


class Discovery(msgspec.Struct, kw_only=True):
    """What a search found: evaluators that can be started, and all mistakes and warnings."""

    evaluators: list[CustomEvaluator] = []
    problems: list[Problem] = []


class EvaluatorNameProblem(Problem, frozen=True, kw_only=True):
    """A name that no evaluator has; callers that know where it is written can report that place."""

    name: str


def discover(root: Path, names: Iterable[str]) -> Discovery:
    """Look for the named evaluators in `root`/custom-evaluators; folders that are not named are left alone.

    `root` is the directory that the program was started in, wherever the document is. The names are those
    that a document refers to, without built-in ones. Nothing of the evaluators is run.
    """
    found = Discovery()
    folder = root.absolute() / FOLDER
    present = _entries(folder, directories=True)
    for name in dict.fromkeys(names):
        problem = _check_name(folder, name, present)
        if problem:
            found.problems.append(problem)
        else:
            _read_folder(folder / name, name, found)
    return found


def _check_name(folder: Path, name: str, present: set[str]) -> EvaluatorNameProblem | None:
    """Return what is wrong with a name; None if an evaluator has it."""
    if name not in present:
        message = f"Unknown evaluator '{name}'"
        return EvaluatorNameProblem(
            code="unknown-evaluator",
            name=name,
            file=display_path(folder),
            message=message,
            hint=_suggest(folder, name, present),
        )
    if not _NAME.fullmatch(name):
        message = f"Custom evaluator {name!r} has no valid name"
        hint = "start with a letter, go on with letters, digits and underscores"
        return EvaluatorNameProblem(
            code="evaluator-name", name=name, file=display_path(folder / name), message=message, hint=hint
        )
    built_in = next((reserved for reserved in RESERVED if reserved.lower() == name.lower()), None)
    if built_in:
        message = f"Custom evaluator '{name}' has the name of the built-in evaluator {built_in}"
        hint = f"name it domain_{name}, for example"
        return EvaluatorNameProblem(
            code="evaluator-name", name=name, file=display_path(folder / name), message=message, hint=hint
        )
    return None


def _suggest(folder: Path, name: str, present: set[str]) -> str:
    meant = nearest_name(name, (*BUILT_IN, *sorted(present)), SIMILAR)
    if meant:
        return f"did you mean '{meant}'?"
    if not folder.is_dir():
        return f"there is no folder {display_path(folder)}; start from the directory that has it"
    return f"write it as {display_path(folder / name / name)}.py"


def _read_folder(folder: Path, name: str, found: Discovery) -> None:
    """Read one evaluator's folder into `found`."""
    files = _entries(folder, directories=False)
    wrapper = folder / f"{name}.py"
    if wrapper.name not in files:
        message = f"Custom evaluator '{name}' is missing required file '{name}.py'"
        hint = "the file and the folder must have the same name, in the same spelling"
        found.problems.append(
            Problem(code="missing-evaluator-file", file=display_path(folder), message=message, hint=hint)
        )
        return
    tree = _parse(wrapper, name)
    if isinstance(tree, Problem):
        found.problems.append(tree)
        return
    classes = tuple(dict.fromkeys(_class_names(tree))) or tuple(
        dict.fromkeys(_possible_class_names(tree, folder))
    )
    if not classes:
        message = f"Custom evaluator '{name}' has no class"
        hint = "write a class with the methods __init__ and __call__"
        found.problems.append(
            Problem(code="evaluator-class", file=display_path(wrapper), message=message, hint=hint)
        )
        return
    kind: CustomKind = "judge" if f"{name}.prompty" in files else "code"
    found.evaluators.append(CustomEvaluator(name=name, kind=kind, wrapper=wrapper, classes=classes))
    found.problems += _warnings(found.evaluators[-1], tree)


def _entries(folder: Path, *, directories: bool) -> set[str]:
    """Return the names in a folder as they are spelled on disk: its directories, or its files."""
    try:
        return {path.name for path in folder.iterdir() if (path.is_dir() if directories else path.is_file())}
    except OSError:  # it does not exist, or cannot be read
        return set()


def import_failure(
    evaluator: CustomEvaluator, text: str, place: tuple[Path, int, int] | None = None
) -> Problem:
    """Return the problem of an evaluator that cannot be imported.

    `text` is the exception's, `place` the file, line and column where it was raised, if they are known.
    """
    file, line, column = place or (evaluator.wrapper, 0, 0)
    return _import_failure(evaluator.name, file, text, line, column)


def _import_failure(name: str, file: Path, text: str, line: int = 0, column: int = 0) -> Problem:
    message = f"Custom evaluator '{name}' failed to import: {text}"
    return Problem(
        code="evaluator-import", file=display_path(file), message=message, line=line, column=column
    )


def _parse(wrapper: Path, name: str) -> ast.Module | Problem:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's code, which is not run here
            return ast.parse(wrapper.read_bytes(), str(wrapper))
    except SyntaxError as error:
        text = f"{type(error).__name__}: {error.msg}"
        return _import_failure(name, wrapper, text, max(error.lineno or 0, 0), max(error.offset or 0, 0))
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return _import_failure(name, wrapper, f"{type(error).__name__}: {error}")


def _class_names(node: ast.AST) -> Iterator[str]:
    """Yield the classes that a module defines, also within `if` and `try`, in the order of the file."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            yield from _class_names(child)


def _possible_class_names(tree: ast.Module, folder: Path) -> Iterator[str]:
    """Yield the names that may be classes in a module that defines none, in the order of the file."""
    beside = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in beside:
            yield from (name.asname or name.name for name in node.names)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.Attribute):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _callable_classes(tree: ast.Module) -> set[str]:
    """Return the classes of a module that can be called, or may be, since they have bases."""
    defined = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {
        node.name
        for node in defined
        if node.bases or any(isinstance(one, _FUNCTION) and one.name == "__call__" for one in node.body)
    }


def _warnings(evaluator: CustomEvaluator, tree: ast.Module) -> Iterator[Problem]:
    name, file = evaluator.name, display_path(evaluator.wrapper)
    if len(evaluator.classes) > 1 and any(_class_names(tree)):
        first, *others = evaluator.classes
        message = f"Custom evaluator '{name}' has several classes; '{first}', the first, is the evaluator"
        hint = f"move the others ({', '.join(others)}) into a module beside it"
        able = _callable_classes(tree)
        if first not in able and (meant := [other for other in others if other in able]):
            hint = (
                f"it has no __call__; put '{meant[0]}' before it, or move '{first}' into a module beside it"
            )
        yield Problem(code="evaluator-class", file=file, message=message, hint=hint, severity="warning")
    words = _judge_words(tree)
    if evaluator.kind == "judge" and _LOADER in words:
        yield from _check_prompty(name, evaluator.wrapper.with_suffix(".prompty"))
    elif evaluator.kind == "code" and words:
        message = f"Custom evaluator '{name}' is code-only but refers to {', '.join(words)}"
        hint = f"was the file '{name}.prompty' forgotten?"
        yield Problem(code="missing-prompty", file=file, message=message, hint=hint, severity="warning")


def _check_prompty(name: str, file: Path) -> Iterator[Problem]:
    """Yield what is wrong with a judge's prompt; a run would show it late, and empty variables perhaps never."""
    try:
        blanks = Prompty(file, {}).undeclared_variables()
    except PromptyError as error:
        message = f"Custom evaluator '{name}' will not work: {error}"
        yield Problem(code="prompty", file=display_path(file), message=message, severity="warning")
        return
    if blanks:
        yield _undeclared_problem(name, file, blanks)


def _undeclared_problem(name: str, file: Path, blanks: Mapping[str, int]) -> Problem:
    """Return the warning of variables, with their lines, that no input fills."""
    example = next(iter(blanks))
    hint = f"list them there, such as {example}: {{type: string}}"
    if "prompt" in blanks:
        hint = "list them there; 'prompt' is reserved, so call it user_prompt"
    without = "without an entry in 'inputs:', variables of the prompt render empty"
    return Problem(
        code="prompty-input",
        file=display_path(file),
        line=min(blanks.values()),
        column=1,
        message=f"Custom evaluator '{name}': {without}: {', '.join(blanks)}",
        hint=hint,
        severity="warning",
    )


def _judge_words(tree: ast.Module) -> list[str]:
    """Return the words that only judges need and the code uses; comments and docstrings are not code."""
    texts = list(_code_texts(tree))
    return [word for word in _JUDGE_WORDS if any(word in text for text in texts)]


def _code_texts(tree: ast.Module) -> Iterator[str]:
    """Yield all names and string constants of the code, except strings that are statements."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) not in alone:
            yield from (text for _, text in ast.iter_fields(node) if isinstance(text, str))
