// kernels/cuda/reduce/reduce.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/reduce/reduce_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
