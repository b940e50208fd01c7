#!/usr/bin/env bash
# A fresh clone in a bare Debian: debootstrap's minimal system in a folder, a clone of HEAD inside,
# then ./dev demo, ./dev test and ./dev test full, timed. Needs root, debootstrap and the package
# sources of this machine; touches nothing outside WORK.
#   run.sh [WORK] [COMMAND...]        default: build/bare "./dev demo" "./dev test" "./dev test
# full"
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=${1:-$repo/build/bare}
[ $# -gt 0 ] && shift
commands=("$@")
[ $# -eq 0 ] && commands=("./dev demo" "./dev test" "./dev test full")
[ "$(id -u)" -eq 0 ] || { echo "bare: debootstrap and chroot need root" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null
root=$work/root
mkdir -p "$work"
cleanup() {
  for point in proc sys dev/pts dev; do mountpoint -q "$root/$point" && umount -l "$root/$point"; done
  return 0
}
trap cleanup EXIT
if [ ! -x "$root/usr/bin/apt-get" ]; then
  . /etc/os-release
  mirror=$( (grep -rhE '^(URIs:|deb )' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null || true) |
    grep -oE 'https?://[^ ]+/(debian|ubuntu)/?$|https?://[^ ]+/(debian|ubuntu)/? ' | head -1)
  mirror=${mirror% }
  echo "== debootstrap --variant=minbase $VERSION_CODENAME"
  debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$mirror" >"$work/debootstrap.log" 2>&1
fi
# The machine's way to its package sources, certificates and index settings; nothing else.
cp /etc/resolv.conf "$root/etc/resolv.conf"
for path in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf.d /etc/pip.conf /etc/hosts; do
  [ -e "$path" ] && mkdir -p "$root$(dirname "$path")" && cp -r "$path" "$root$(dirname "$path")/"
done
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ca-of-this-machine.crt"
[ -e "$root/etc/apt/sources.list.d/debian.sources" ] && rm -f "$root/etc/apt/sources.list"
for point in proc sys dev dev/pts; do mkdir -p "$root/$point"; mountpoint -q "$root/$point" || mount --bind "/$point" "$root/$point"; done
rm -rf "$root/root/ingot"
git clone -q "$repo" "$root/root/ingot"
passes=(PIP_DEFAULT_TIMEOUT PIP_INDEX_URL http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY)
environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PIP_CERT=/etc/ca-of-this-machine.crt SSL_CERT_FILE=/etc/ca-of-this-machine.crt)
for v in "${passes[@]}"; do [ -n "${!v:-}" ] && environment+=("$v=${!v}"); done
status=0
for c in "${commands[@]}"; do
  began=$SECONDS
  echo "== in a bare $(. "$root/etc/os-release" && echo "$PRETTY_NAME"): $c"
  if chroot "$root" env -i "${environment[@]}" bash -c "cd /root/ingot && $c" </dev/null >"$work/output.log" 2>&1; then ok=ok; else ok=FAILED status=1; fi
  tail -n "${INGOT_BARE_LINES:-40}" "$work/output.log"
  echo "== $c: $ok in $((SECONDS - began)) s"
done
exit $status
