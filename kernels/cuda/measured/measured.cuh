// kernels/cuda/measured/measured.cuh - results as large as the data makes them.
#pragma once
#include "kernels/cuda/measured/nms.cuh"
#include "kernels/cuda/measured/nonzero.cuh"
#include "kernels/cuda/measured/unique.cuh"
