# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev test --target NAME: the suite on another processor, cross-compiled and run under qemu-user.
# A row is a target; its toolchain file is cmake/toolchains/NAME.cmake, its tree build/NAME. "native":
# this machine runs it, with the C library of the target.
#
# name      triple               emulator      emulated processors: the first runs every test; all run
#                                              the digit reader and the traps (target.py), and of
#                                              aarch64 and rvv, whose kernels differ, ctest -L per_isa
target_rows=(
  "aarch64 aarch64-linux-gnu     qemu-aarch64  max cortex-a53 a64fx cortex-a76 max,sve=off"
  "armhf   arm-linux-gnueabihf   qemu-arm      max cortex-a7 cortex-a15"
  "riscv64 riscv64-linux-gnu     qemu-riscv64  rv64 rv64,v=on"
  "rvv     riscv64-linux-gnu     qemu-riscv64  rv64,v=on rv64,v=on,vlen=256"
  "i686    i686-linux-gnu        native        host"
  "s390x   s390x-linux-gnu       qemu-s390x    max"
)
target_names=()
for row in "${target_rows[@]}"; do target_names+=("${row%% *}"); done
for name in "${target_names[@]}"; do eval "stage_target_$name() { test_target $name; }"; done
unset row name

target_row() {  # NAME
  local row
  for row in "${target_rows[@]}"; do
    [ "${row%% *}" != "$1" ] || { echo "$row"; return 0; }
  done
  echo "dev: no target '$1'; targets: ${target_names[*]}" >&2
  return 1
}

# Options of cmake for a target, one a line.
target_options() {  # NAME
  printf '%s\n' --toolchain "cmake/toolchains/$1.cmake" -DINGOT_TOOLS=OFF -DINGOT_TESTS=ON -DINGOT_SHARED_LIBRARY=OFF \
    -DINGOT_WERROR=ON
  # the host side of the GPU is tested there too: a Jetson's
  if [ "$1" = aarch64 ]; then
    printf '%s\n' -DINGOT_CUDA_ARCHITECTURES=87 -DCMAKE_EXE_LINKER_FLAGS= -DINGOT_CONFORMANCE_GPU=ON
  else
    echo -DINGOT_CUDA=OFF
  fi
}

build_target() {  # NAME TARGET...
  local name=$1 options; shift
  mapfile -t options < <(target_options "$name")
  configure_and_build "$name" "$@" -- "${options[@]}"
}

test_target() {  # NAME
  local row name triple emulator processors processor status=0 leave_out='^$' label=() run first=yes
  row=$(target_row "$1") || return 1
  read -r name triple emulator processors <<<"$row"
  need_packages "tests on $name" "g++-$triple" qemu-user strace
  # vectors of RISC-V want a Clang of 16 or later
  [ "$name" != rvv ] || compgen -c clang- | grep -qxE 'clang-(1[6-9]|2[0-9])' ||
    need_packages "vectors of RISC-V" "$(apt-cache pkgnames clang- | grep -xE 'clang-(1[6-9]|2[0-9])' | sort | head -n 1)"
  run="$emulator -L /usr/$triple"
  [ "$emulator" != native ] || emulator=/usr/$triple/lib/ld-linux.so.2 run="$emulator --library-path /usr/$triple/lib"
  for tool in "$triple-g++" "$emulator"; do
    command -v "$tool" >/dev/null || {
      echo "ERROR $name: $tool is absent: apt-get install g++-$triple qemu-user" >&2
      return 7
    }
  done
  need_ingot raw_runner state_runner
  build_target "$name" all
  if [ "$processors" != host ]; then
    echo "[skip] $name: device_thread_team forks, which qemu-user of Debian 12 does not survive"
    leave_out='^device_thread_team$'
  fi
  for processor in $processors; do
    # shellcheck disable=SC2086
    if QEMU_CPU=$processor $run "build/$name/tests/support/raw_runner" 2>&1 | grep -qE 'unable to find CPU|[Pp]roperty .* not found'; then
      echo "[skip] $name: this qemu does not emulate $processor"
      continue
    fi
    echo "== $name, processor $processor"
    if [ $first = yes ] || [ "$name" = aarch64 ] || [ "$name" = rvv ]; then
      QEMU_CPU=$processor run_ctest "$name" -E "$leave_out" "${label[@]}" || status=1
    fi
    label=(-L per_isa) first=no
    QEMU_CPU=$processor python3 tests/package/target.py --name "$name" --host build/gcc --tree "build/$name" \
      --emulator "$run" --work "build/targets/$name" || status=1
  done
  return $status
}
