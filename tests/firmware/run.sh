#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One network as a bare Cortex-M4 image: convert for flash, its own kernel table, no heap linked, run
# under qemu-system-arm, the answer compared.
#   run.sh INGOT WORK [SOURCE.onnx GOLDEN.npz]     prints sizes and the answer; the last line counts
# The network is the project's own digit reader, whose answer on this machine is expected, or SOURCE
# with the outputs of GOLDEN.
set -euo pipefail
ingot=$1 work=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
mkdir -p "$work"
work=$(cd "$work" && pwd)
source=${3:-$repo/examples/digits/digits.onnx} golden=${4:-}
dims=()
[ -n "$golden" ] || dims=(--dim n=1)
"$ingot" convert "$source" -o "$work/model.ingot" --target mcu "${dims[@]}"
python3 - "$ingot" "$work" "$source" "$golden" <<'PY'
import io, pathlib, struct, subprocess, sys, zipfile
ingot, work, source, golden = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
def raw(npy):  # a dense little-endian .npy without numpy
    size = struct.unpack("<H", npy[8:10])[0]
    return npy[10 + size:]
if golden:
    with zipfile.ZipFile(golden) as z:
        names = {n[:-4]: n for n in z.namelist()}
        (work / "input.bin").write_bytes(raw(z.read(next(v for k, v in names.items() if k.startswith("in:")))))
        (work / "expected.bin").write_bytes(raw(z.read(next(v for k, v in names.items() if k.startswith("out:")))))
else:  # a ring, and the answer of the same file on this machine
    pixels = [1.0 if 6 < ((x - 13.5) ** 2 + (y - 13.5) ** 2) ** .5 < 10 else 0.0 for y in range(28) for x in range(28)]
    data = struct.pack("<784f", *pixels)
    (work / "input.bin").write_bytes(data)
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 28, 28), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with zipfile.ZipFile(work / "in.npz", "w") as z:
        z.writestr("image.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
    subprocess.run([ingot, "run", work / "model.ingot", "--inputs", work / "in.npz", "--outputs", work / "out.npz"], check=True)
    with zipfile.ZipFile(work / "out.npz") as z:
        (work / "expected.bin").write_bytes(raw(z.read(z.namelist()[0])))
PY
INGOT_CPU_ISA=scalar "$ingot" kernels "$work/model.ingot" >"$work/kernels.cpp"

target=(-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard)
common=("${target[@]}" -Os -ffunction-sections -fdata-sections -ffp-contract=off '-DFLATBUFFERS_ASSERT(condition)=static_cast<void>(0)' -I "$repo" -I "$repo/runtime/include")
cxx=(arm-none-eabi-g++ "${common[@]}" -std=c++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-unwind-tables -fno-asynchronous-unwind-tables
  -fno-math-errno -I "$work/generated")
mkdir -p "$work/generated/ingot_schema" "$work/flatbuffers" "$work/objects"
for name in ingot metadata golden tunings text; do flatc --cpp --scoped-enums -o "$work/generated/ingot_schema" "$repo/schema/$name.fbs"; done
ln -sfn /usr/include/flatbuffers "$work/flatbuffers/flatbuffers"
objects=()
sources=("$work/kernels.cpp" "$here/main.cpp")
for layer in base op format plan memory device session api; do
  while IFS= read -r f; do sources+=("$f"); done < <(find "$repo/runtime/$layer" -name '*.cpp' ! -path '*/fake/*' ! -path '*/null/*' ! -path '*/device/cuda/*' ! -path '*/session/backend/*' | sort)
done
build_one() {
  local f=$1 o
  o=$work/objects/$(echo "${f#"$repo"/}" | tr '/.' '__').o
  "${cxx[@]}" -isystem "$work/flatbuffers" -DINGOT_MODEL_MEMORY="${INGOT_MODEL_MEMORY:-24576}" -DINGOT_ARENA="${INGOT_ARENA:-73728}" -c "$f" -o "$o"
  echo "$o"
}
for f in "${sources[@]}"; do
  object=$(build_one "$f")
  objects+=("$object")
done
arm-none-eabi-gcc "${common[@]}" -c "$here/startup.c" -o "$work/objects/startup.o"
arm-none-eabi-gcc "${target[@]}" -DMODEL_FILE="\"$work/model.ingot\"" -DINPUT_FILE="\"$work/input.bin\"" -DEXPECTED_FILE="\"$work/expected.bin\"" \
  -c "$here/embed.S" -o "$work/objects/embed.o"
arm-none-eabi-g++ "${target[@]}" -nostartfiles --specs=nano.specs -T "$here/board.ld" -Wl,--gc-sections -Wl,-Map="$work/image.map" \
  "${objects[@]}" "$work/objects/startup.o" "$work/objects/embed.o" -o "$work/image.elf"
if arm-none-eabi-nm "$work/image.elf" | grep -wE '_?(malloc|_malloc_r|free|_free_r|_sbrk|calloc|realloc|_Znwj|_Znaj)' ; then
  echo "ERROR a heap was linked"; exit 1
fi
arm-none-eabi-size "$work/image.elf"
text=$(arm-none-eabi-size -A "$work/image.elf" | awk '$1==".text"{print $2}')
model=$(stat -c %s "$work/model.ingot")
echo "code and constants $text bytes, model file $model bytes"
timeout 120 qemu-system-arm -M netduinoplus2 -nographic -monitor none -serial none -semihosting-config enable=on,target=native -kernel "$work/image.elf"
