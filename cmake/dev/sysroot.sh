# SPDX-License-Identifier: Apache-2.0
# A C library as old as JetPack 5's (Ubuntu 20.04, glibc 2.31) to build against and to start in, out of Debian bullseye's packages for arm64, without
# root: build/sysroot/arm64-glibc2.31. Pinned by hash, whole or not there.
sysroot_packages() {
  cat <<'TXT'
baaa9aa184e2f21738c5819055e6740cc5b22f198e3f416e33f82b40ff6933d8 libc6=2.31-13+deb11u11
28d478134722dcd4b0bd2045a199301d18713bf95947b9fce66634e7aeacab2e libc6-dev=2.31-13+deb11u11
8b6374a64412d33eac61d74f77b8f932da4b8a707ea8a614791e2a35b8917618 linux-libc-dev=5.10.223-1
e2fcdb378d3c1ad1bcb64d4fb6b37aab44011152beca12a4944f435a2582df1f libgcc-s1=10.2.1-6
80fc73d339ada2e194175afe83cd89014565242153b6e3c2128849d8817da367 libgcc-10-dev=10.2.1-6
7869aa540cc46e9f3d4267d5bde2af0e5b429a820c1d6f1a4cfccfe788c31890 libstdc++6=10.2.1-6
cee7ca63613b50a8a51cc670db385c7e6d1181b72c94148fc8b7992e4570782d libstdc++-10-dev=10.2.1-6
TXT
}

sysroot_assemble() {  # in an empty folder
  mkdir -p apt/lists/partial apt/archives/partial tree
  local site hash name package
  site=$(apt-get indextargets --format "\$(SITE)" "Created-By: Packages" 2>/dev/null | grep -v security | head -1)
  echo "deb [arch=arm64] $site bullseye main" >apt/sources
  : >apt/status
  local options=(-o "Dir::State=$PWD/apt" -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::State::status=$PWD/apt/status" -o "Dir::Cache=$PWD/apt"
    -o "Dir::Etc::sourcelist=$PWD/apt/sources" -o Dir::Etc::sourceparts=- -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=
    -o Acquire::http::Timeout=20 -o Acquire::Retries=1)
  apt-get "${options[@]}" -qq update
  sysroot_packages >packages
  while read -r hash name; do
    apt-get "${options[@]}" -qq download "$name"
    package=$(ls "${name%%=*}"_*.deb)
    echo "$hash  $package" | sha256sum --check --quiet -
    dpkg -x "$package" tree
  done <packages
  cp -r /usr/include/flatbuffers /usr/include/doctest tree/usr/include/  # headers alone, the build machine's own
  # Links from the root would leave the tree.
  local link
  find tree -type l | while read -r link; do
    case $(readlink "$link") in /*) ln -sfr "tree$(readlink "$link")" "$link" ;; esac
  done
}

dev_sysroot() {
  local place=build/sysroot/arm64-glibc2.31 log=$PWD/build/logs/sysroot.log work
  if [ -d "$place/usr/include" ]; then echo "$place"; return 0; fi
  mkdir -p build/sysroot build/logs
  work=$(mktemp -d build/sysroot/.XXXXXX)
  if ! (cd "$work" && "$BASH" -e -o pipefail -c "$(declare -f sysroot_packages sysroot_assemble); sysroot_assemble") >"$log" 2>&1; then
    rm -rf "$work"
    echo "dev: the sysroot with glibc 2.31 could not be assembled: no network, no Debian mirror, or a package is gone; log: $log" >&2
    return 7
  fi
  mv -T "$work/tree" "$place"
  rm -rf "$work"
  echo "$place"
}
