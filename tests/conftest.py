"""What all tests share."""

import signal
import sys

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("waza", deadline=None)
settings.load_profile("waza")


def hand_on_no_ignored_signals() -> None:
    """Let the programs that tests start heed the signals that the tests are deaf to.

    `nohup` has SIGHUP ignored, and a shell has SIGINT ignored in its background jobs. A new program inherits that,
    but no handlers: so a handler that does nothing is as good here, and each program starts with the default.
    """
    for number in (signal.SIGINT,) if sys.platform == "win32" else (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


hand_on_no_ignored_signals()
