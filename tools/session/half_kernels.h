// SPDX-License-Identifier: Apache-2.0
// tools/session/half_kernels.h - which halves the kernels of a CPU multiply, and the same kernels
// without them.
#pragma once
#include <cstdint>

#include "runtime/include/ingot/ingot.h"
#include "runtime/op/contract.h"

namespace ingot::cli {

/// What operands of a program of that precision (GpuPrecision) are rounded to; kInvalid: they are
/// not. `table` may be null.
DType product_type(uint8_t precision, const KernelTable* table);

/// The table itself, or where it multiplies halves the one whose products are all f32.
const ingot_kernel_table* without_halves(const ingot_kernel_table* table);

}  // namespace ingot::cli
