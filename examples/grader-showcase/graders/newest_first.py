"""Passes when the versions in CHANGELOG.md go down from the newest, each of them once."""

import os
import re
import sys
from pathlib import Path

text = Path(os.environ["WAZA_WORKSPACE_DIR"], "CHANGELOG.md").read_text(encoding="utf-8")
versions = [tuple(map(int, found.groups())) for found in re.finditer(r"(?m)^## (\d+)\.(\d+)\.(\d+)", text)]

if versions != sorted(set(versions), reverse=True):
    sys.exit("the versions do not go down from the newest: " + ", ".join(".".join(map(str, v)) for v in versions))
print(f"{len(versions)} versions, newest first")
