# Build trees, each in build/NAME; a compiler cache is used when there is one.
jobs=$(nproc 2>/dev/null || echo 2)

# configure_and_build NAME TARGET... -- CMAKE_OPTION...
configure_and_build() {
  local name=$1; shift
  local targets=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
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

dev_build_gcc() {
  need_packages "the build" "${build_packages[@]}"
  configure_and_build gcc ingot_cli -- -DINGOT_TESTS=OFF -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc
  echo "build/gcc/bin/ingot"
}
