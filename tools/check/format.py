#!/usr/bin/env python3
"""Sources are laid out as clang-format 14 lays them out; skipped (77) where that is not installed.

Other versions lay out a few things differently, so only version 14 (Debian 12) judges.
"""

import re
import shutil
import subprocess
import sys

import common

VERSION = "14"


def program():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        found = shutil.which(name)
        if found:
            said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
            if re.search(rf"version {VERSION}\.", said.stdout):
                return found
    return None


def check(root):
    paths = [str(p) for p in common.sources(root)]
    if not paths:
        return []
    style = (common.repository() / ".clang-format").read_text(encoding="utf-8")
    (root / ".clang-format").is_file() or (root / ".clang-format").write_text(style)
    done = subprocess.run([program(), "--dry-run", "-Werror", *paths], cwd=root, text=True,
                          capture_output=True, check=False)
    if done.returncode == 0:
        return []
    badly = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", done.stderr, re.MULTILINE)))
    return [f"{path}: clang-format -i {path}" for path in badly] or [done.stderr.strip()]


BAD = {"a badly laid out file": ({"a.cpp": "int   x ;\n"}, "a.cpp")}
GOOD = {"a well laid out file": {"a.cpp": "int x;\n"}}

if __name__ == "__main__":
    if program() is None:
        print(f"SKIPPED: clang-format {VERSION} is not installed")
        sys.exit(common.SKIP_CODE)
    sys.exit(common.main(check, BAD, GOOD))
