# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev show aarch64-counts, llm-aarch64: instructions of emulated 64-bit Arm, compared with the peers'.
show_aarch64_counts() {
  show_needs numpy onnx==1.23.2 onnxruntime MNN ncnn
  need_python_alone "a converter for ncnn" pnnx || true
  need_packages "an emulated Python" debootstrap qemu-user g++-aarch64-linux-gnu
  build_target aarch64 raw_runner >/dev/null
  aarch64_python build/arm64 || { echo "dev: no Python of arm64: log build/logs/arm64.log" >&2; return 1; }
  "$python" bench/aarch64_counts.py --ingot build/gcc/bin/ingot --runner build/aarch64/tests/support/raw_runner --work build/arm64 "$@"
}

show_llm_aarch64() {
  show_needs numpy
  need_packages "an emulated processor" qemu-user g++-aarch64-linux-gnu
  local options
  mapfile -t options < <(target_options aarch64)
  configure_and_build aarch64 ingot_cli -- "${options[@]}" -DINGOT_CONFORMANCE_GPU=OFF -DINGOT_TOOLS=DEVICE -DINGOT_TESTS=OFF >/dev/null || return 1
  "$python" bench/llm_aarch64.py --ingot build/gcc/bin/ingot --emulated build/aarch64/bin/ingot "$@"
}

# root/: what Python needs of a Debian for arm64, unpacked and not installed. site/: the peers' wheels.
aarch64_python() {  # FOLDER
  local package tags=(2014 _2_17 _2_24 _2_27 _2_28 _2_34)
  tags=("${tags[@]/%/_aarch64}")
  mkdir -p "$1"
  if [ ! -x "$1/root/usr/bin/python3.11" ]; then
    debootstrap --arch=arm64 --foreign --variant=minbase --include=python3,libstdc++6,libgomp1 bookworm "$1/root" >build/logs/arm64.log 2>&1 || return 1
    for package in "$1"/root/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$1/root"; done
  fi
  [ -d "$1/site" ] && return 0
  "$python" -m pip download -q --no-deps --only-binary=:all: --python-version 3.11 "${tags[@]/#/--platform=manylinux}" \
    -d "$1/wheels" numpy onnxruntime ai-edge-litert ncnn MNN >>build/logs/arm64.log 2>&1 || return 1
  rm -rf "$1/unpacked"  # of a call that was broken off
  for package in "$1"/wheels/*.whl; do
    python3 -m zipfile -e "$package" "$1/unpacked" || return 1
  done
  mv "$1/unpacked" "$1/site"
}
