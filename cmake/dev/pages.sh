# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The documentation site, below build/pages: docs/site has what it is made with.
pages_python=(sphinx myst-parser furo sphinx-design griffe)

dev_pages() {
  need_packages "the reference of the C interface" doxygen git
  need_python "the documentation site" "${pages_python[@]}" || return 1
  local work=build/pages_work
  mkdir -p $work build/logs
  "$python" docs/site/zoo.py . --check || return 1
  # What the command line alone can tell; other tables are those that ./dev show has made.
  mkdir -p build/tables
  rm -f build/tables/torch-operators.md
  "$python" tools/cli/options/convert_options.py page >build/tables/convert-options.md || return 1
  "$python" docs/site/zoo.py . --page build/tables/zoo.md || return 1
  if [ -x build/gcc/bin/ingot ]; then
    build/gcc/bin/ingot operators --torch >build/tables/torch-operators.md || return 1
  fi
  "$python" docs/site/stage.py . $work/source build/tables || return 1
  (cat docs/site/Doxyfile; echo "OUTPUT_DIRECTORY = $work") | doxygen - 2>build/logs/doxygen.log || {
    cat build/logs/doxygen.log >&2
    return 1
  }
  "$python" docs/site/c_reference.py . $work/xml $work/source/reference || return 1
  "$python" docs/site/python_reference.py . $work/source/reference || return 1
  "$python" -m sphinx -q -W --keep-going -b html -c docs/site -d $work/doctrees $work/source build/pages || return 1
  "$python" docs/site/check_links.py build/pages || return 1
  echo "build/pages/index.html"
}

# Every command, program and output of the tutorials and of the "coming from" pages, by page or all.
show_pages() {  # [PAGE ..]
  need_packages "the tutorials" gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm make unzip pkg-config
  need_python "the tutorials" numpy torch onnx==1.23.2 onnxscript onnxruntime ai-edge-litert || return 1
  python_test_wheel >build/logs/pages-wheel.log || { tail -n 20 build/logs/pages-wheel.log >&2; return 1; }
  rm -rf "$python_build/site"
  "$python" -m pip install -q --no-deps --target "$python_build/site" "$python_build"/wheels/*.whl
  "$python" tests/tutorials/runner_test.py
  "$python" tests/tutorials/run_pages.py --ingot build/gcc/bin/ingot --prefix "$python_build/prefix" \
    --site "$python_build/site" --work build/pages_run "$@"
}
