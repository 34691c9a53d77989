"""`waza completion`: the script by which a shell completes words of `waza`."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish", "powershell")

EPILOG = """
\b
To complete in every new shell, add a line to:
  ~/.bashrc                    eval "$(waza completion bash)"
  ~/.zshrc                     eval "$(waza completion zsh)"
  ~/.config/fish/config.fish   waza completion fish | source
  $PROFILE                     waza completion powershell | Out-String | Invoke-Expression

\b
bash must be 4.4 or newer; zsh needs its completion system (autoload -U compinit; compinit).
Example: waza completion zsh > ~/.zfunc/_waza
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def command(*, shell: str) -> int:
    """Print a script that completes commands, options, and names of skills and suites in a shell."""
    from click.shell_completion import ShellComplete, get_completion_class

    from waza.cli.streams import print_document
    from waza.errors import EXIT_OK, UsageError

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"the installed click completes nothing in {shell}; update it to 8.5 or newer")
    # Not its own `source`, which starts bash to ask for its version.
    script = ShellComplete.source(kind(click.Command("waza"), {}, "waza", "_WAZA_COMPLETE"))
    print_document([script.encode()])
    return EXIT_OK
