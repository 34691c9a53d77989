"""Passes when an explanation quotes at least N names that really occur in the code.

The output of the agent comes on stdin, the directory that it worked in is WAZA_WORKSPACE_DIR. Exit status 0
is a pass, anything else a failure; what is printed becomes the feedback.
"""

import os
import re
import sys
from pathlib import Path

NAME = re.compile(r"[A-Za-z_]\w+")

wanted = int(sys.argv[1])
explanation = sys.stdin.buffer.read().decode("utf-8")
files = Path(os.environ["WAZA_WORKSPACE_DIR"]).iterdir()
code = "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())

quoted = " ".join(re.findall(r"`([^`]+)`", explanation))
found = sorted(set(NAME.findall(quoted)) & set(NAME.findall(code)))

if len(found) < wanted:
    sys.exit(f"quotes {len(found)} names of the code, expected {wanted}: {', '.join(found) or 'none'}")
print(f"quotes {len(found)} names of the code")
