"""Which errors are none of an agent's."""

import errno

import pytest

from waza.errors import ExecutorError, GraderError, OutsideError, is_outside


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "outside"),
    [
        (OutsideError("the runtime died"), True),
        (ConnectionResetError(), True),
        (OSError(errno.ENOSPC, "full"), True),
        (OSError(errno.EMFILE, "no descriptors"), True),
        (FileNotFoundError(errno.ENOENT, "no such file"), False),
        (ExecutorError("the model knows no efforts"), False),
        (caused(ExecutorError("the workspace cannot be made"), OSError(errno.ENOSPC, "full")), True),
        (caused(GraderError("broke"), caused(RuntimeError(), OSError(errno.ENFILE, ""))), True),
        (caused(GraderError("broke"), ValueError()), False),
        (None, False),
    ],
)
def test_what_is_outside_of_an_agent(error: BaseException | None, outside: bool):
    assert is_outside(error) == outside
