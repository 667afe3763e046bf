#!/usr/bin/env python3
"""Short files (400 lines), functions (70 lines) and lines (100 columns); exceptions have a reason.

A function is found by its layout, which clang-format fixes: a line that ends with ") {" (or its
qualifiers), up to the brace at the same indentation.
"""

import re
import sys

import common

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 70
MOST_COLUMNS = 100

# path, or "path:function": reason
EXCEPTIONS = {}

OPENS = re.compile(r"^(\s*)(.*\)\s*(?:const|noexcept|override|final|mutable|->.*|\s)*)\{$")
NOT_A_FUNCTION = re.compile(r"^\s*(?:\}\s*)?(?:if|for|while|switch|else|do|catch|return)\b")
NAME = re.compile(r"([~\w:]+)\s*\(")


def functions(lines):
    """(name, first line, last line), outermost only; a signature may span lines above its brace."""
    at = 0
    while at < len(lines):
        opened = OPENS.match(lines[at])
        if opened and not NOT_A_FUNCTION.match(lines[at]):
            first = at
            while first > 0 and lines[first - 1].strip() and not lines[first - 1].rstrip().endswith(
                    (";", "}", "{", ":", ">")) and not lines[first - 1].lstrip().startswith("//"):
                first -= 1
            indent = re.match(r"\s*", lines[first]).group(0)
            last = at + 1
            while last < len(lines) and not lines[last].startswith(indent + "}"):
                last += 1
            named = NAME.search(" ".join(lines[first:at + 1]))
            yield (named.group(1) if named else "?", first + 1, last + 1)
            at = last
        at += 1


def check(root):
    complaints = []
    used = set()

    def complain(key, text):
        if key in EXCEPTIONS:
            used.add(key)
        else:
            complaints.append(text)

    for path in common.files(root):
        script = path.suffix == ".py" or str(path) in {"tools/run", "tools/test", "tools/prepare"}
        if path.suffix not in common.SOURCE_ENDS and not script:
            continue
        lines = (common.text_of(root, path) or "").splitlines()
        if len(lines) > MOST_FILE_LINES:
            complain(str(path), f"{path}: {len(lines)} lines, at most {MOST_FILE_LINES}")
        for number, line in enumerate(lines, 1):
            if len(line) > MOST_COLUMNS:
                complain(str(path), f"{path}:{number}: {len(line)} columns, at most {MOST_COLUMNS}")
        if path.suffix not in common.SOURCE_ENDS or path.parts[0] == "tests":
            continue  # a test case is a list, and may be long
        for name, first, last in functions(lines):
            if last - first + 1 > MOST_FUNCTION_LINES:
                complain(f"{path}:{name}", f"{path}:{first}: {name} has {last - first + 1} lines, "
                                           f"at most {MOST_FUNCTION_LINES}")
    for key in EXCEPTIONS:
        if key not in used and (root / key.split(":")[0]).is_file():
            complaints.append(f"tools/check/limits.py: {key} needs no exception any more")
    return complaints


def body(count):
    return "  work();\n" * count


BAD = {
    "a long file": ({"core/a.cpp": "int x;\n" * 401}, "401 lines"),
    "a long line": ({"core/a.cpp": "// " + "x" * 98 + "\n"}, "101 columns"),
    "a long function": ({"core/a.cpp": "void f(int x) {\n" + body(69) + "}\n"}, "f has 71 lines"),
    "a long member":
        ({"core/a.hpp": "class A {\n  int g() const {\n" + body(80) + "  }\n};\n"}, "g has 82"),
    "a signature on two lines":
        ({"core/a.cpp": "int\nf(int x,\n  int y) {\n" + body(67) + "}\n"}, "f has 71 lines"),
}
GOOD = {
    "at the limits": {"core/a.cpp": "void f() {\n" + body(68) + "}\n" + "int x;\n" * 330},
    "two short functions": {"core/a.cpp": ("void f() {\n" + body(40) + "}\n\n") * 2},
    "a namespace is no function": {"core/a.cpp": "namespace a {\n" + "int x;\n" * 90 + "}\n"},
}

if __name__ == "__main__":
    sys.exit(common.main(check, BAD, GOOD))
