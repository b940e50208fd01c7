// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/cpu_kernels.h - which kernels this processor can run.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

/// The kernels of the named instruction set, or of the best one here when `isa` is null. Null when
/// that name is not built or cannot run on this processor. "scalar" always can. The table lives for
/// ever.
const KernelTable* cpu_kernels(const char* isa);

/// The naive kernels in double, isa "oracle": what the others are compared with. Never fast.
const KernelTable* oracle_kernels();

/// Names that cpu_kernels knows, best last, whether they can run here or not.
Span<const char* const> built_isas();

}  // namespace ingot
