#!/usr/bin/env bash
# Does core/system compile for a machine that is not x86? Only syntax and types are checked, with
# the headers of this machine; the compiler must know the target.
set -uo pipefail
source_tree=$1
compiler=$(command -v clang++) || { echo "SKIPPED: no clang++"; exit 77; }
# The C library headers of this machine take every target that is not x86-64 for a 32-bit one.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/gnu" "$scratch/bits"
: >"$scratch/gnu/stubs-32.h"
printf '#define __WORDSIZE 64\n#define __WORDSIZE_TIME64_COMPAT32 1\n' >"$scratch/bits/wordsize.h"
triple=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
version=$(gcc -dumpversion | cut -d. -f1)
flags=(--target=aarch64-linux-gnu -std=c++20 -fsyntax-only -Wall -Wextra -Wno-unused-command-line-argument
  -I "$source_tree" -isystem "$scratch" -isystem "/usr/include/c++/$version" -isystem "/usr/include/$triple/c++/$version"
  -isystem "/usr/include/$triple" -isystem /usr/include)
if ! echo '#include <vector>' | "$compiler" "${flags[@]}" -x c++ - 2>/dev/null; then
  echo "SKIPPED: $compiler cannot compile for aarch64 with the headers of this machine"
  exit 77
fi
failed=0
for file in isa reference_kernels reference_loops affinity buffer cgroup clock cpulist doctor doctor_cpu \
  doctor_devices doctor_memory files network process provenance signals topology; do
  "$compiler" "${flags[@]}" -x c++ "$source_tree/core/system/$file.cpp" || { echo "$file.cpp fails"; failed=1; }
done
# The check itself can fail: an unguarded x86 header must not pass.
if echo '#include <immintrin.h>' | "$compiler" "${flags[@]}" -x c++ - 2>/dev/null; then
  echo "an x86 header compiled for aarch64: this test proves nothing"
  failed=1
fi
exit $failed
