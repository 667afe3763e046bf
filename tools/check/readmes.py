#!/usr/bin/env python3
"""Every folder that holds sources is explained: by a README.md of its own of at most 40 lines, or
by that of a folder above, which names it in back quotes with a slash (`operator/`).
"""

import pathlib
import re
import sys

import common

MOST_LINES = 40
MOST_ROOT_LINES = 200
TOP = ["core", "models", "probes", "reports", "results", "tests", "tools", "trainer"]
# folder prefix: reason
EXCEPTIONS = {
    "tests/": "mirrors the tree; tests/README.md explains it once",
    "results/": "reports of machines; results/README.md explains them once",
    "tools/cmake": "each file says in its first lines what it is",
}


def explained(root, folder):
    if (root / folder / "README.md").is_file():
        return True
    names = re.compile(rf"[`,{{/]{re.escape(folder.name)}[/,}}`]")
    above = [p for p in folder.parents if p != pathlib.PurePosixPath(".")]
    return any((root / p / "README.md").is_file()
               and names.search(common.text_of(root, p / "README.md")) for p in above)


def check(root):
    present = common.files(root)
    folders = {p.parent for p in present
               if p.suffix in common.SOURCE_ENDS or p.suffix == ".py"}
    folders |= {pathlib.PurePosixPath(t) for t in TOP if (root / t).is_dir()}
    complaints = []
    for folder in sorted(folders):
        if any(str(folder).startswith(prefix) for prefix in EXCEPTIONS):
            continue
        if not explained(root, folder):
            complaints.append(f"{folder}: no README.md, and none above names `{folder.name}/`")
    for path in present:
        if path.name != "README.md":
            continue
        count = len((common.text_of(root, path) or "").splitlines())
        most = MOST_ROOT_LINES if path.parent == pathlib.PurePosixPath(".") else MOST_LINES
        if count > most:
            complaints.append(f"{path}: {count} lines, at most {most}")
        if count < 2:
            complaints.append(f"{path}: says nothing")
    return complaints


BAD = {
    "a folder without one": ({"core/a.cpp": "// x\n"}, "core: no README.md"),
    "not named above": ({"core/README.md": "# core\nNouns.\n", "core/system/a.cpp": "// x\n"},
                        "core/system: no README.md"),
    "too long": ({"core/README.md": "x\n" * 41}, "41 lines"),
    "empty": ({"core/README.md": "# core\n"}, "says nothing"),
}
GOOD = {
    "present and short": {"core/README.md": "# core\nNouns.\n", "core/a.cpp": "// x\n"},
    "named above": {"core/README.md": "# core\nNouns; `system/` asks the machine.\n",
                    "core/system/a.cpp": "// x\n"},
}

if __name__ == "__main__":
    sys.exit(common.main(check, BAD, GOOD))
