# SPDX-License-Identifier: Apache-2.0
# ./dev cuda-toolkit VERSION: a device compiler in build/cuda/VERSION, out of public packages, without root and without an
# installation. NVIDIA's packages are used where they lie and never passed on. Every package is pinned by its hash; what is
# assembled is kept, and it appears under its name only when it is whole and has compiled a kernel.
cuda_versions=(11.8 12.4 13.0 13.2)

# sha256 and name of each package: pip's as NAME==VERSION, Debian's as SUITE:NAME=VERSION.
cuda_packages() {
  case $1 in
    11.8) cat <<'TXT'
f8e1e995166c884f2f5bf94975d7abb89175363b8712f7f81cd38d0df1b2cd85 nvidia-cuda-nvcc-cu11==11.8.89
92d04069a987e1fbc9213f8376d265df0f7bb42617d44f5eda1f496acea7f2d1 nvidia-cuda-runtime-cu11==11.8.89
d1156026e704fe0368b6295db06224ed00a727966fb13454f34e3f3102db0457 bookworm:nvidia-cuda-toolkit=11.8.89~11.8.0-5~deb12u1
TXT
      ;;
    12.4) cat <<'TXT'
e4c9a35435c3b0e36c6397c5696334c9ea6650e524736cbd1c5d345ea099bb04 nvidia-cuda-nvcc-cu12==12.4.131
64403288fa2136ee8e467cdc9c9427e0434110899d07c779f25b5c068934faa5 nvidia-cuda-runtime-cu12==12.4.127
cd5fe85aee38d108b315f408a688641478f2402622a10c677478eb7a6c4e5319 trixie:nvidia-cuda-toolkit=12.4.131~12.4.1-2
TXT
      ;;
    13.0) cat <<'TXT'
56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03 nvidia-cuda-nvcc==13.0.88
2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4 nvidia-cuda-crt==13.0.88
c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0 nvidia-nvvm==13.0.88
7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548 nvidia-cuda-runtime==13.0.96
TXT
      ;;
    13.2) cat <<'TXT'
c3bd144dd9b6b25e062589acb7bbd43d93d3120c72fad71da808f9817aba1239 nvidia-cuda-nvcc==13.2.78
2c8615ee30ed466cb6298ecb8ffe9e6ea8b252ca833206152d155750bf831608 nvidia-cuda-crt==13.2.78
f5aa433631109bbdec81802c5b5f319bf10bc891fe2f212e4e445845211d6f77 nvidia-nvvm==13.2.78
72bf454902da594e0b833cadeddc8b7100ce1c7cf7ed9023943931be1aa913b7 nvidia-cuda-runtime==13.2.75
TXT
      ;;
  esac
}

# cuda_debian SUITE NAME=VERSION HASH: unpacks one package of Debian's non-free part into ./deb; the mirror is the machine's own.
cuda_debian() {
  mkdir -p apt/lists/partial apt/archives/partial
  local site
  site=$(apt-get indextargets --format "\$(SITE)" "Created-By: Packages" 2>/dev/null | grep -v security | head -1)
  echo "deb $site $1 non-free" >apt/sources
  : >apt/status
  local options=(-o "Dir::State=$PWD/apt" -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::State::status=$PWD/apt/status" -o "Dir::Cache=$PWD/apt"
    -o "Dir::Etc::sourcelist=$PWD/apt/sources" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User= -o Acquire::http::Timeout=20 -o Acquire::Retries=1)
  apt-get "${options[@]}" -qq update
  apt-get "${options[@]}" -qq download "$2"
  local package
  package=$(ls "${2%%=*}"_*.deb)
  echo "$3  $package" | sha256sum --check --quiet -
  dpkg -x "$package" deb
}

