# SPDX-License-Identifier: Apache-2.0
vcpkg_extract_source_archive(SOURCE_PATH
  ARCHIVE "${CMAKE_CURRENT_LIST_DIR}/ingot-${VERSION}.tar.xz")

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DINGOT_TOOLS=OFF
    -DINGOT_TESTS=OFF
    -DINGOT_CUDA=OFF
    -DINGOT_SHARED_LIBRARY=${shared}
    "-DINGOT_FLATBUFFERS_HEADERS=${CURRENT_INSTALLED_DIR}/include")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME ingot CONFIG_PATH lib/cmake/Ingot)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
