# SPDX-License-Identifier: Apache-2.0
# 64-bit RISC-V Linux (RV64GC) with Clang, which has the vector extension from 16 on, and the
# libraries of Debian's cross compiler; programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
find_program(INGOT_RISCV_CLANG NAMES clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 REQUIRED)
set(CMAKE_C_COMPILER ${INGOT_RISCV_CLANG})
set(CMAKE_CXX_COMPILER ${INGOT_RISCV_CLANG})
set(CMAKE_C_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_ASM_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT "--driver-mode=g++")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64 -L /usr/riscv64-linux-gnu)
# One-byte atomics of GCC's library before 13 are functions.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT -latomic)
