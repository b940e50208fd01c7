// kernels/cuda/picture/picture.cuh - device code of this family.
#pragma once
#include "kernels/cuda/picture/picture_kernels.h"
#include "kernels/cuda/picture/pool.cuh"
#include "kernels/cuda/picture/resample.cuh"
