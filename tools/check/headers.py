#!/usr/bin/env python3
"""Every source starts with a comment; probes and model formulas carry their labels.

A probe is a file below probes/ that has a main(). A model is a .cpp file below models/, unless it
holds no formula: those are listed with the reason.
"""

import re
import sys

import common

PROBE_LABELS = ["Question", "Method", "Reports", "Expect", "Beware", "Verifies", "Feeds"]
MODEL_LABELS = ["Source", "Assumes", "Fails", "Limits", "Tests"]
NO_FORMULA = {
    "models/numeric/": "numerical methods, not a model of anything",
    "models/empty.cpp": "keeps the library from being empty",
    "models/explain": "text about formulas",
}


def head_comment(text):
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line)
    return lines


def has_label(lines, label):
    return any(re.match(rf"//\s?{label}\b", line) for line in lines)


def check(root):
    complaints = []
    for path in common.sources(root):
        text = common.text_of(root, path)
        head = head_comment(text)
        name = str(path)
        if not head:
            complaints.append(f"{path}: starts with no comment that says what it is")
            continue
        if name.startswith("probes/") and re.search(r"^int main\(", text, re.MULTILINE):
            missing = [label for label in PROBE_LABELS if not has_label(head, label)]
            if missing:
                complaints.append(f"{path}: a probe without {', '.join(missing)}")
        if (name.startswith("models/") and path.suffix == ".cpp"
                and not any(name.startswith(prefix) for prefix in NO_FORMULA)):
            missing = [label for label in MODEL_LABELS if not has_label(head, label)]
            if not any(re.match(r"//\s{3,}\S.*=", line) for line in head):
                missing.insert(0, "an indented formula")
            if missing:
                complaints.append(f"{path}: a model without {', '.join(missing)}")
            for test in re.findall(r"tests/[\w/.]+\.cpp", "\n".join(head)):
                if not (root / test).is_file():
                    complaints.append(f"{path}: names {test}, which does not exist")
    return complaints


PROBE = "\n".join(f"// {label}  text" for label in PROBE_LABELS) + "\nint main() {}\n"
MODEL = ("// A time.\n//\n//     T = a + n / b\n//\n"
         + "\n".join(f"// {label}  text" for label in MODEL_LABELS) + "\nint x;\n")
BAD = {
    "no comment": ({"core/a.cpp": "#include <map>\n"}, "no comment"),
    "a probe without a label":
        ({"probes/cpu/a.cpp": PROBE.replace("// Beware", "// Note")}, "a probe without Beware"),
    "a label below the head":
        ({"probes/cpu/a.cpp": PROBE.replace("// Feeds  text\n", "\n// Feeds  text\n")}, "Feeds"),
    "a model without its source":
        ({"models/a.cpp": MODEL.replace("// Source", "// From")}, "a model without Source"),
    "a model without a formula":
        ({"models/a.cpp": MODEL.replace("T = a", "T is a")}, "an indented formula"),
    "a test that is not there":
        ({"models/a.cpp": MODEL.replace("Tests  text", "Tests  tests/models/a_test.cpp")},
         "does not exist"),
}
GOOD = {"labelled": {"probes/cpu/a.cpp": PROBE, "models/a.cpp": MODEL,
                     "probes/cpu/helper.cpp": "// Helps.\nint x;\n"}}

if __name__ == "__main__":
    sys.exit(common.main(check, BAD, GOOD))
