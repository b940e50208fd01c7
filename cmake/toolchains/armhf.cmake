# SPDX-License-Identifier: Apache-2.0
# 32-bit Arm Linux (ARMv7, hard floats) with Debian's cross compiler; programs run under qemu-user.
# Fused multiply-add as from Cortex-A7 on: for A8 and A9 take the flags away, and floats go through
# fmaf of the C library, correct and slow.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
set(CMAKE_C_FLAGS_INIT "-march=armv7-a+neon-vfpv4")
set(CMAKE_CXX_FLAGS_INIT "-march=armv7-a+neon-vfpv4")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm -L /usr/arm-linux-gnueabihf)
