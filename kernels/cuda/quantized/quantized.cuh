// kernels/cuda/quantized/quantized.cuh - operators of integers.
#pragma once
#include "kernels/cuda/quantized/maps.cuh"
#include "kernels/cuda/quantized/products.cuh"
