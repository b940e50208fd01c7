// kernels/cuda/conv2d/conv2d.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/conv2d/conv2d_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
