# SPDX-License-Identifier: Apache-2.0
# Installs distribution packages that are missing; says what and why before it does.
build_packages=(g++ cmake ninja-build pkg-config flatbuffers-compiler libflatbuffers-dev libprotozero-dev libcli11-dev
  nlohmann-json3-dev libzip-dev zlib1g-dev libmimalloc-dev libpng-dev libjpeg-dev help2man)
test_packages=(ccache libboost-dev libssl-dev doctest-dev clang lld 'libclang-rt-dev|libclang-common-14-dev' binutils g++-aarch64-linux-gnu qemu-user gcc-arm-none-eabi make
  libstdc++-arm-none-eabi-newlib qemu-system-arm python3 python3-venv git file clang-format clang-tidy zsh)
demo_packages=(python3 python3-venv espeak-ng)
lint_packages=(clang-format clang-tidy python3 git)

# Nothing waits for ever on a network that is not there.
export PIP_DEFAULT_TIMEOUT="${PIP_DEFAULT_TIMEOUT:-15}" PIP_RETRIES="${PIP_RETRIES:-1}" PIP_DISABLE_PIP_VERSION_CHECK=1
apt=(timeout 900 apt-get -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=1)

have_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# The first of PACKAGE|OTHER (a name for each release of a distribution) that is there or can be had.
chosen_package() {
  local names=() p
  IFS='|' read -ra names <<<"$1"
  [ ${#names[@]} -gt 1 ] || { echo "$1"; return; }
  for p in "${names[@]}"; do ! have_package "$p" || { echo "$p"; return; }; done
  for p in "${names[@]}"; do ! apt-cache show "$p" >/dev/null 2>&1 || { echo "$p"; return; }; done
  echo "${names[0]}"
}

# need_packages WHY PACKAGE[|OTHER]...
need_packages() {
  local why=$1; shift
  [ "${INGOT_PACKAGES:-}" != present ] || return 0
  local missing=() p
  for p in "$@"; do have_package "$(chosen_package "$p")" || missing+=("$p"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "dev: $why needs: ${missing[*]}; this is no Debian or Ubuntu: install their equivalents by hand, then set INGOT_PACKAGES=present" >&2
    exit 7
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "dev: installing ${missing[*]} needs root or sudo; run as root, or install them first" >&2; exit 7; }
    sudo=(sudo)
  fi
  echo "== installing for $why (apt-get${sudo:+ through sudo}): ${missing[*]}"
  in_turn packages install_packages
}
install_packages() {  # of need_packages: its sudo and missing
  local log=build/logs/apt.log p
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}" update -qq >"$log" 2>&1 || true
  for p in "${!missing[@]}"; do missing[p]=$(chosen_package "${missing[p]}"); done  # of the lists just read
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1 || {
    echo "dev: apt-get could not install: ${missing[*]} (no network? whole log: $log)" >&2
    exit 7
  }
}

# Compiler, C library and emulator of a bare RISC-V machine; what needs them counts a skip otherwise.
need_riscv() {
  command -v riscv64-unknown-elf-g++ >/dev/null && command -v qemu-system-riscv32 >/dev/null && return 0
  local emulator=qemu-system-misc  # a package of its own from Debian 13
  apt-cache show qemu-system-riscv >/dev/null 2>&1 && emulator=qemu-system-riscv
  (need_packages "firmware on RISC-V" gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf "$emulator") ||
    echo "the packages of bare RISC-V could not be installed"
}

# Python packages in a virtual environment of the build tree. False (with a message) when there is no network.
# need_python WHY PACKAGE...
python=build/venv/bin/python
need_python() {
  need_packages "$1" python3 python3-venv
  in_turn venv install_python "$@"
}
install_python() {
  local why=$1; shift
  mkdir -p build/logs
  if ! [ -x $python ] && ! python3 -m venv build/venv >build/logs/venv.log 2>&1; then
    rm -rf build/venv
    echo "dev: python3 -m venv failed; log: build/logs/venv.log" >&2
    return 1
  fi
  local missing=() p
  for p in "$@"; do "$python" -m pip show -q "${p%%=*}" >/dev/null 2>&1 || missing+=("$p"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  # onnx makes its node tests with it: 0.7 casts what 4 bits do not hold to 0, not to its low bits
  [[ " ${missing[*]}" != *" onnx=="* ]] || missing+=("ml_dtypes<0.7")
  echo "== python packages for $why: ${missing[*]}"
  timeout 900 "$python" -m pip install -q "${missing[@]}" >build/logs/pip.log 2>&1 || {
    echo "dev: pip could not install ${missing[*]}: no network? Try again with one, or install them into build/venv by hand; log: build/logs/pip.log" >&2
    return 1
  }
}

# One package without what it asks for, where that is far more than is used (pnnx asks for torch). Missing ones are installed after.
need_python_alone() {
  local why=$1 package=$2
  "$python" -m pip show -q "$package" >/dev/null 2>&1 && return 0
  if [ "$package" = pnnx ] || [ "$package" = ncnn ]; then
    echo "== python package for $why: $package"
    "$python" -m pip install -q --disable-pip-version-check --no-deps "$package" >build/logs/pip.log 2>&1
  else
    need_python "$why" "$package"
  fi
}
