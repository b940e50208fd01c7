# SPDX-License-Identifier: Apache-2.0
# Programs and libraries for Linux of a processor with a C library as old as a wheel's tag says:
# clang as the Python package ziglang brings it, which has glibc of each version and a C++ library
# that is linked in. INGOT_ZIG_TARGET: aarch64; INGOT_ZIG_TOOLS: the folder of cc, c++, ar and
# ranlib that ./dev package writes, and below it root/, where libraries lie; INGOT_ZIG_NANOBIND:
# that of nanobind's CMake package.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES INGOT_ZIG_TARGET INGOT_ZIG_TOOLS)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${INGOT_ZIG_TARGET})
set(CMAKE_C_COMPILER ${INGOT_ZIG_TOOLS}/cc)
set(CMAKE_CXX_COMPILER ${INGOT_ZIG_TOOLS}/c++)
set(CMAKE_AR ${INGOT_ZIG_TOOLS}/ar)
set(CMAKE_RANLIB ${INGOT_ZIG_TOOLS}/ranlib)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s")
set(CMAKE_FIND_ROOT_PATH ${INGOT_ZIG_TOOLS}/root ${INGOT_ZIG_NANOBIND})
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
