// kernels/cuda/tensorcore/tensorcore.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/tensorcore/tensorcore_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
