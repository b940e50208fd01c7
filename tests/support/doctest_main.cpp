// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>

// Tests mean the same on a machine with a GPU: those of CUDA name the fake driver themselves.
static const int no_gpu = setenv("INGOT_CUDA_DRIVER", "/nowhere/libcuda.so", 0);
