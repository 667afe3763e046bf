#!/usr/bin/env bash
# tests/skip_or_fail.sh: skipped is never passed, and failed is never skipped.
# Argument: the source tree.
set -uo pipefail
wrong=0
expect() {  # exit code, script
  bash "$1/tests/skip_or_fail.sh" sh -c "$3" >/dev/null
  local code=$?
  [[ $code -eq $2 ]] || { printf 'FAILED: %s: %d, not %d\n' "$3" "$code" "$2"; wrong=1; }
}
expect "$1" 0 'echo fine'
expect "$1" 77 'echo "SKIPPED: no GPU"'
expect "$1" 77 'echo "SKIPPED: no GPU" >&2'
expect "$1" 77 'exit 77'
expect "$1" 1 'echo "SKIPPED: no GPU"; exit 1'
expect "$1" 139 'echo "SKIPPED: no GPU"; kill -SEGV $$'
exit $wrong
