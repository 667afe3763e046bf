#!/usr/bin/env python3
"""Nothing of the machine it was written on: no private paths, unknown hosts, secrets, leftovers.

A host may be named if it is listed below with what it is for. Example hosts (RFC 2606, RFC 5737)
and loopback are free. Files that other tools wrote (package locks) are checked like all others.
"""

import re
import sys

import common

HOSTS = {
    "json-schema.org": "the dialect of our schemas", "vega.github.io": "names of chart dialects",
    "www.w3.org": "XML name spaces", "github.com": "sources of formulas and tools",
    "arxiv.org": "sources of formulas", "doi.org": "sources of formulas",
    "www.apache.org": "the licence", "docs.nvidia.com": "sources of hardware figures",
    "www.nvidia.com": "sources of hardware figures", "images.nvidia.com": "the same",
    "resources.nvidia.com": "the same", "developer.nvidia.com": "the same",
    "www.intel.com": "the same", "www.amd.com": "the same", "uefi.org": "the same",
    "docs.kernel.org": "the operating system's interface", "man7.org": "the same",
    "www.open-mpi.org": "documentation", "oneapi-src.github.io": "documentation",
    "uxlfoundation.github.io": "documentation", "prometheus.io": "the format of --prom",
    "no-color.org": "NO_COLOR", "ui.perfetto.dev": "opens our traces",
    "en.wikipedia.org": "reading",
    "registry.khronos.org": "documentation", "www.cs.virginia.edu": "STREAM",
    "code.visualstudio.com": "documentation",
}
FREE_HOST = re.compile(r"(^|\.)(example|test|invalid|localhost)$|(^|\.)example\.(com|org|net)$"
                       r"|^127\.|^\[?::1|^0\.0\.0\.0|^192\.0\.2\.|^198\.51\.100\.|^203\.0\.113\.")
PATTERNS = [
    (re.compile(r"(?<![\w.$}/-])/(?:home|Users|work|root|mnt|scratch)/[\w.-]+"),
     "a path of some machine"),
    (re.compile(r"[A-Za-z]:\\\\?Users\\"), "a path of some machine"),
    (re.compile(r"BEGIN (?:[A-Z]+ )?PRIVATE KEY"), "a private key"),
    (re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16}|xox[abp]-[\w-]{10,})"),
     "a token"),
    (re.compile(r"\bregistry\.(?!khronos)[a-z0-9-]+\.[a-z]+"),
     "a package registry"),
    (re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE), "a conflict marker"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"), "unfinished work"),
]
URL = re.compile(r"\b(?:https?|ftp|wss?|git|ssh)://(?:[^/\s@]+@)?([\w.\-\[\]:]+)")
# path: reason
EXCEPTIONS = {
    "tools/check/leaks.py": "its own samples",
    "LICENSE": "the licence's own words",
}


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check(root):
    complaints = []
    for path in common.files(root):
        text = common.text_of(root, path)
        if text is None or str(path) in EXCEPTIONS:
            continue
        for pattern, what in PATTERNS:
            for found in pattern.finditer(text):
                complaints.append(f"{path}:{line_of(text, found.start())}: {what}: "
                                  f"{found.group(0)[:60]}")
        for found in URL.finditer(text):
            host = found.group(1).rstrip(".,)").lower()
            bare = host if host.startswith("[") else host.split(":")[0]
            if bare not in HOSTS and not FREE_HOST.search(bare):
                complaints.append(f"{path}:{line_of(text, found.start())}: a host that is not on "
                                  f"the list: {bare}")
    return complaints


BAD = {
    "a home": ({"a.md": "see /home/anna/x\n"}, "a path of some machine"),
    "a work folder": ({"a.json": '{"argv": ["/wo' 'rk/x"]}\n'}, "a path of some machine"),
    "a foreign host": ({"a.md": "http://build7.corp.internal/x\n"}, "build7.corp.internal"),
    "a host with a user": ({"a.md": "ssh://me@build7.lan:22/x\n"}, "build7.lan"),
    "a registry": ({"a.json": '"registry.packages.example"\n'}, "a package registry"),
    "a key": ({"a.txt": "-----BEGIN RSA PRIVATE KEY-----\n"}, "a private key"),
    "a conflict": ({"a.cpp": "<<<<<<< ours\n"}, "a conflict marker"),
    "a leftover": ({"a.cpp": "// TODO later\n"}, "unfinished work"),
}
GOOD = {
    "what is free": {"a.md": "https://json-schema.org/x http://127.0.0.1:80/ http://host.example/\n"
                             "/usr/lib /proc/self /etc/hosts models/wo" "rk/x ./home/x "
                             "$T/home/x\n"},
    "not text": {"a.txt": "ok\n"},
}

if __name__ == "__main__":
    sys.exit(common.main(check, BAD, GOOD))
