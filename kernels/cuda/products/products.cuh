// kernels/cuda/products/products.cuh - device code of products that are no convolutions.
#pragma once
#include "kernels/cuda/products/conv_transpose.cuh"
#include "kernels/cuda/products/matmul.cuh"
#include "kernels/cuda/products/products_kernels.h"
#include "kernels/cuda/products/skinny.cuh"
