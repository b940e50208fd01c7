// SPDX-License-Identifier: Apache-2.0
// tests/conformance/conformance_gpu.h - one instruction through the launches and the device code of
// kernels/cuda: in the emulator (emulated_gpu.cpp) or through the driver (driver_gpu.cpp), as the
// program is linked.
#pragma once
#include "runtime/device/gpu/kernel_set.h"

namespace ingot::conformance {

constexpr size_t kOperandGuard = 64;       // bytes on both sides of each operand that are nobody's
constexpr uint8_t kOperandPattern = 0xa5;  // which they have

/// Whether launches start early (early_start.h), which writes to the operands for a while: false
/// where they lie in memory that cannot be written.
inline bool starts_early = true;

/// False when the GPU has no kernel for these arguments; that is counted, and printed when the
/// program ends. `order`: of the emulator's threads. `variant`: which of gpu_variants() variants;
/// -1: the model's, unasked.
bool run_on_gpu(OpCode op, const OpArguments& arguments, uint32_t order, Status* status,
                int variant = -1);

/// How many variants the GPU has to compute them; 0: none.
int gpu_variants(OpCode op, const OpArguments& arguments);

}  // namespace ingot::conformance
