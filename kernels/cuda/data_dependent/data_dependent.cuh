// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/data_dependent.cuh - results as large as the data makes them.
#pragma once
#include "kernels/cuda/data_dependent/nms.cuh"
#include "kernels/cuda/data_dependent/nonzero.cuh"
#include "kernels/cuda/data_dependent/unique.cuh"
