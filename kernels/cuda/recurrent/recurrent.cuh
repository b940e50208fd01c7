// kernels/cuda/recurrent/recurrent.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/recurrent/recurrent_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
