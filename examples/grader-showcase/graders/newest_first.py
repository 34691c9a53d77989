"""Passes when the versions in CHANGELOG.md go down from the newest, each of them once."""

import os
import re
import sys
from pathlib import Path

text = Path(os.environ["WAZA_WORKSPACE_DIR"], "CHANGELOG.md").read_text(encoding="utf-8")
headings = re.findall(r"(?m)^## (\d+\.\d+\.\d+)", text)
versions = [tuple(map(int, heading.split("."))) for heading in headings]

if versions != sorted(set(versions), reverse=True):
    sys.exit(f"the versions do not go down from the newest: {', '.join(headings)}")
print(f"{len(versions)} versions, newest first")
