# SPDX-License-Identifier: Apache-2.0
sources() { git ls-files -z '*.h' '*.hpp' '*.cpp' '*.c' '*.inl' '*.cu'; }

dev_format() {
  need_packages "formatting" "${lint_packages[@]}"
  # all but public headers, which are laid out by hand (tools/lint/formatted.py)
  sources | grep -zvE '^runtime/include/ingot/(ingot|pool|text)\.h$' | xargs -0 clang-format -i
}

# What needs no build: layers, file sizes, what a device must not need, formatting.
lint_sources() {
  local check failed=
  for check in layers words licenses file_access error_texts operators public_names sizes firmware_clean formatted; do
    python3 "tools/lint/$check.py" || failed+=" $check"
  done
  [ -z "$failed" ] || { echo "ERROR lint: what is wrong stands above; failed in tools/lint:$failed"; return 1; }
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
