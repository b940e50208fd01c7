#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What ./dev package made, in clean roots: debootstrap's minimal systems of Debian and of an Ubuntu
# LTS. Installs the packages, converts, runs, compiles a program against the library, removes all,
# and looks for what is left. The static command lines run in a root that has nothing at all.
# Needs root, debootstrap and the package sources of this machine; touches nothing outside WORK.
#   roots.sh PACKAGES WORK [SUITE...]        default suites: this machine's, trixie, noble; -: none,
#                                            the static command lines alone
set -euo pipefail
packages=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
shift 2
. /etc/os-release
suites=("$@")
[ ${#suites[@]} -gt 0 ] || mapfile -t suites < <(printf '%s\n' "$VERSION_CODENAME" trixie noble | awk '!seen[$0]++')
. "$here/checks.sh"
. "$here/../support/system_roots.sh"
need_debootstrap roots
root=
trap 'unmount_roots "$work"' EXIT
inside() { # COMMAND: in the root, its output in log
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    chroot "$root" bash -euc "$1" </dev/null >"$work/log" 2>&1
}
try() { # NAME COMMAND
  if inside "$2"; then pass "$suite: $1"; else fail "$suite: $1: $(tail -3 "$work/log" | tr '\n' ' ')"; return 1; fi
}
# Everything below the folders that packages write to, but what apt, dpkg and ldconfig keep.
files_of_root() { (cd "$root" && find usr etc opt -not -path 'etc/ld.so.cache' -not -name '*.pyc' | sort); }

# The server, of the suite that the packages were made on: gRPC's libraries have other names in others.
# No systemd runs in a root; its unit is read by this machine's.
server() {
  compgen -G "$root/srv/ingot-serve_*.deb" >/dev/null || { echo "[skip] no package of the server was made"; return; }
  [ "$suite" = "$VERSION_CODENAME" ] || { echo "[skip] $suite: ingot-serve is for $VERSION_CODENAME"; return; }
  try "install the server" "cd /srv && apt-get -qq install -y --no-install-recommends ./ingot-serve_*.deb ./ingot-serve-dbgsym_*.deb" || return
  try "the server has a registry" "ingot registry add /srv/digits.ingot digits --root /var/lib/ingot/models" || return
  try "the server serves, as a user who may write nowhere, and ends" '
    set -a; . /etc/default/ingot-serve; set +a
    setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs ingot-serve $INGOT_SERVE_OPTIONS --http-port 0 --grpc-port 0 >/srv/said 2>/srv/notes &
    server=$!
    for i in {1..100}; do ! grep -q ^ready /srv/said || break; sleep 0.1; done
    grep -q ^grpc:// /srv/said
    port=$(sed -nE "s|^http://127.0.0.1:([0-9]+)$|\1|p" /srv/said)
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf "GET /v2/models/digits/ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" >&3
    timeout 10 head -n 1 <&3 | grep -q "200 OK"
    kill -TERM $server
    wait $server' || true
  try "manual and completions of the server" "test -s /etc/default/ingot-serve && test -s /usr/share/bash-completion/completions/ingot-serve && test -s /usr/share/zsh/vendor-completions/_ingot-serve && { test -s /usr/share/man/man1/ingot-serve.1 || test -e /etc/dpkg/dpkg.cfg.d/excludes; }" || true
  if ! command -v systemd-analyze >/dev/null; then echo "[skip] no systemd-analyze: the unit of the server"
  elif sed "s|=/usr/bin/|=$root/usr/bin/|" "$root/usr/lib/systemd/system/ingot-serve.service" >"$work/ingot-serve.service" &&
    systemd-analyze verify --man=no "$work/ingot-serve.service" >"$work/log" 2>&1 && [ ! -s "$work/log" ]; then pass "$suite: the unit of the server is sound"
  else fail "$suite: the unit of the server: $(head -3 "$work/log" | tr '\n' ' ')"; fi
  try "remove the server" "rm -r /var/lib/ingot/models/* /var/lib/ingot/models/.[!.]* && apt-get -qq purge -y --autoremove ingot-serve" || true
}

[ "${suites[*]}" != - ] || suites=()
for suite in "${suites[@]}"; do
  if ! clean_root "$work" "$suite"; then
    echo "[skip] no root of $suite could be made: $(tail -1 "$work/debootstrap-$suite.log")"
    continue
  fi
  root=$work/root-$suite
  cp "$packages"/*.deb "$here/consumer/consumer.c" "$top/examples/digits/digits.onnx" "$root/srv/"
  try "apt reads its sources" "apt-get -qq update && apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config" || continue
  inside "find /usr /etc /var/lib/dpkg/info -name '*ingot*'" && [ ! -s "$work/log" ] || fail "$suite: Ingot is there before it is installed"
  files_of_root >"$work/before"
  try "install" "cd /srv && apt-get -qq install -y --no-install-recommends ./libingot0_*.deb ./libingot-dev_*.deb ./ingot-tools_*.deb" || continue
  try "ingot --version names the commit" "ingot --version | grep -q '^commit: [0-9a-f]'" || true
  try "convert" "cd /srv && ingot convert digits.onnx -o digits.ingot" || continue
  try "bench" "cd /srv && ingot bench digits.ingot --dim n=1 --seconds 0.1" || true
  try "the digits of a program compiled here, shared" "cd /srv && cc -o shared consumer.c \$(pkg-config --cflags --libs ingot) && ./shared digits.ingot | grep -q ^ingot" || true
  try "the digits of a program compiled here, static" "cd /srv && cc -static -o static consumer.c \$(pkg-config --static --cflags --libs ingot) && ./static digits.ingot | grep -q ^ingot" || true
  try "manual and completions are files" "test -s /usr/share/man/man1/ingot-run.1.gz -o -s /usr/share/man/man1/ingot-run.1 -o -e /etc/dpkg/dpkg.cfg.d/excludes && test -s /usr/share/bash-completion/completions/ingot" || true
  try "install debug symbols" "cd /srv && apt-get -qq install -y --no-install-recommends ./libingot0-dbgsym_*.deb ./ingot-tools-dbgsym_*.deb" || true
  server
  try "remove" "apt-get -qq purge -y '*ingot*'" || continue
  # libraries that came with the command line stay until autoremove, and no such is there
  files_of_root >"$work/after"
  if left=$(comm -13 "$work/before" "$work/after") && [ -z "$left" ]; then pass "$suite: nothing is left"; else fail "$suite: left: $(head -5 <<<"$left" | tr '\n' ' ')"; fi
  unmount_roots "$work"
done

# An empty root: no shell, no library, nothing. Other processors: the emulator and its libraries,
# which a program of theirs has no use for.
host=$top/build/gcc/bin/ingot
mkdir -p "$work/digits"
"$host" convert "$top/examples/digits/digits.onnx" -o "$work/digits/digits.ingot" >/dev/null
cp "$top/examples/digits/digits.onnx" "$work/digits/"
python3 "$here/digits_input.py" "$work/digits/in.npz"
"$host" run "$work/digits/digits.ingot" --inputs "$work/digits/in.npz" --outputs "$work/digits/host.npz" >/dev/null
for archive in "$packages"/ingot-*-linux-*.tar.gz; do
  [ -e "$archive" ] || { echo "[skip] no static command line was made"; break; }
  name=$(basename "$archive" .tar.gz)
  target=${name##*-linux-}
  rm -rf "$work/empty"
  mkdir -p "$work/empty"
  tar -C "$work/empty" -xzf "$archive"
  cp "$work"/digits/* "$work/empty/"
  if [ "$target" = "$(uname -m)" ] || [ "$target-$(uname -m)" = i686-x86_64 ]; then
    ingot=(chroot "$work/empty" "/$name/ingot")
  elif emulator=$(command -v "qemu-$target"); then
    ingot=(chroot "$work/empty" "$emulator" "/$name/ingot")
    for file in "$emulator" $(ldd "$emulator" 2>/dev/null | grep -oE '/[^ ]+' || true); do
      mkdir -p "$work/empty$(dirname "$file")"
      cp -L "$file" "$work/empty$file"
    done
  else
    echo "[skip] no qemu-$target"
    continue
  fi
  run() { # WHAT ARGUMENT...
    local what=$1; shift
    if "${ingot[@]}" "$@" >"$work/log" 2>&1; then pass "$name: $what"; else fail "$name: $what: $(tail -2 "$work/log" | tr '\n' ' ')"; fi
  }
  if file "$work/empty/$name/ingot" | grep -qE 'statically linked|static-pie'; then pass "$name: is static"; else fail "$name: is not static"; fi
  run "--version" --version
  if ! grep -q '^instruction sets: scalar ' "$work/log" && [[ $target != arm && $target != i686 && $target != riscv64 ]]; then fail "$name: finds no instruction set but scalar"; fi
  if [ "$target" = aarch64 ] && ! grep -q '^instruction sets: scalar neon neonfp16 neondot neoni8mm neonbf16$' "$work/log"; then fail "$name: lacks products of bytes or halves"; fi
  if [ "$target" = arm ] && ! grep -q '^instruction sets: scalar neon32$' "$work/log"; then fail "$name: lacks NEON"; fi
  if [ "$target" = riscv64 ] && ! QEMU_CPU=rv64,v=on "${ingot[@]}" --version | grep -q '^instruction sets: scalar rvv$'; then fail "$name: lacks vectors"; fi
  run doctor doctor
  case $target in
    arm | i686 | riscv64) ;;
    *) run convert convert /digits.onnx -o /digits.ingot ;;
  esac
  run verify verify /digits.ingot
  code=0
  "${ingot[@]}" verify /absent.ingot >"$work/log" 2>&1 || code=$?
  if [ $code -eq 7 ] && grep -q "absent.ingot: no such file" "$work/log"; then pass "$name: an error is a line and its exit code"
  else fail "$name: a file that is not there ends with $code: $(tail -2 "$work/log" | tr '\n' ' ')"; fi
  run bench bench /digits.ingot --dim n=1 --seconds 0.1
  processors=(default)
  [ "$target" = "$(uname -m)" ] || case $target in
    aarch64) processors=(max cortex-a53 cortex-a76) ;;
    arm) processors=(default cortex-a8 cortex-a7) ;;  # a Cortex-A8 has no fused multiply-add
    riscv64) processors=(default rv64,v=on rv64,v=on,vlen=256) ;;
  esac
  for processor in "${processors[@]}"; do
    [ "$processor" = default ] || export QEMU_CPU=$processor
    run "run, processor $processor" run /digits.ingot --inputs /in.npz --outputs /out.npz
    if cmp -s "$work/digits/host.npz" "$work/empty/out.npz"; then pass "$name: the bits of this machine"; else fail "$name: other bits than this machine's"; fi
    rm -f "$work/empty/out.npz"
  done
  unset QEMU_CPU
done
echo "roots: $passed passed, $failed failed"
[ $failed -eq 0 ]
