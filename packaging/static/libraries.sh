#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The libraries that the command line has besides headers, static, out of the distribution's own
# source packages: what is in them is what the distribution mends.
#   libraries.sh SOURCES TOOLS CMAKE_OPTION...
# SOURCES: folder of source packages, fetched where they are not; TOOLS: folder of cc, c++, ar and
# ranlib, into TOOLS/root.
set -euo pipefail
mkdir -p "$1"
sources=$(cd "$1" && pwd)
tools=$(cd "$2" && pwd)
shift 2
options=("$@")
packages=(zlib libpng1.6 libjpeg-turbo libzip mimalloc)

fetch() {
  local apt=$sources/apt apt_options package
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  apt-get indextargets --format "deb-src \$(SITE) \$(RELEASE) \$(COMPONENT)" "Created-By: Packages" |
    grep -E ' (main|universe)$' | sort -u >"$apt/sources"
  : >"$apt/status"
  apt_options=(-qq -o "Dir::State=$apt" -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt"
    -o "Dir::Etc::sourcelist=$apt/sources" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=
    -o Acquire::http::Timeout=20 -o Acquire::Retries=1)
  apt-get "${apt_options[@]}" update
  for package in "${packages[@]}"; do fetch_source "$package" || return 1; done
}

# A mirror may list a version before it has it: then the next older one is taken, and said.
fetch_source() { # PACKAGE
  local version versions
  versions=$(apt-cache "${apt_options[@]}" showsrc "$1" | sed -n 's/^Version: //p' | sort -ruV)
  for version in $versions; do
    (cd "$sources" && apt-get "${apt_options[@]}" source "$1=$version") && return 0
    echo "note: the source package $1 $version cannot be fetched; an older one is tried" >&2
  done
  return 1
}

library() { # PACKAGE CMAKE_OPTION...
  local package=$1 folder; shift
  folder=$(echo "$sources/$package"-*/)
  cmake -S "$folder" -B "$tools/build/$package" -G Ninja "${options[@]}" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$tools/root" -DCMAKE_INSTALL_LIBDIR:STRING=lib -DBUILD_SHARED_LIBS=OFF "$@"
  cmake --build "$tools/build/$package" --target install
}

[ -d "$(echo "$sources"/mimalloc-*/)" ] || fetch
# Debian's zlib lacks what its CMake files ask for.
rm -rf "$tools/build/zlib"
mkdir -p "$tools/build"
cp -r "$sources"/zlib-*/ "$tools/build/zlib"
(cd "$tools/build/zlib" && CC=$tools/cc AR=$tools/ar RANLIB=$tools/ranlib CFLAGS="-O2 -fPIC" ./configure --static --prefix="$tools/root" && make install)
library libpng1.6 -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF -DPNG_HARDWARE_OPTIMIZATIONS=OFF
library libjpeg-turbo -DENABLE_SHARED=OFF -DWITH_SIMD=OFF -DWITH_TURBOJPEG=OFF
library libzip -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF -DENABLE_OPENSSL=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF \
  -DENABLE_COMMONCRYPTO=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
# Of musl's functions of memory some cannot be replaced, and a block would be freed by the other
# allocator. With glibc all are. The program has operators new and delete of its own
# (tools/cli/allocation.cpp), so mimalloc's go by other names.
if [[ $("$tools/cc" -dumpmachine) == *-gnu* ]]; then
  renamed=
  for name in _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t \
    _Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t; do
    renamed+=" -D$name=unused$name"
  done
  library mimalloc "-DCMAKE_C_FLAGS=$renamed" -DMI_BUILD_SHARED=OFF -DMI_BUILD_OBJECT=OFF -DMI_BUILD_TESTS=OFF -DMI_OVERRIDE=ON \
    -DMI_INSTALL_TOPLEVEL=ON
fi
# Headers alone, the build machine's own.
for folder in CLI flatbuffers nlohmann protozero; do ln -sfn "/usr/include/$folder" "$tools/root/include/$folder"; done
touch "$tools/done"
