# SPDX-License-Identifier: Apache-2.0
# 64-bit Arm Linux whose C library may be as old as JetPack 5's (glibc 2.31): clang with a sysroot,
# which ./dev sysroot assembles. Programs need no libstdc++ of the board; the library needs symbols
# up to GLIBC_2.29, those of pow and exp (tests/cuda/old_glibc.sh checks it).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/sysroot/arm64-glibc2.31)
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_ASM_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "--start-no-unused-arguments -static-libstdc++ -static-libgcc --end-no-unused-arguments")
set(CMAKE_SHARED_LINKER_FLAGS_INIT
  "--start-no-unused-arguments -static-libstdc++ -static-libgcc --end-no-unused-arguments")
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
