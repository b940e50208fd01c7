# ./dev show LINE: the figure behind one line of what must hold. Each is one committed command.
dev_show() {
  case "${1:-}" in
    bare) bash tests/bare/run.sh build/bare ;;
    models | traps | exact) dev_test gcc models ;;
    bits) dev_test gcc models aarch64 ;;
    share) show_needs numpy onnx==1.23.2 onnxruntime; "$python" tests/figures/shared_weights.py --ingot build/gcc/bin/ingot --work build/models ;;
    load) show_needs numpy onnx==1.23.2 onnxruntime; "$python" tests/figures/load_time.py --ingot build/gcc/bin/ingot --work build/models ;;
    memory) show_needs numpy onnx==1.23.2 onnxruntime; "$python" tests/figures/memory_table.py --ingot build/gcc/bin/ingot --work build/models --write docs/memory.md ;;
    sweeps) dev_build_tests; run_ctest gcc -L sweep ;;
    fuzz) need_packages "fuzzing" "${build_packages[@]}" "${test_packages[@]}"; fuzz_seconds=${2:-600} bash tests/fuzz/run.sh ;;
    sizes) dev_build_tests; python3 tests/figures/binary_sizes.py --ingot build/gcc/bin/ingot --work build/sizes ;;
    speed) shift; dev_bench "$@" ;;
    --list | '')
      cat <<'TXT'
bare      a fresh clone in a bare Debian: ./dev demo, ./dev test, the time of each (needs root)
models    every model: convert, verify, golden, one answer on every instruction set and thread count, exact memory, traps
bits      the same bits on scalar, AVX2, AVX-512 and, emulated, NEON
share     two processes of one model share its weights (PSS)
load      a 100 MB model mapped, proved and ready; first result against steady runs
memory    arena against the lower bound for every model; writes docs/memory.md
sweeps    byte flips and truncations of three small files
fuzz [S]  S seconds (600) of coverage-guided fuzzing of each target under ASan and UBSan
sizes     stripped sizes: a static program with one network, the command line, the Cortex-M4 image
speed     six networks beside the prototype, onnxruntime and OpenVINO, interleaved
TXT
      ;;
    *) echo "dev: no line '$1'; ./dev show --list" >&2; return 1 ;;
  esac
}

show_needs() {
  dev_build_gcc >/dev/null
  need_python "the figure" "$@"
}

dev_build_tests() {
  need_packages "the tests" "${build_packages[@]}" "${test_packages[@]}"
  configure_and_build gcc all -- -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc -DINGOT_TESTS=ON
}
