#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two versions of a network with the same weights in registries on file systems that can share
# blocks (XFS, Btrfs) and on one that cannot: what the second version takes on the disk. Needs root
# and loop devices; a file system whose mkfs is not there is left out and counted.
#   shared_blocks.sh INGOT MODEL.onnx WORK
set -euo pipefail
ingot=$1 model=$2 work=$3
failed=0 skipped=0
mkdir -p "$work"
mounted=$work/mounted
end() { mountpoint -q "$mounted" && umount "$mounted"; rm -f "$work/disk"; }
trap end EXIT

"$ingot" convert "$model" -o "$work/first.ingot" -q --no-check --metadata version=1
"$ingot" convert "$model" -o "$work/second.ingot" -q --no-check --metadata version=2
cmp -s "$work/first.ingot" "$work/second.ingot" && {
  echo "[fail] the two files are the same"
  exit 1
}
bytes=$(stat -c %s "$work/second.ingot")

used_kib() {  # blocks that are free again are so when Btrfs is mounted anew
  umount "$mounted" && mount -o loop "$work/disk" "$mounted" && df --output=used "$mounted" | tail -1
}

for kind in xfs btrfs ext4; do
  case $kind in
    xfs) make=(mkfs.xfs -q -f) package=xfsprogs shares=1 ;;
    btrfs) make=(mkfs.btrfs -q -f) package=btrfs-progs shares=1 ;;
    ext4) make=(mkfs.ext4 -q -F) package=e2fsprogs shares=0 ;;
  esac
  command -v "${make[0]}" >/dev/null || {
    echo "[skip] $kind: ${make[0]} is not there; install $package"
    skipped=$((skipped + 1))
    continue
  }
  rm -f "$work/disk"
  truncate -s 512M "$work/disk"
  mkdir -p "$mounted"
  { "${make[@]}" "$work/disk" >/dev/null && mount -o loop "$work/disk" "$mounted"; } || {
    echo "[skip] $kind: cannot be mounted here (root and loop devices are needed)"
    skipped=$((skipped + 1))
    continue
  }
  root=$mounted/models
  "$ingot" registry add "$work/first.ingot" net --root "$root" -q
  one=$(used_kib)
  said=$("$ingot" registry add "$work/second.ingot" net --root "$root")
  two=$(used_kib)
  "$ingot" registry verify --root "$root" -q
  cmp "$work/second.ingot" "$root/net/2/model.ingot"
  "$ingot" registry remove net@1 --root "$root" -q
  cmp "$work/second.ingot" "$root/net/2/model.ingot"
  echo "$kind: the second version of $bytes bytes takes $((two - one)) KiB$(
    case $said in *"; "*) echo "; ${said#*; }" ;; esac
  )"
  more=$(((two - one) * 1024 * 2 > bytes ? 1 : 0))
  [ $more = $((1 - shares)) ] || {
    echo "[fail] $kind"
    failed=1
  }
  umount "$mounted"
done
echo "shared blocks: $([ $failed = 0 ] && echo passed || echo failed), $skipped skipped"
exit $failed
