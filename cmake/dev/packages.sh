# Installs distribution packages that are missing; says what and why before it does.
build_packages=(g++ cmake ninja-build pkg-config flatbuffers-compiler libflatbuffers-dev libprotozero-dev libcli11-dev
  nlohmann-json3-dev libzip-dev libmimalloc-dev libpng-dev)
test_packages=(doctest-dev clang libclang-rt-dev binutils g++-aarch64-linux-gnu qemu-user gcc-arm-none-eabi
  libstdc++-arm-none-eabi-newlib qemu-system-arm python3 python3-venv git file)
demo_packages=(python3 python3-venv espeak-ng)
lint_packages=(clang-format clang-tidy python3 git)

have_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# need_packages WHY PACKAGE...
need_packages() {
  local why=$1; shift
  local missing=() p
  for p in "$@"; do have_package "$p" || missing+=("$p"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "dev: $why needs: ${missing[*]}; this is no Debian or Ubuntu: install their equivalents by hand" >&2
    exit 7
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "dev: installing ${missing[*]} needs root or sudo; run as root, or install them first" >&2; exit 7; }
    sudo=(sudo)
  fi
  echo "== installing for $why (apt-get${sudo:+ through sudo}): ${missing[*]}"
  mkdir -p build/logs
  local log=build/logs/apt.log
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$log" 2>&1 || true
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    echo "dev: apt-get could not install: ${missing[*]} (whole log: $log)" >&2
    exit 7
  }
}

# Python packages in a virtual environment of the build tree. False (with a message) when there is no network.
# need_python WHY PACKAGE...
python=build/venv/bin/python
need_python() {
  local why=$1; shift
  need_packages "$why" python3 python3-venv
  [ -x $python ] || python3 -m venv build/venv
  local missing=() p
  for p in "$@"; do "$python" -m pip show -q "${p%%=*}" >/dev/null 2>&1 || missing+=("$p"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "== python packages for $why: ${missing[*]}"
  mkdir -p build/logs
  "$python" -m pip install -q --disable-pip-version-check "${missing[@]}" >build/logs/pip.log 2>&1 || {
    echo "dev: pip could not install ${missing[*]} (no network?); log: build/logs/pip.log" >&2
    return 1
  }
}
