# SPDX-License-Identifier: Apache-2.0
# 32-bit x86 Linux with SSE2 (Pentium 4 and later) with Debian's cross compiler. Programs run on an
# x86-64 itself: qemu-i386 of Debian 12 hangs where threads meet in 64-bit atomics. Floats stay out
# of the x87 registers, whose 80 bits would round differently.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_C_FLAGS_INIT "-march=pentium4 -mfpmath=sse")
set(CMAKE_CXX_FLAGS_INIT "-march=pentium4 -mfpmath=sse")
set(CMAKE_CROSSCOMPILING_EMULATOR
  /usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib)
