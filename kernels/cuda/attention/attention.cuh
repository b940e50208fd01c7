// kernels/cuda/attention/attention.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/attention/attention_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
