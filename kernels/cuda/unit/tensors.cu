// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/tensors.cu - ports, control flow, element-wise chains, movement, reductions,
// images, results of any size.
#include "kernels/cuda/control/control.cuh"
#include "kernels/cuda/data_dependent/data_dependent.cuh"
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/cuda/image/image.cuh"
#include "kernels/cuda/movement/movement.cuh"
#include "kernels/cuda/pool2d/pool2d.cuh"
#include "kernels/cuda/pool2d/pool2d_kernels.h"
#include "kernels/cuda/ports/ports.cuh"
#include "kernels/cuda/reduce/reduce.cuh"
#include "kernels/cuda/resize/resize.cuh"
#include "kernels/cuda/resize/resize_kernels.h"
