#!/usr/bin/env bash
# PACK/run whole in an empty root: a shell, the C library, the fake driver under the driver's name,
# and the pack; no packages, no network, no processes but its own. Then what goes wrong: another
# architecture, no GPU, a pack cut off, too little disk, one minute.
#   rehearse.sh PACK LIBFAKE_CUDA [MINUTES]     prints what run prints, and a line for each check
# Over the fake driver no time means anything; the report is left in PACK.rehearsed.
set -euo pipefail
pack=$(realpath "$1") fake=$(realpath "$2") minutes=${3:-9} root='' passed=0 failed=0
sm=${pack##*-}
if ! unshare -nmpf true 2>/dev/null; then
  echo "[skip] rehearsal of the pack: unshare is not allowed here (it wants root)"
  exit 0
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,lib64,proc,dev,tmp,out} "$root/lib/x86_64-linux-gnu"
cp -L /bin/sh "$root/bin/sh"
for library in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
  cp -L "/lib/x86_64-linux-gnu/$library" "$root/lib/x86_64-linux-gnu/"
done
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
cp -r "$pack" "$root/pack"

# ask WORDS..: run in that root; prints and keeps what it says, `status` is its exit status.
ask() {
  status=0
  said=$(unshare -nmpf bash -c '
    mount -t proc proc "$0/proc" && mount -t tmpfs -o size=${small_disk:-8G} none "$0/tmp"
    mount --bind /dev "$0/dev"
    exec chroot "$0" /bin/sh -c "$1; exit \$?" ' "$root" "$*" 2>&1 | tee >(cat >&2)
    exit "${PIPESTATUS[0]}") || status=$?
}
check() { # WHAT EXPRESSION...
  local what=$1
  shift
  if "$@"; then passed=$((passed + 1)); echo "[ok]   $what"
  else failed=$((failed + 1)); echo "[fail] $what"; fi
}
says() { [[ $said == *"$1"* ]]; }
exits() { [ "$status" -eq "$1" ]; }

cp "$fake" "$root/lib/x86_64-linux-gnu/libcuda.so.1"
export FAKE_CUDA_SM=$sm PACK_REPLAYS=20 PACK_SECONDS=0.05 FAKE_CUDA_MIB=140000
began=$SECONDS
ask "/pack/run --minutes $minutes --out /out/whole"
took=$((SECONDS - began))
check "one call ends within its $minutes minutes, and none failed: $took s" \
  [ "$took" -le $((minutes * 60)) -a $status -eq 0 ]
for part in doctor modules fragments conformance fast replays profile tune branches pipeline torch sanitizers; do
  check "the report has $part" grep -q "^## $part\$" "$root/out/whole/report.md"
done
check "torch is skipped with the name of what is missing" says "[skip] beside torch"
rm -rf "$pack.rehearsed"
cp -r "$root/out/whole" "$pack.rehearsed"
rm -rf "$pack.rehearsed/models"

ask "/pack/run --minutes 1 --out /out/short"
check "--minutes 1: what was not finished is named" says "not finished:"
check "--minutes 1: what was done is in the report" grep -q "^## doctor\$" "$root/out/short/report.md"
ask "/pack/run --minutes 1 --out /out/short doctor modules"
check "a second call does not do again what is done" says "doctor: done in an earlier call"

FAKE_CUDA_SM=75 ask "/pack/run --minutes 1 --out /out/other"
check "a pack of another architecture: named, with what to do" says "./dev gpu --pack ARCH"
check "a pack of another architecture: its doctor ran all the same" says "doctor: done"
check "a pack of another architecture: exit 1" exits 1

small_disk=12M ask "/pack/run --minutes 1 --out /tmp/results doctor"
check "too little disk: named, with both numbers" says "MiB are needed"
check "too little disk: exit 1" exits 1

rm "$root/lib/x86_64-linux-gnu/libcuda.so.1"
ask "/pack/run --minutes 1 --out /out/none"
check "no driver: named" says "no CUDA driver"

mv "$root/pack/bin/gpu_runner" "$root/pack/bin/whole"
head -c 100000 "$root/pack/bin/whole" >"$root/pack/bin/gpu_runner"
ask "/pack/run --minutes 1 --out /out/cut"
check "a file cut off: named, with both sizes" says "bin/gpu_runner expected"
check "a file cut off: exit 2" exits 2
mv "$root/pack/bin/whole" "$root/pack/bin/gpu_runner"
head -c 500 "$root/pack/manifest.tsv" >"$root/pack/half" && mv "$root/pack/half" "$root/pack/manifest.tsv"
ask "/pack/run --minutes 1 --out /out/cut"
check "a manifest cut off: named" says "copy the pack again"

echo "pack rehearsal: $passed passed, $failed failed"
[ $failed -eq 0 ]
