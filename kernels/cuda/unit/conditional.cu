// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/conditional.cu - what decides inside a graph: for drivers that have conditional
// nodes, by compilers that know of them.
#include "kernels/cuda/control/decide.cuh"
