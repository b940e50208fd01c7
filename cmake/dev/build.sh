# Build trees, each in build/NAME; a compiler cache is used when there is one.
jobs=$(nproc 2>/dev/null || echo 2)

# A cache that cannot be written (no home, or a read-only one) fails every compilation, so it is tried first.
has_ccache() {
  local folder
  folder=$(ccache --get-config cache_dir 2>/dev/null) && mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ]
}

# configure_and_build NAME TARGET... -- CMAKE_OPTION...
configure_and_build() {
  local name=$1; shift
  local targets=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  local launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER= -DCMAKE_C_COMPILER_LAUNCHER=)  # else a tree keeps the one it had
  has_ccache && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  mkdir -p build/logs
  cmake -S . -B "build/$name" -G Ninja "${launcher[@]}" "$@" >"build/logs/configure-$name.log" 2>&1 || {
    tail -n 20 "build/logs/configure-$name.log" >&2; return 1; }
  if [ -t 1 ]; then
    cmake --build "build/$name" -j "$jobs" ${targets:+--target "${targets[@]}"}
  else
    cmake --build "build/$name" -j "$jobs" ${targets:+--target "${targets[@]}"} >"build/logs/build-$name.log" 2>&1 || {
      grep -E 'error|Error|FAILED' "build/logs/build-$name.log" | head -30 >&2; return 1; }
  fi
}

# Architectures of device code where only some are needed: Orin, and the GPUs of this machine; stage cuda builds all.
cuda_architectures() {
  local here
  here=$(timeout 10 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | grep -E '^[0-9]+$' | sort -u | tr '\n' ';') || true
  echo "${INGOT_CUDA_ARCHITECTURES:-87${here:+;${here%;}}}"
}

# The tree of stages asan and fuzz.
asan_options=(-DINGOT_CUDA=OFF -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DINGOT_SANITIZE=address,undefined -DINGOT_FUZZ=ON -DINGOT_TESTS=ON -DINGOT_WERROR=ON)

dev_build_gcc() {
  need_packages "the build" "${build_packages[@]}"
  configure_and_build gcc ingot_cli -- -DINGOT_TESTS=OFF -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc
  echo "build/gcc/bin/ingot"
}
