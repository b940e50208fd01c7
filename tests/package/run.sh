#!/usr/bin/env bash
# Installs a build tree into an empty prefix and builds strangers' programs against it: find_package (static and shared), pkg-config.
#   run.sh BUILD_TREE WORK
set -euo pipefail
tree=$1 work=$2 here=$(dirname "${BASH_SOURCE[0]}")
rm -rf "$work"
mkdir -p "$work"
cmake --install "$tree" --prefix "$work/prefix" >"$work/install.log"
prefix=$(cd "$work/prefix" && pwd)
"$prefix/bin/ingot" convert "$here/../../examples/digits/digits.onnx" -o "$work/digits.ingot" >/dev/null
cmake -S "$here/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log"
cmake --build "$work/consumer" >"$work/build.log"
passed=0 failed=0
one() { # NAME COMMAND...
  local name=$1; shift
  if output=$("$@" 2>&1) && [[ $output == ingot* ]]; then passed=$((passed + 1)); echo "$name: $output"
  else failed=$((failed + 1)); echo "ERROR $name: $output"; fi
}
one "find_package, static" "$work/consumer/consumer_static" "$work/digits.ingot"
one "find_package, shared" "$work/consumer/consumer_shared" "$work/digits.ingot"
one "find_package, C++" "$work/consumer/consumer_cpp" "$work/digits.ingot"
pc=$(dirname "$(find "$prefix" -name ingot.pc)")
sed "s|^prefix=.*|prefix=${prefix// /\\\\ }|" "$pc/ingot.pc" >"$work/ingot.pc"
flags=$(PKG_CONFIG_PATH=$work pkg-config --cflags --libs ingot)
eval "cc -o \"\$work/by_pkg_config\" \"\$here/consumer/consumer.c\" $flags"  # pkg-config quotes for a shell
one "pkg-config" env LD_LIBRARY_PATH="$(dirname "$(find "$prefix" -name libingot.so)")" "$work/by_pkg_config" "$work/digits.ingot"
echo "package: $passed passed, $failed failed"
[ $failed -eq 0 ]
