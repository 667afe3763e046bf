#!/usr/bin/env bash
# Runs one test executable. Exit code 77 where it passed but said "SKIPPED: reason" on the way; its
# own code else. CTest's SKIP_REGULAR_EXPRESSION would call a failed test skipped, too, once it had
# printed that word for another of its cases.
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
"$@" 2>&1 | tee "$said"
code=${PIPESTATUS[0]}
[[ $code -eq 0 ]] && grep -q 'SKIPPED:' "$said" && exit 77
exit "$code"