# The folders that nvcc expects, from Debian's programs and NVIDIA's headers (11.8, 12.4). 13.x wheels have them as they are.
cuda_arrange() {
  if [ -d wheels/nvidia/cu13 ]; then
    cp -r wheels/nvidia/cu13/. tree
    chmod +x tree/bin/* tree/nvvm/bin/*
    return
  fi
  mkdir -p tree/bin tree/nvvm/bin tree/include
  local lib=deb/usr/lib/nvidia-cuda-toolkit program
  cp -r $lib/bin/nvcc $lib/bin/crt tree/bin/
  cp $lib/bin/cicc tree/nvvm/bin/
  cp -r $lib/libdevice tree/nvvm/
  for program in cudafe++ ptxas fatbinary bin2c nvlink cuobjdump nvdisasm; do cp deb/usr/bin/$program tree/bin/; done
  cp -r wheels/nvidia/cuda_runtime/include/. wheels/nvidia/cuda_nvcc/include/. tree/include/
  # shellcheck disable=SC2016
  printf 'TOP = $(_HERE_)/..\nNVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice\nPATH += $(TOP)/nvvm/bin:$(_HERE_):\nINCLUDES += "-I$(TOP)/include" $(_SPACE_)\n' \
    >tree/bin/nvcc.profile
}

cuda_assemble() {  # VERSION, in an empty folder
  local hash name wheel
  cuda_packages "$1" | while read -r hash name; do
    if [[ $name == *==* ]]; then echo "$name --hash=sha256:$hash" >>requirements; else echo "$hash $name" >>debian; fi
  done
  python3 -m pip download -q --no-deps --require-hashes --only-binary=:all: -d . -r requirements
  for wheel in *.whl; do python3 -m zipfile -e "$wheel" wheels; done
  mkdir tree
  if [ -f debian ]; then
    read -r hash name <debian
    cuda_debian "${name%%:*}" "${name#*:}" "$hash"
  fi
  cuda_arrange
  echo 'extern "C" __global__ void probe(int* p) { *p = 1; }' >probe.cu
  tree/bin/nvcc -ccbin g++ -allow-unsupported-compiler -std=c++17 -arch=sm_87 -cubin probe.cu -o probe.cubin
}

dev_cuda_toolkit() {
  local version=${1:-} place log
  if [[ " ${cuda_versions[*]} " != *" $version "* ]] || [ -z "$version" ]; then
    echo "dev: cuda-toolkit: versions are ${cuda_versions[*]}" >&2
    return 1
  fi
  place=build/cuda/$version log=$PWD/build/logs/cuda-$version.log
  if [ -x "$place/bin/nvcc" ]; then echo "$place/bin/nvcc"; return 0; fi
  if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "dev: cuda-toolkit: the pinned packages are for Linux on x86-64; give an nvcc of this machine with -DINGOT_NVCC=PATH" >&2
    return 7
  fi
  mkdir -p build/cuda build/logs
  local work
  work=$(mktemp -d "build/cuda/.$version.XXXXXX")
  # A shell of its own: within a condition, bash would go on after a step that failed.
  if ! (cd "$work" && "$BASH" -e -o pipefail -c "$(declare -f cuda_packages cuda_debian cuda_arrange cuda_assemble); cuda_assemble $version") >"$log" 2>&1; then
    rm -rf "$work"
    echo "dev: cuda-toolkit $version could not be assembled: no network, no Debian mirror, or a package is gone; log: $log" >&2
    return 7
  fi
  mv -T "$work/tree" "$place" 2>/dev/null || [ -x "$place/bin/nvcc" ] || { rm -rf "$work"; return 7; }
  rm -rf "$work"
  echo "$place/bin/nvcc"
}

# Stage cuda: device code compiled and gated. Every run: by 11.8 that of Jetsons (72, 87), by 13.0 that of a server and of
# the newest GPU; the long suite has every architecture and the other compilers.
cuda_gated="72;87;90;120"
[ -z "${every_model:-}" ] || cuda_gated=

# cuda_nvcc VERSION: prints an nvcc of exactly this version, found or assembled.
cuda_nvcc() {
  local candidate
  for candidate in "build/cuda/$1/bin/nvcc" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [ -x "$candidate" ] && "$candidate" --version | grep -q "release $1,"; then realpath -s "$candidate"; return; fi
  done
  dev_cuda_toolkit "$1" | sed "s|^|$PWD/|"
}

# cuda_build TREE ARCHITECTURES NVCC...: device code alone.
cuda_build() {
  local tree=$1 architectures=$2 list
  shift 2
  list=$(IFS=';'; echo "$*")
  configure_and_build "$tree" ingot_cuda_kernels -- -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc -DINGOT_TOOLS=OFF -DINGOT_TESTS=OFF -DINGOT_SHARED_LIBRARY=OFF \
    -DINGOT_CUDA=ON "-DINGOT_NVCC=$list" "-DINGOT_CUDA_ARCHITECTURES=$architectures"
}

# Own declarations of the driver beside each toolkit's header.
cuda_declarations() {
  local header options passed=0 failed=0 egl=build/logs/egl/EGL
  mkdir -p $egl  # cudaEGL.h wants three types of EGL's, which is seldom installed
  echo 'typedef void *EGLImageKHR, *EGLStreamKHR, *EGLSyncKHR; typedef int EGLint;' >$egl/egl.h
  : >$egl/eglext.h
  for header in build/cuda/*/include/cuda.h /usr/local/cuda/include/cuda.h; do
    [ -f "$header" ] || continue
    options=(-std=c++17 -fsyntax-only -Wall -Wextra -Werror -I. -isystem build/logs/egl -isystem "$(dirname "$header")")
    if g++ "${options[@]}" tests/cuda/driver_declarations.cpp && g++ "${options[@]}" tests/cuda/egl_declarations.cpp; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "ERROR driver declarations differ from $header"
    fi
  done
  [ $((passed + failed)) -gt 0 ] || echo "[skip] driver declarations: no cuda.h is here"
  echo "declarations: $passed passed, $failed failed"
  [ $failed -eq 0 ]
}

