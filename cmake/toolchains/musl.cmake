# SPDX-License-Identifier: Apache-2.0
# Static programs for any Linux of a processor: musl, and clang as the Python package ziglang brings
# it, with the C and C++ library of each target. INGOT_MUSL_TARGET: x86_64, aarch64, arm, riscv64 or
# i686; INGOT_MUSL_TOOLS: the folder of cc, c++, ar and ranlib that ./dev package writes, and below
# it root/, where libraries of the target lie.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES INGOT_MUSL_TARGET INGOT_MUSL_TOOLS)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${INGOT_MUSL_TARGET})
set(CMAKE_C_COMPILER ${INGOT_MUSL_TOOLS}/cc)
set(CMAKE_CXX_COMPILER ${INGOT_MUSL_TOOLS}/c++)
set(CMAKE_AR ${INGOT_MUSL_TOOLS}/ar)
set(CMAKE_RANLIB ${INGOT_MUSL_TOOLS}/ranlib)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -s")
set(CMAKE_FIND_ROOT_PATH ${INGOT_MUSL_TOOLS}/root)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
if(NOT INGOT_MUSL_TARGET MATCHES "^(x86_64|i686)$")
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${INGOT_MUSL_TARGET})
endif()
