# SPDX-License-Identifier: Apache-2.0
# Build trees, each in build/NAME; a compiler cache is used when there is one.
jobs=$(nproc 2>/dev/null || echo 2)
# A compilation takes up to 1.5 GiB.
memory_jobs=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null) || memory_jobs=
[ -z "$memory_jobs" ] || [ "$memory_jobs" -ge "$jobs" ] || jobs=$((memory_jobs > 0 ? memory_jobs : 1))
unset memory_jobs

# A cache that cannot be written (no home, or a read-only one) fails every compilation, so it is tried first.
has_ccache() {
  local folder
  folder=$(ccache --get-config cache_dir 2>/dev/null) && mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ]
}

# Copies of the repository share objects: paths below this one are relative for the cache. What an object depends on
# is what its compiler wrote: a run of the preprocessor before it is a fifth of what an empty cache takes.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
# Tests have a precompiled header, which a cache leaves out of account else.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# Runs COMMANDs, each one word for the shell, at once where memory and processors allow two; what they
# said comes one after another. 1 where one failed.
side_by_side() {  # COMMAND..
  local folder i=0 status=0 pids=()
  folder=$(mktemp -d)
  for command in "$@"; do
    [ $i -lt "$jobs" ] || wait -n || true
    (eval "$command") >"$folder/$i" 2>&1 &
    pids+=($!) i=$((i + 1))
  done
  for ((i = 0; i < ${#pids[@]}; i++)); do
    wait "${pids[$i]}" || status=1
    cat "$folder/$i"
  done
  rm -rf "$folder"
  return $status
}

# Runs COMMAND when no other process of ./dev does so under NAME: stages side by side share trees.
in_turn() {  # NAME COMMAND..
  local status=0
  mkdir -p build/logs
  exec 9>"build/logs/$1.lock"
  ! command -v flock >/dev/null || flock -n 9 || {
    echo "dev: another ./dev works on $1 here; this one waits for it" >&2
    flock 9
  }
  "${@:2}" || status=$?
  exec 9>&-
  return $status
}

# configure_and_build NAME TARGET... -- CMAKE_OPTION...
configure_and_build() { in_turn "$1" build_tree "$@"; }
build_tree() {
  local name=$1; shift
  local targets=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  local launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER= -DCMAKE_C_COMPILER_LAUNCHER=)  # else a tree keeps the one it had
  has_ccache && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  mkdir -p build/logs
  local log=build/logs/build-$name.log
  cmake -S . -B "build/$name" -G Ninja -DINGOT_UNITY=ON -DINGOT_ISAS= "${launcher[@]}" "$@" >"build/logs/configure-$name.log" 2>&1 || {
    explain_configure "$name" >&2; return 1; }
  say_build_time "$name" "${targets[@]}"
  if [ -t 1 ]; then
    cmake --build "build/$name" -j "$jobs" ${targets:+--target "${targets[@]}"}
    return
  fi
  local reporter header status=0
  : >"$log"
  report_build "$log" 9>&- &
  reporter=$!
  cmake --build "build/$name" -j "$jobs" ${targets:+--target "${targets[@]}"} >"$log" 2>&1 || status=$?
  kill "$reporter" 2>/dev/null || true
  wait "$reporter" 2>/dev/null || true
  if [ $status -ne 0 ] && grep -q 'unknown target' "$log"; then
    explain_configure "$name" >&2
  elif [ $status -ne 0 ] && grep -aq 'fatal error: .*No such file' "$log"; then
    header=$(grep -aoE 'fatal error: .*: No such file' "$log" | head -n 1)
    header=${header#fatal error: }
    echo "dev: build/$name: the header ${header%%: *} is missing: install the package that has it" \
      "(where INGOT_PACKAGES=present is not set, dev installs all it needs); whole log: $log" >&2
  elif [ $status -ne 0 ]; then
    grep -aE 'error|Error|FAILED' "$log" | head -30 >&2
  fi
  return $status
}

# One line: what a tree lacks, and what to do.
explain_configure() {  # TREE
  local log=build/logs/configure-$1.log what
  what=$(sed -nE 's/.*(lib[a-z0-9]+|[A-Za-z0-9 -]+) not found: .*\(install ([^)]*)\).*/\2/p' "$log" | tr ' ' '\n' | sort -u | tr '\n' ' ')
  if grep -qE 'CMAKE_(C|CXX)_COMPILER' "$log" && grep -qE 'is not able to compile|was not found|No CMAKE_C|not a full path' "$log"; then
    what='(^|[ /])(g\+\+|gcc|clang\+\+|clang|aarch64-linux-gnu-g\+\+|arm-none-eabi-g\+\+)($|[ "])'
    what=$(sed -n '/CMake Error/,$p' "$log" | grep -oE "$what" | head -n 1 | tr -d ' "/') || true
    echo "dev: build/$1: the compiler ${what:-for C++} is missing or does not work: install it (Debian: apt-get install ${what:-g++}); whole log: $log"
  elif ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then
    echo "dev: build/$1: cmake and ninja are needed: apt-get install cmake ninja-build"
  elif grep -q 'CMake Error' "$log"; then
    what=$(sed -n '/CMake Error/,/^$/{/CMake Error/d;/^$/q;p;}' "$log" | tr -s ' \n' ' ')
    echo "dev: build/$1 could not be configured:${what:- see the log}; whole log: $log"
  else
    echo "dev: build/$1 is without what was asked for, because packages are missing: apt-get install $what; whole log: $log"
  fi
}

# How long it will take, before it begins. Tenths of a second of one processor for each kind of
# step: means on an AMD EPYC of 2.6 GHz without a compiler cache.
say_build_time() {  # TREE TARGET...
  local tree=$1 steps tenths seconds; shift
  read -r steps tenths < <(ninja -C "build/$tree" -n "$@" 2>/dev/null | awk '
    /^\[/ { n++ }
    /Building .*tools\/.*Unity/ { t += 150; next }
    /Building .*Unity/ { t += 25; next }
    /Building / { t += 9; next }
    /^\[/ { t += 4 }
    END { print n + 0, t + 0 }')
  [ "${steps:-0}" -ge 20 ] || return 0
  seconds=$((tenths / 10 / jobs))
  echo "$steps steps on $jobs processors: about $(((seconds + 59) / 60)) minutes, less with a compiler cache"
}

# A line every half minute where nobody sees the build itself: a pipe must not look dead.
report_build() {  # LOG
  local began=$SECONDS at
  while sleep 30 >/dev/null 2>&1; do  # else what reads waits for it
    at=$(grep -aoE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 1) || true
    [ -z "$at" ] || echo "built $at after $((SECONDS - began)) s"
  done
}

# Architectures of the GPUs of this machine, as 87;90; nothing where it has none. A Jetson has no nvidia-smi.
cuda_architectures_here() {
  local here
  here=$(timeout 10 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . |
    grep -E '^[0-9]+$' | sort -u | tr '\n' ';') || true
  if [ -z "$here" ]; then
    case "$(tr -d '\0' 2>/dev/null </proc/device-tree/model || true)" in
      *Orin*) here=87 ;;
      *Xavier*) here=72 ;;
      *Thor*) here=110 ;;
    esac
  fi
  echo "${here%;}"
}

# Architectures of device code where only some are needed: Orin, and the GPUs of this machine; stage cuda builds all.
cuda_architectures() {
  local here
  here=$(cuda_architectures_here)
  echo "${INGOT_CUDA_ARCHITECTURES:-87${here:+;$here}}"
}

# What the demo builds of kernels: for the GPU of this machine, where it has one, and the best instruction set of its
# processor with what that builds on. A tree that has all of those keeps them.
demo_kernel_options() {
  local here flags isas=
  here=${INGOT_CUDA_ARCHITECTURES:-$(cuda_architectures_here)}
  if [ -n "$here" ]; then
    echo "-DINGOT_CUDA=AUTO -DINGOT_CUDA_ARCHITECTURES=$here"
  else
    echo "-DINGOT_CUDA=OFF"
  fi
  grep -qs '^INGOT_ISAS:STRING=$' build/gcc/CMakeCache.txt && return
  flags=" $(grep -m1 -sE '^(flags|Features)' /proc/cpuinfo | cut -d: -f2) " || flags=
  case $flags in
    *" avx512_vnni "*) isas="avx512;avx512vnni" ;;
    *" avx512bw "*) isas="avx2;avx512" ;;  # whose products of blocks are those of avx2
    *" avx_vnni "*) isas="avx2;avxvnni" ;;
    *" avx2 "*) isas=avx2 ;;
    *" i8mm "*) isas="neon;neoni8mm" ;;
    *" asimddp "*) isas="neon;neondot" ;;
    *" asimd "*) isas=neon ;;
  esac
  echo "-DINGOT_ISAS=$isas"
}

