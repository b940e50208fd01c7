sources() { git ls-files '*.h' '*.hpp' '*.cpp' '*.c' '*.inl' '*.cu'; }

dev_format() {
  need_packages "formatting" "${lint_packages[@]}"
  sources | xargs clang-format -i
}

dev_lint() {
  need_packages "lint" "${lint_packages[@]}"
  local failed=0
  python3 tools/lint/layers.py || failed=1
  python3 tools/lint/sizes.py || failed=1
  python3 tools/lint/firmware_clean.py || failed=1
  return $failed
}
