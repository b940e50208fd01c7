// kernels/cuda/unit/tensors.cu - ports, element-wise chains, movement, reductions, pictures.
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/cuda/movement/movement.cuh"
#include "kernels/cuda/picture/frame.cuh"
#include "kernels/cuda/picture/picture.cuh"
#include "kernels/cuda/ports/ports.cuh"
#include "kernels/cuda/reduce/reduce.cuh"
