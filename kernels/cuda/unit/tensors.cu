// kernels/cuda/unit/tensors.cu - ports, control flow, element-wise chains, movement, reductions,
// pictures, results of any size.
#include "kernels/cuda/control/control.cuh"
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/cuda/measured/measured.cuh"
#include "kernels/cuda/movement/movement.cuh"
#include "kernels/cuda/picture/frame.cuh"
#include "kernels/cuda/picture/picture.cuh"
#include "kernels/cuda/ports/ports.cuh"
#include "kernels/cuda/reduce/reduce.cuh"
