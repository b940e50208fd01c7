// kernels/cuda/products/products.cuh - device code of this family.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/products/products_kernels.h"

namespace ingot::cuda {}  // namespace ingot::cuda
