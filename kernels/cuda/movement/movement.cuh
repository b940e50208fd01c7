// kernels/cuda/movement/movement.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/movement/movement_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