# Whole models over the fake driver, each different instruction of the large ones, and COMMANDs, side by
# side; what stage models converted is taken from there.
cuda_models() {  # [COMMAND..]
  if [ ! -x build/gcc/tests/cuda/gpu_runner ]; then
    echo "[skip] whole models on the emulated GPU: stage gcc did not build them"
    side_by_side "$@"; return
  fi
  if ! need_python "models on the emulated GPU" numpy onnx==1.23.2; then
    echo "[skip] no model ran on the emulated GPU: numpy and onnx are not to be had"
    side_by_side "$@"; return
  fi
  side_by_side \
    "$python tests/cuda/run_models.py --ingot build/gcc/bin/ingot --work build/models --fake build/gcc/tests/cuda/libfake_cuda.so ${every_model:+--full}" \
    "$python tests/cuda/run_layers.py --ingot build/gcc/bin/ingot --work build/models ${every_model:+--small}" \
    "INGOT_CUDA_DRIVER=$PWD/build/gcc/tests/cuda/libfake_cuda.so $python tests/cuda/decoders.py --ingot build/gcc/bin/ingot" \
    "$@"
}
cuda_gates() {
  local status=0
  python3 tests/cuda/ptxas_gate.py --tree build/cuda_code || status=1
  python3 tests/cuda/loops_gate.py --tree build/cuda_code || status=1
  return $status
}

stage_cuda() {
  local old new status=0 gates=true
  new=$(cuda_nvcc 13.0) || { echo "[skip] device code of 75 to 120: no CUDA 13.0, and none could be assembled"; new=; }
  old=$(cuda_nvcc 11.8) || { echo "[skip] device code of 72 and 87 by CUDA 11.8, which could not be assembled"; old=; }
  if [ -n "$old$new" ]; then
    # shellcheck disable=SC2086
    cuda_build cuda_code "$cuda_gated" $old $new
    gates=cuda_gates
  fi
  cuda_declarations || status=1
  cuda_models $gates || status=1
  if [ -x build/gcc/tests/cuda/pack_run ]; then gpu_rehearse build/gcc || status=1
  else echo "[skip] rehearsal of a pack: stage gcc did not build its programs"; fi
  if [ -n "${every_model:-}" ]; then
    local version architectures
    for version in 12.4 13.2; do
      if ! new=$(cuda_nvcc $version); then echo "[skip] device code by CUDA $version, which could not be assembled"; continue; fi
      architectures="75;80;86;87;89;90;100;110;120"
      [ $version = 12.4 ] && architectures="75;80;86;87;89;90"
      cuda_build "cuda_code_$version" "$architectures" "$new"
      python3 tests/cuda/ptxas_gate.py --tree "build/cuda_code_$version" || status=1
    done
  fi
  return $status
}