# The tree of stages asan and fuzz: beside scalar the kernels of one instruction set, since clang takes five minutes
# of a processor for those of AVX-512 with sanitizers. Stages of hours set asan_isas= and have all,
# optimized.
asan_options=(-DINGOT_ISAS="${asan_isas-avx2;neon;neondot}" -DINGOT_SANITIZE_LEVEL=$((${asan_isas+1} + 0)) -DINGOT_CUDA=OFF -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DINGOT_SANITIZE=address,undefined -DINGOT_FUZZ=ON -DINGOT_TESTS=ON -DINGOT_WERROR=ON)

# What tools/serve asks for; its build has no target without.
has_server_packages() {
  echo '#include <boost/beast/version.hpp>
#include <openssl/ssl.h>' | g++ -E -x c++ - >/dev/null 2>&1
}

dev_build_gcc() {  # [server]
  need_packages "the build" "${build_packages[@]}"
  local targets=(ingot_cli) server=
  if [ "${1:-}" = server ]; then
    if has_server_packages; then targets+=(ingot_serve); else server=absent; fi
  fi
  configure_and_build gcc "${targets[@]}" -- -DINGOT_TESTS=OFF -DINGOT_CUDA=AUTO -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc || return
  echo "build/gcc/bin/ingot"
  [ "${targets[1]:-}" != ingot_serve ] || echo "build/gcc/bin/ingot-serve"
  [ "$server" != absent ] ||
    echo "build/gcc: without ingot serve; apt-get install libboost-dev libssl-dev, then build again"
}
