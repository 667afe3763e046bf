"""What the checks of this folder share: which files there are, and how a check reports and is run.

Every check is a program: no arguments checks this repository and exits 0 or 1 (2: wrong usage);
--self-test writes small bad samples to a temporary folder and exits 0 only if each is refused.
"""

import pathlib
import subprocess
import sys
import tempfile

SOURCE_ENDS = {".cpp", ".hpp", ".cu", ".cuh"}
SKIPPED_FOLDERS = {".git", "build", "node_modules", ".cache", "plimsoll-report", "install"}
SKIP_CODE = 77


def repository():
    return pathlib.Path(__file__).resolve().parents[2]


def files(root):
    """Paths relative to root: those of git, new ones included, or of the disk without git."""
    listed = None
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
            if done.returncode == 0:
                listed = [pathlib.PurePosixPath(p) for p in done.stdout.decode().split("\0") if p]
        except FileNotFoundError:
            pass
    if listed is None:
        listed = [pathlib.PurePosixPath(p.relative_to(root).as_posix())
                  for p in root.rglob("*") if p.is_file()]
        listed = [p for p in listed if not SKIPPED_FOLDERS & set(p.parts[:-1])
                  or p.parts[:2] == ("tests", "install")]
    return sorted(p for p in set(listed) if (root / p).is_file())


def sources(root):
    return [p for p in files(root) if p.suffix in SOURCE_ENDS]


def text_of(root, path):
    """The text of a file, or None when it is not text."""
    try:
        return (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def strip_hash_comments(text):
    return "\n".join(line.split("#", 1)[0] for line in text.splitlines())


def self_test(check, bad, good):
    """bad: name -> (files, expected words); good: name -> files. files: path -> text."""
    wrong = 0
    for name, (tree, words) in bad.items():
        complaints = run_on(check, tree)
        if not any(words in c for c in complaints):
            print(f"not refused: {name}: wanted {words!r}, got {complaints}")
            wrong += 1
    for name, tree in good.items():
        complaints = run_on(check, tree)
        if complaints:
            print(f"wrongly refused: {name}: {complaints}")
            wrong += 1
    print(f"{len(bad)} bad and {len(good)} good samples, {wrong} judged wrongly")
    return 1 if wrong else 0


def run_on(check, tree):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return check(root)


def main(check, bad, good):
    if sys.argv[1:] == ["--self-test"]:
        return self_test(check, bad, good)
    if sys.argv[1:]:
        print(f"usage: {sys.argv[0]} [--self-test]", file=sys.stderr)
        return 2
    complaints = check(repository())
    for complaint in complaints:
        print(complaint)
    print(f"{pathlib.Path(sys.argv[0]).name}: {len(complaints)} to mend")
    return 1 if complaints else 0
