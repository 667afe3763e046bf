#!/usr/bin/env bash
# tools/prepare with made-up programs in front of the real ones: what it asks of apt, and what it
# says when it may not or cannot. Argument: the source tree.
# shellcheck disable=SC2016  # the stubs expand their variables themselves
set -uo pipefail
source_tree=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

stub() {  # name, script
  printf '#!/bin/bash\n%s\n' "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

# A tree with tools/prepare only; every package installed; nothing to build.
fresh_machine() {
  rm -rf "${scratch:?}"/*
  mkdir -p "$scratch/bin" "$scratch/tree/tools"
  cp "$source_tree/tools/prepare" "$source_tree/tools/packages" "$scratch/tree/tools/"
  stub dpkg-query 'shift 2; for p in "$@"; do [[ " $MISSING " = *" $p "* ]] || echo "$p installed"; done'
  stub id 'echo "${AS_USER:-0}"'
  stub sudo 'exit 1'
  stub apt-get 'echo "apt-get $*" >>"$CALLS"; [[ -z ${APT_SAYS:-} ]] || { echo "$APT_SAYS"; exit 100; }'
  stub cmake 'echo "cmake $*" >>"$CALLS"; [[ $1 == --build ]] || { mkdir -p build/release build/ci
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" | tee build/release/CMakeCache.txt >build/ci/CMakeCache.txt
    touch build/release/build.ninja build/ci/build.ninja; }'
  : >"$scratch/calls"
}

prepare() {  # variables and arguments
  env PATH="$scratch/bin:$PATH" CALLS="$scratch/calls" "${@:1:$#-1}" \
      "$scratch/tree/tools/prepare" "${@: -1}" >"$scratch/out" 2>"$scratch/err"
}

check() {  # what, command...
  local what=$1
  shift
  if ! "$@"; then
    printf 'FAILED: %s\n' "$what"
    sed 's/^/  | /' "$scratch/err" "$scratch/calls"
    failures=$((failures + 1))
  fi
}
said() { grep -qF -- "$1" "$scratch/err"; }
called() { grep -qF -- "$1" "$scratch/calls"; }
not() { ! "$@"; }

fresh_machine
prepare MISSING= run
check 'all there: ends well' test $? -eq 0
check 'all there: apt is left alone' not called apt-get
check 'all there: configures the release' called '--preset release -DPLIMSOLL_BUILD_TESTS=OFF'
check 'standard output stays empty' test ! -s "$scratch/out"
: >"$scratch/calls"
prepare MISSING= run
check 'second call: configures nothing' not called --preset
check 'second call: asks the build tool' called --build

fresh_machine
prepare MISSING='python3-torch catch2' test
check 'peers are not installed unasked' not called python3-torch
check 'what the tests need is' called catch2
: >"$scratch/calls"
prepare MISSING='python3-torch catch2' PLIMSOLL_PEERS=1 test
check 'peers are installed when asked for' called python3-torch

fresh_machine
prepare MISSING='catch2' run
check 'run needs no package of the tests' not called apt-get
prepare MISSING='catch2' test
check 'tests need theirs' called 'install --no-install-recommends catch2'
check 'and are configured' called '--fresh --preset ci'

fresh_machine
prepare MISSING='cmake g++' AS_USER=1000 run
check 'not root, no sudo: ends 1' test $? -eq 1
check 'not root: prints the exact line' said 'apt-get install --no-install-recommends cmake g++'
check 'not root: touches nothing' test ! -s "$scratch/calls"
stub sudo '[[ $1 == -n ]] && shift; "$@"'
prepare MISSING='cmake g++' AS_USER=1000 run
check 'sudo without password: installs' called 'install --no-install-recommends cmake g++'

explains() {  # what apt says, what we say
  fresh_machine
  prepare MISSING=cmake APT_SAYS="$1" run
  check "\"$1\": ends 1" test $? -eq 1
  check "\"$1\": explained" said "$2"
  check "\"$1\": nothing built" not called "cmake --"
}
explains 'E: Could not get lock /var/lib/dpkg/lock-frontend' 'another package manager is at work'
explains 'W: Temporary failure resolving deb.example' 'the package servers cannot be reached'
explains 'E: Unable to locate package cmake' 'needs Debian 12 or newer'
explains 'E: You have not enough free space: No space left on device' 'the disk is full'
explains 'E: something else' 'apt-get could not install what is needed'

fresh_machine
stub cmake '[[ $1 == --build ]] && exit 1; mkdir -p build/release; touch build/release/build.ninja'
prepare MISSING= run
check 'a failed build: ends 1' test $? -eq 1
check 'a failed build: says so' said 'the build failed'
prepare MISSING= neither
check 'unknown word: ends 2' test $? -eq 2

printf '%d wrong\n' "$failures"
[[ $failures -eq 0 ]]
