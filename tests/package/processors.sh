#!/usr/bin/env bash
# The runtime on 32-bit Arm, 64-bit RISC-V and a big-endian machine, under qemu-user: the tests that
# need no tools, and the digit reader in floats and in bytes with the hash of this machine's
# outputs. The big-endian one refuses weights.
#   processors.sh BUILD_TREE WORK
set -euo pipefail
tree=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
passed=0 failed=0
pass() { passed=$((passed + 1)); echo "$1"; }
fail() { failed=$((failed + 1)); echo "ERROR $1"; }
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

python3 - "$root" "$work" <<'PY'
import pathlib, struct, sys
root, work = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(root / "tests/firmware"))
import make_digits
make_digits.write_samples(work / "samples.npz")
(work / "image.bin").write_bytes(struct.pack("<784f", *(i % 97 / 97 for i in range(784))))
PY
"$tree/bin/ingot" convert "$root/examples/digits/digits.onnx" -o "$work/floats.ingot" -q
"$tree/bin/ingot" convert "$root/examples/digits/digits.onnx" -o "$work/bytes.ingot" -q --dtype int8 --calibrate "$work/samples.npz"
runner=tests/support/raw_runner
answer() { "${@:2}" "$1" best 2 "$work" image=1x1x28x28 2>&1; }

for row in "armhf arm-linux-gnueabihf qemu-arm" "riscv64 riscv64-linux-gnu qemu-riscv64" "s390x s390x-linux-gnu qemu-s390x"; do
  read -r name triple emulator <<<"$row"
  if ! command -v "$triple-g++" >/dev/null || ! command -v "$emulator" >/dev/null; then
    echo "[skip] $name: $triple-g++ or $emulator is absent"
    continue
  fi
  if ! { cmake -S "$root" -B "$work/$name" -G Ninja --toolchain "$root/cmake/toolchains/$name.cmake" -DINGOT_TOOLS=OFF -DINGOT_TESTS=ON \
    -DINGOT_SHARED=OFF -DINGOT_CUDA=OFF -DINGOT_UNITY=ON -DINGOT_WERROR=ON "${launcher[@]}" && cmake --build "$work/$name"; } >"$work/$name.log" 2>&1; then
    fail "$name is not built: $(grep -m1 -i 'error' "$work/$name.log")"
    continue
  fi
  echo "[skip] $name: device_thread_team forks, which qemu-user of Debian 12 does not survive"
  ctest --test-dir "$work/$name" -V -E '^device_thread_team$' >"$work/$name.tests" 2>&1 || fail "$name: $(grep -m1 'Failed)' "$work/$name.tests")"
  count=$(grep -c '   Passed ' "$work/$name.tests" || true)
  passed=$((passed + count)); echo "$name: $count test programs"
  for file in floats bytes; do
    mine=$(answer "$work/$file.ingot" "$tree/$runner") theirs=$(answer "$work/$file.ingot" "$emulator" -L "/usr/$triple" "$work/$name/$runner") || true
    case "$name $theirs" in
      "s390x "*"this processor is big-endian"*) pass "s390x: $file are refused: ${theirs##*: }" ;;
      *" $mine") if [[ $mine == output* ]]; then pass "$name: $file: $theirs, as here"; else fail "$file: $mine"; fi ;;
      *) fail "$name: $file: $theirs, here $mine" ;;
    esac
  done
done
echo "processors: $passed passed, $failed failed"
[ $failed -eq 0 ]
