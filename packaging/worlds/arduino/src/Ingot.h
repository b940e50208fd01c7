// SPDX-License-Identifier: Apache-2.0
// Ingot.h - the interface of the core, for sketches. A model is an array in flash; `ingot firmware`
// writes it, and kernels.cpp with the kernels that it needs.
#pragma once
#if defined(__AVR__)
#error "Ingot needs a 32-bit processor"
#elif __cplusplus < 201703L
#error "Ingot needs C++17: choose a core that has it, or -std=gnu++17 in platform.local.txt"
#endif
#include "ingot/micro.h"
