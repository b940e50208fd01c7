// tests/conformance/emulated_gpu.h - one instruction through the launches and the device code of kernels/cuda, emulated.
#pragma once
#include "runtime/op/gpu_kernel.h"

namespace ingot::conformance {

/// False when the GPU has no kernel for these arguments; that is counted, and printed when the program ends. `order`: of threads.
bool run_on_emulated_gpu(OpCode op, const OpArguments& arguments, uint32_t order, Status* status);

}  // namespace ingot::conformance
