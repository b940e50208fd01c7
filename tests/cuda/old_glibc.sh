#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared library for a Jetson with JetPack 5, cross-built with embedded device code against
# glibc 2.31 and started there under qemu-user: which GLIBC it needs, whether it starts, and whether
# one file has one answer here, there, and there on the emulated GPU (the fake driver). old_glibc.sh
# TREE-OF-THIS-MACHINE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/dev/build.sh
. cmake/dev/sysroot.sh
native=$1 tree=build/jetpack5 passed=0 failed=0
check() {  # WHAT CONDITION...
  local what=$1; shift
  if "$@"; then passed=$((passed + 1)); echo "ok $what"; else failed=$((failed + 1)); echo "ERROR $what"; fi
}
root=$(dev_sysroot) || { echo "[skip] JetPack 5's C library: the sysroot could not be assembled"; exit 0; }
configure_and_build jetpack5 ingot_shared fake_cuda board_runner -- --toolchain cmake/toolchains/aarch64-jetpack5.cmake -DINGOT_TOOLS=OFF -DINGOT_TESTS=ON \
  -DINGOT_CUDA_ARCHITECTURES=87
library=$(ls $tree/libingot.so.*.*)
needed=$(aarch64-linux-gnu-objdump -T "$library" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
echo "highest C library symbol needed: $needed; $(stat -c %s "$library") bytes, libraries: $(aarch64-linux-gnu-objdump -p "$library" | awk '/NEEDED/ {printf "%s ", $2}')"
check "nothing newer than GLIBC_2.31" test "$(printf '%s\nGLIBC_2.31\n' "$needed" | sort -V | tail -1)" = GLIBC_2.31
check "no libstdc++ of the board" bash -c "! aarch64-linux-gnu-objdump -p $library | grep -q libstdc"
board() { env -u INGOT_CUDA_DRIVER "$@"; }
start=(qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$PWD/$tree")
runner=$tree/tests/cuda/board_runner
"${start[@]}" $runner || true
check "starts, and says why there is no GPU" bash -c "${start[*]} $runner | grep -q 'cuda: .*no CUDA driver'"
mkdir -p build/old_glibc
"$native/bin/ingot" convert examples/digits/digits.onnx -o build/old_glibc/digits.ingot --dim n=1
here=$("$native/tests/cuda/board_runner" build/old_glibc/digits.ingot cpu)
there=$("${start[@]}" $runner build/old_glibc/digits.ingot cpu) || true
gpu=$("${start[@]}" -E INGOT_CUDA_DRIVER="$PWD/$tree/tests/cuda/libfake_cuda.so" $runner build/old_glibc/digits.ingot cuda) || true
echo "digits: here $here, aarch64 $there, aarch64 with the fake driver $gpu"
check "one answer on aarch64" test "$here" = "$there"
check "one answer on the emulated GPU of aarch64" test "$here" = "$gpu"
echo "old_glibc: $passed passed, $failed failed"
[ $failed -eq 0 ]
