#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The interface as compiled, types and all, against the recorded one (abidiff, package
# abigail-tools). The runtime alone is built, with debug information; kernels have no part in the
# interface but ingot/cpu.h, which tools/lint/abi.py covers.
#   compare.sh WORK            compares      compare.sh WORK --update   records
set -euo pipefail
work=$1 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
recorded=$here/libingot.abixml
if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
  echo "[skip] abidiff is not installed (abigail-tools): the types of the interface were compared by tools/lint/abi.py only"
  echo "abidiff: 0 passed, 0 failed"
  exit 0
fi
mkdir -p "$work/generated/ingot_schema"
for name in ingot metadata golden tunings text; do flatc --cpp --scoped-enums -o "$work/generated/ingot_schema" "$root/schema/$name.fbs"; done
flags=(-std=c++17 -fPIC -g -O0 -fno-exceptions -fno-rtti -I"$root" -I"$root/runtime/include" -isystem "$work/generated")
objects=()
compile() { if command -v ccache >/dev/null; then ccache "${CXX:-g++}" "$@"; else "${CXX:-g++}" "$@"; fi; }
while read -r source; do
  object=$work/$(echo "${source#"$root"/}" | tr / _).o
  compile "${flags[@]}" -c -o "$object" "$source"
  objects+=("$object")
done < <(find "$root/runtime" -name '*.cpp' | sort)
rows=$(sed -nE 's/^INGOT_BACKEND.([a-z0-9_]+),.*/\1/p' "$root/runtime/device/backends.def")
symbols=$(for row in $rows; do echo -n "ingot_${row}_backend; ingot_${row}_kernel_set; "; done)
sed "s/@INGOT_BACKEND_SYMBOLS@/$symbols/" "$root/packaging/exports.map.in" >"$work/exports.map"
"${CXX:-g++}" -shared -o "$work/libingot.so" "${objects[@]}" -pthread -Wl,--version-script="$work/exports.map"
describe() {
  abidw --exported-interfaces-only --no-show-locs --headers-dir "$root/runtime/include" --drop-private-types \
    --no-comp-dir-path --no-corpus-path --out-file "$1" "$work/libingot.so"
}
if [ "${2:-}" = --update ]; then
  describe "$recorded"
  echo "recorded $recorded"
  exit 0
fi
describe "$work/now.abixml"
passed=0 failed=0
compare() { abidiff --no-added-syms --suppressions "$here/growing.ini" "$recorded" "$1"; }
if compare "$work/now.abixml"; then
  passed=1
else
  failed=1
  echo "ERROR abidiff: the interface differs from packaging/abi/libingot.abixml"
fi
# The comparison has to bite: a struct that grew, a function that is gone.
sed "s/name='ingot_tensor' size-in-bits='768'/name='ingot_tensor' size-in-bits='832'/" "$recorded" >"$work/grown.abixml"
grep -v "elf-symbol name='ingot_session_run'" "$recorded" >"$work/gone.abixml"
for planted in grown gone; do
  if compare "$work/$planted.abixml" >/dev/null; then failed=$((failed + 1)); echo "ERROR abidiff does not notice: $planted"; else passed=$((passed + 1)); fi
done
echo "abidiff: $passed passed, $failed failed"
[ $failed -eq 0 ]
