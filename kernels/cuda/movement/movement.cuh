// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/movement/movement.cuh - device code of this family.
#pragma once
#include "kernels/cuda/gather/gather.cuh"
#include "kernels/cuda/gather/scatter.cuh"
#include "kernels/cuda/movement/move.cuh"
#include "kernels/cuda/movement/movement_kernels.h"
#include "kernels/cuda/sort/radix.cuh"
