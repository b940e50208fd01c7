# SPDX-License-Identifier: Apache-2.0
# 64-bit RISC-V Linux (RV64GC) with Debian's cross compiler; programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64 -L /usr/riscv64-linux-gnu)
# One-byte atomics of GCC before 13 are functions.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT -latomic)
