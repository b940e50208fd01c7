# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Minimal systems of Debian and Ubuntu in folders, made by debootstrap from the package sources of
# this machine. Needs root.

need_debootstrap() {  # WHO
  [ "$(id -u)" -eq 0 ] || { echo "$1: debootstrap and chroot need root" >&2; exit 1; }
  command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null
}

mirror_of() {  # SUITE
  local site
  site=$(apt-get indextargets --format "\$(SITE)" "Created-By: Packages" 2>/dev/null | grep -v security | head -1)
  case $1 in noble | jammy) site=${INGOT_UBUNTU_MIRROR:-${site%%//*}//archive.ubuntu.com/ubuntu} ;; esac
  echo "$site"
}

# WORK/root-SUITE: a fresh copy of the minimal system in WORK/base-SUITE, which is made once.
clean_root() {  # WORK SUITE
  local work=$1 base=$1/base-$2 root=$1/root-$2 script=$2 components=main
  [ -e /usr/share/debootstrap/scripts/"$2" ] || { case $2 in noble | jammy) script=gutsy ;; *) script=sid ;; esac; }
  case $2 in noble | jammy) components=main,universe ;; esac
  if [ ! -e "$base/done" ]; then
    rm -rf "$base"
    # Where this machine has no keys of the other distribution, checksums alone are checked.
    debootstrap --variant=minbase --no-check-gpg --components=$components "$2" "$base" "$(mirror_of "$2")" \
      "/usr/share/debootstrap/scripts/$script" >"$work/debootstrap-$2.log" 2>&1 || return 1
    touch "$base/done"
  fi
  unmount_roots "$work"
  rm -rf --one-file-system "$root"
  cp -a --reflink=auto "$base" "$root"
  mount --bind /proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount --bind /dev/pts "$root/dev/pts"
  echo '127.0.0.1 localhost' >"$root/etc/hosts"  # as every installer writes it
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
}

# Of every root, also of one that an earlier call left: what is deleted below a mount is this machine's.
unmount_roots() {  # WORK
  local point
  for point in "$1"/root-*/{proc,dev/pts,dev,cache}; do ! mountpoint -q "$point" || umount -l "$point"; done
}
