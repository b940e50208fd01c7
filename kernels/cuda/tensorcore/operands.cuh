// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/operands.cuh - the matrices of a block among those of a batch.
#pragma once
#include "kernels/cuda/device/gpu.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

/// Where the matrices of a block begin.
struct Operands {
  const float *x, *w;
};
GPU_FN Operands operands_of(const ProductParams& p, uint32_t batch) {
  Operands at = {p.x, p.w};
  GPU_ROLLED for (int i = p.batch_rank - 1; i >= 0; i--) {
    const uint32_t index = take_remainder(&batch, p.batch_dims[i]);
    at.x += index * p.x_batch[i], at.w += index * p.w_batch[i];
  }
  return at;
}

}  // namespace ingot::cuda
