# SPDX-License-Identifier: Apache-2.0
sources() { git ls-files -z '*.h' '*.hpp' '*.cpp' '*.c' '*.inl' '*.cu'; }

dev_format() {
  need_packages "formatting" "${lint_packages[@]}"
  # all but public headers, which are laid out by hand (tools/lint/formatted.py)
  sources | grep -zvE '^runtime/include/ingot/(ingot|pool|text)\.h$' | xargs -0 clang-format -i
}

# What needs no build: layers, file sizes, what a device must not need, formatting.
lint_sources() {
  local failed=0
  python3 tools/lint/layers.py || failed=1
  python3 tools/lint/words.py || failed=1
  python3 tools/lint/licenses.py || failed=1
  python3 tools/lint/file_access.py || failed=1
  python3 tools/lint/error_texts.py || failed=1
  python3 tools/lint/operators.py || failed=1
  python3 tools/lint/public_names.py || failed=1
  python3 tools/lint/sizes.py || failed=1
  python3 tools/lint/firmware_clean.py || failed=1
  python3 tools/lint/formatted.py || failed=1
  return $failed
}

# clang-tidy over runtime/, with the commands of build/gcc; cached, and at most $1 seconds.
lint_tidy() {
  [ -f build/gcc/compile_commands.json ] || configure_and_build gcc ingot_cli -- -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc
  python3 tools/lint/tidy.py build/gcc --seconds "$1"
}

dev_lint() {
  need_packages "lint" "${lint_packages[@]}"
  local failed=0
  lint_sources || failed=1
  lint_tidy 600 || failed=1
  return $failed
}
