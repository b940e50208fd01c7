#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A newcomer's machine: a minimal system in a folder, a clone of HEAD inside and nothing beside it,
# then ./dev demo and ./dev test, timed. Needs root, debootstrap and the package sources of this
# machine; touches nothing outside WORK.
#   run.sh WORK [SUITE..] [-- COMMAND..]
# Default suites: bookworm trixie jammy noble (Debian 12, 13, Ubuntu 22.04, 24.04); default commands:
# "./dev demo" "./dev test". A command that ends with a line of counts must have 0 failed and at most
# 25 skipped. A suite that cannot be had is a counted skip. The last line counts commands.
# INGOT_BARE_CACHE=FOLDER keeps each suite's objects there: a rerun after a mend is quicker, and its
# times are those of no newcomer.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
. "$here/../support/system_roots.sh"
mkdir -p "${1:?run.sh WORK [SUITE..] [-- COMMAND..]}"
work=$(cd "$1" && pwd)
shift
suites=() commands=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do suites+=("$1"); shift; done
[ $# -eq 0 ] || shift
commands=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie jammy noble)
[ ${#commands[@]} -gt 0 ] || commands=("./dev demo" "./dev test")
most_skipped=25
need_debootstrap bare
trap 'unmount_roots "$work"' EXIT
passed=0 failed=0 skipped=0

# The machine's way to its package sources: certificates and settings of the index; nothing else.
environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PIP_CERT=/etc/ca-of-this-machine.crt
  SSL_CERT_FILE=/etc/ca-of-this-machine.crt)
[ -z "${INGOT_BARE_CACHE:-}" ] || environment+=(CCACHE_DIR=/cache)
for v in PIP_DEFAULT_TIMEOUT PIP_INDEX_URL http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY; do
  [ -z "${!v:-}" ] || environment+=("$v=${!v}")
done

prepare() {  # SUITE: the clone in its root
  clean_root "$work" "$1" || return 1
  root=$work/root-$1
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ca-of-this-machine.crt"
  [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
  git clone -q "$repo" "$root/root/ingot"
  [ -n "${INGOT_BARE_CACHE:-}" ] || return 0
  mkdir -p "$INGOT_BARE_CACHE/$1" "$root/cache"
  mount --bind "$INGOT_BARE_CACHE/$1" "$root/cache"
}

# One line: the command, what it counted, its time.
run_inside() {  # SUITE COMMAND
  local began=$SECONDS status=0 counts verdict=ok log
  log=$work/$1-$(tr -cs 'a-z0-9' - <<<"$2").log
  chroot "$root" env -i "${environment[@]}" bash -c "cd /root/ingot && $2" </dev/null >"$log" 2>&1 || status=$?
  counts=$(grep -oE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$log" | tail -n 1) || true
  [ $status -eq 0 ] || verdict="FAILED, exit code $status"
  if [ -n "$counts" ] && [ "$(sed -E 's/.* ([0-9]+) skipped/\1/' <<<"$counts")" -gt $most_skipped ]; then
    verdict="FAILED, more than $most_skipped skipped"
  fi
  echo "$1: $2: $verdict${counts:+, $counts}, $((SECONDS - began)) s; log: $log"
  if [ "$verdict" = ok ]; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  tail -n "${INGOT_BARE_LINES:-40}" "$log" | sed 's/^/    /'
}

for suite in "${suites[@]}"; do
  if ! prepare "$suite"; then
    echo "[skip] no system of $suite could be made: $(tail -1 "$work/debootstrap-$suite.log")"
    skipped=$((skipped + 1))
    continue
  fi
  for command in "${commands[@]}"; do run_inside "$suite" "$command"; done
  unmount_roots "$work"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
