#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a build for other processors installs: the libraries for a bare Cortex-M4, and for a board
# the command line that runs .ingot files, emulated.
#   cross.sh BUILD_TREE BOARD_TREE WORK
# BOARD_TREE: of cmake/toolchains/aarch64.cmake, with INGOT_TOOLS=DEVICE; not there where no compiler is.
set -euo pipefail
tree=$(cd "$1" && pwd)
board_tree=$2
mkdir -p "$3"
work=$(cd "$3" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "${work:?}"/*
. "$root/tests/package/checks.sh"
"$tree/bin/ingot" convert "$root/examples/digits/digits.onnx" -o "$work/digits.ingot" >/dev/null

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cortex() {
  cmake -S "$root" -B "$work/cortex" -G Ninja --toolchain "$root/cmake/toolchains/cortex-m4.cmake" -DCMAKE_BUILD_TYPE=Debug \
    -DINGOT_TESTS=OFF -DINGOT_CUDA=OFF -DINGOT_TOOLS=OFF "${launcher[@]}" >"$work/cortex.log" 2>&1 &&
    cmake --build "$work/cortex" >>"$work/cortex.log" 2>&1 && cmake --install "$work/cortex" --prefix "$work/cortex.prefix" >>"$work/cortex.log"
}
if ! command -v arm-none-eabi-g++ >/dev/null; then echo "[skip] no arm-none-eabi-g++: the libraries for a Cortex-M4"
elif cortex; then pass "libraries for a Cortex-M4"
else fail "libraries for a Cortex-M4: $(grep -m1 -E "error:|undefined reference|No space left" "$work/cortex.log")"; fi
if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
  echo "[skip] no aarch64-linux-gnu-g++ or qemu-aarch64: the command line of a board"
elif cmake --install "$board_tree" --prefix "$work/board.prefix" >"$work/board.log" 2>&1; then
  board=(qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/board.prefix/bin/ingot")
  prefix=$work/board.prefix
  there "$prefix/share/bash-completion/completions/ingot"
  python3 "$root/tests/package/digits_input.py" "$work/in.npz"
  "$tree/bin/ingot" run "$work/digits.ingot" --inputs "$work/in.npz" --outputs "$work/host.npz" >/dev/null
  if "${board[@]}" run "$work/digits.ingot" --inputs "$work/in.npz" --outputs "$work/board.npz" >"$work/board_run.log" 2>&1 &&
    cmp "$work/host.npz" "$work/board.npz"; then pass "the command line of a board gives the bits of this machine"
  else fail "the command line of a board: $(tail -2 "$work/board_run.log")"; fi
  for what in "inspect $work/digits.ingot" "verify $work/digits.ingot" "bench $work/digits.ingot --dim n=1 --seconds 0.1" doctor; do
    # shellcheck disable=SC2086
    if "${board[@]}" $what >"$work/board_run.log" 2>&1; then pass "board: ingot ${what%% *}"
    else fail "board: ingot $what: $(tail -1 "$work/board_run.log")"; fi
  done
  if said=$("${board[@]}" run "$root/examples/digits/digits.onnx" --inputs "$work/in.npz" --outputs "$work/none.npz" 2>&1); then fail "board: runs a source"; else
    [[ $said == *"convert"* ]] && pass "board: a source is refused with what to do" || fail "board: $said"
  fi
else fail "the command line of a board: $(grep -m1 -iE "error|No space left" "$work/board.log")"; fi

echo "cross: $passed passed, $failed failed"
[ $failed -eq 0 ]
