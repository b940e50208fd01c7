#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build tree into an empty prefix, moves that prefix, and builds strangers' programs
# against it: find_package (C alone and C++, static and shared), pkg-config (shared and static),
# warnings as errors in every standard. The same inside another project's build. A program under
# ThreadSanitizer.
#   run.sh BUILD_TREE WORK
set -euo pipefail
tree=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
rm -rf "${work:?}"/*
. "$here/checks.sh"
one() { # NAME COMMAND...: prints the answer of the digit network
  local name=$1 output; shift
  if output=$("$@" 2>&1) && [[ $output == ingot* ]]; then pass "$name: $output"; else fail "$name: $output"; fi
}
quiet() { # NAME COMMAND...: prints nothing
  local name=$1 output; shift
  if output=$("$@" 2>&1) && [ -z "$output" ]; then pass "$name"; else fail "$name: $output"; fi
}

# Installed somewhere, then moved: no file may remember the first place, or the build's.
cmake --install "$tree" --prefix "$work/first" >"$work/install.log"
prefix="$work/another place"
mv "$work/first" "$prefix"
lib=$(dirname "$(find "$prefix" -name libingot.so)")
if grep -rlI -e "$work/first" -e "$tree" "$prefix" >"$work/remembered"; then fail "remembers where it was made: $(head -3 "$work/remembered")"
else pass "no file remembers where it was made"; fi
there "$prefix/share/doc/ingot/LICENSE"
there "$prefix/share/doc/ingot/NOTICE"
there "$prefix/share/bash-completion/completions/ingot"
there "$prefix/share/zsh/site-functions/_ingot"
there "$prefix/share/fish/vendor_completions.d/ingot.fish"
if command -v help2man >/dev/null; then there "$prefix/share/man/man1/ingot-run.1"; else echo "[skip] no help2man: the man pages"; fi
quiet "the completion of bash is a script" bash -n "$prefix/share/bash-completion/completions/ingot"
"$prefix/bin/ingot" convert "$root/examples/digits/digits.onnx" -o "$work/digits.ingot" >/dev/null

# The C++ library is no part of it: programs in C are linked by the C compiler.
if undefined=$(nm -uC "$lib"/libingot_*.a 2>/dev/null | grep -E ' U (operator (new|delete)|std::|__cxa|__gxx|vtable for __cxx)' | grep -v 'ingot::'); then
  fail "needs the C++ library: $(head -3 <<<"$undefined")"
else pass "static libraries need nothing of the C++ library"; fi

cmake -S "$here/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log"
cmake --build "$work/consumer" >"$work/build.log"
one "find_package, static" "$work/consumer/consumer_static" "$work/digits.ingot"
one "find_package, shared" "$work/consumer/consumer_shared" "$work/digits.ingot"
one "find_package, C++" "$work/consumer/consumer_cpp" "$work/digits.ingot"
cmake -S "$here/in_c" -B "$work/in_c" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >>"$work/configure.log"
if cmake --build "$work/in_c" >"$work/in_c.log" 2>&1; then
  for name in static shared cuda; do one "find_package, a project in C, $name" "$work/in_c/consumer_$name" "$work/digits.ingot"; done
else fail "find_package, a project in C: $(tail -3 "$work/in_c.log")"; fi

# pkg-config, whatever the prefix; it quotes for a shell.
case $(pkg-config --version) in
  0.*) # The original (Ubuntu 22.04) splits a prefix at its spaces; pkgconf does not.
    ln -s "$prefix" "$work/another_place"
    export PKG_CONFIG_PATH="$work/another_place${lib#"$prefix"}/pkgconfig" ;;
  *) export PKG_CONFIG_PATH="$lib/pkgconfig" ;;
esac
eval "flags=($(pkg-config --cflags --libs ingot))"
quiet "pkg-config, shared: links" cc -o "$work/shared" "$here/consumer/consumer.c" "${flags[@]}"
one "pkg-config, shared" env LD_LIBRARY_PATH="$lib" "$work/shared" "$work/digits.ingot"
eval "flags=($(pkg-config --static --cflags --libs ingot))"
quiet "pkg-config --static, without -static: links" cc -o "$work/either" "$here/consumer/consumer.c" "${flags[@]}"
eval "cpu_flags=($(pkg-config --static --cflags --libs ingot-cpu))"
quiet "pkg-config, the CPU alone: links" cc -o "$work/cpu" "$here/consumer/consumer.c" "${cpu_flags[@]}"
one "pkg-config, the CPU alone" "$work/cpu" "$work/digits.ingot"
if nm -uC "$work/cpu" | grep -q dlopen; then fail "pkg-config, the CPU alone: calls dlopen()"; else pass "pkg-config, the CPU alone: no dlopen()"; fi
for linker in bfd gold lld; do
  command -v "ld.$linker" >/dev/null || { echo "[skip] no ld.$linker"; continue; }
  # Without the back end of GPUs the linker has nothing to warn of.
  quiet "pkg-config -static, the CPU alone, $linker: links" cc -static "-fuse-ld=$linker" -o "$work/static" "$here/consumer/consumer.c" "${cpu_flags[@]}"
  one "pkg-config -static, the CPU alone, $linker" "$work/static" "$work/digits.ingot"
  # glibc warns that a static program which loads a GPU's driver needs the same glibc there; that is
  # no failure.
  if cc -static "-fuse-ld=$linker" -o "$work/static" "$here/consumer/consumer.c" "${flags[@]}" 2>"$work/static.log"; then
    one "pkg-config --static, $linker" "$work/static" "$work/digits.ingot"
  else fail "pkg-config --static, $linker: $(head -3 "$work/static.log")"; fi
done

# A program under ThreadSanitizer, linked with the library as it is installed: nothing is reported
# but a race of the program's own. Each compiler brings its own ThreadSanitizer.
for compiler in clang++ g++; do
  instrumented=("$compiler" -std=c++17 -g -O1 -fsanitize=thread)
  if ! echo 'int main() {}' | "${instrumented[@]}" -x c++ -o "$work/empty" - 2>/dev/null || ! "$work/empty"; then
    echo "[skip] no ThreadSanitizer of $compiler"
    continue
  fi
  "${instrumented[@]}" -I"$prefix/include" -c -o "$work/threads.o" "$here/threads/threads.cpp"
  "${instrumented[@]}" -o "$work/threads_static" "$work/threads.o" "$lib/libingot_cpu.a" "$lib/libingot_runtime.a"
  "${instrumented[@]}" -o "$work/threads_shared" "$work/threads.o" "-L$lib" -lingot "-Wl,-rpath,$lib"
  for form in static shared; do
    one "ThreadSanitizer of $compiler, $form" env TSAN_OPTIONS=exitcode=66 "$work/threads_$form" "$work/digits.ingot"
    if env TSAN_OPTIONS=exitcode=66 "$work/threads_$form" "$work/digits.ingot" race >"$work/race.log" 2>&1 || ! grep -q 'WARNING: ThreadSanitizer: data race' "$work/race.log"; then
      fail "ThreadSanitizer of $compiler, $form: a race of the program's own is not reported"
    else pass "ThreadSanitizer of $compiler, $form: reports a race of the program's own"; fi
  done
done

# The documented way to begin compiles without a warning, in every standard, with both compilers.
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Werror -I"$prefix/include" -fsyntax-only)
for standard in c99 c11 c17 c++11 c++17 c++20; do
  source=$here/consumer/consumer.c compilers=(gcc clang)
  if [[ $standard == c++* ]]; then
    compilers=(g++ clang++)
    source=$work/consumer_c.cpp
    cp "$here/consumer/consumer.c" "$source"
  fi
  for compiler in "${compilers[@]}"; do
    command -v "$compiler" >/dev/null || { echo "[skip] no $compiler"; continue; }
    quiet "no warning: $compiler -std=$standard" "$compiler" -std=$standard "${warnings[@]}" "$source"
    if [[ $standard == c++17 || $standard == c++20 ]]; then
      quiet "no warning: $compiler -std=$standard, ingot.hpp" "$compiler" -std=$standard "${warnings[@]}" "$here/consumer/consumer.cpp"
    fi
  done
done

# Inside another project: libraries alone, the same names, neither its build type nor its tests are
# touched.
inside=(-DCMAKE_BUILD_TYPE=Debug -DINGOT_ISAS=none -DINGOT_CUDA=OFF)
command -v ccache >/dev/null && inside+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S "$here/inside" -B "$work/inside" -G Ninja "${inside[@]}" -DFETCHCONTENT_SOURCE_DIR_INGOT="$root" >"$work/inside.log" 2>&1 &&
  cmake --build "$work/inside" >>"$work/inside.log" 2>&1 || fail "inside another project: $(tail -5 "$work/inside.log")"
for name in static shared; do one "inside another project in C, $name" "$work/inside/consumer_$name" "$work/digits.ingot"; done

echo "package: $passed passed, $failed failed"
[ $failed -eq 0 ]
