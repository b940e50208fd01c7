// kernels/cuda/picture/picture.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/picture/picture_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
