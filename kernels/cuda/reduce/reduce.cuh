// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/reduce/reduce.cuh - device code of this family.
#pragma once
#include "kernels/cuda/normalize/normalize.cuh"
#include "kernels/cuda/reduce/arg.cuh"
#include "kernels/cuda/reduce/cumsum.cuh"
#include "kernels/cuda/reduce/fold.cuh"
#include "kernels/cuda/reduce/reduce_kernels.h"
#include "kernels/cuda/softmax/softmax.cuh"
#include "kernels/cuda/sort/topk.cuh"
