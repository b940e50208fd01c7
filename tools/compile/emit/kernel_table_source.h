// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/kernel_table_source.h - the kernel table of a firmware that runs one model:
// C++ source with just the rows that its instructions need, so that the linker takes no other
// kernel and no other operator's rules.
#pragma once
#include <string>
#include <vector>

#include "runtime/format/format.h"

namespace ingot::convert {

/// Names of the rows of `table` that the instructions of a bound program take, in the table's
/// order, each once. @throws ConversionError(kUnsupported) naming the instructions that no row can
/// run.
std::vector<std::string> needed_kernels(const ProgramDef& program, const BoundProgram& bound,
                                        const KernelTable& table);

/// Source that defines `const KernelTable ingot::kModelKernels` and the C function
/// ingot_model_kernels(), from kernels/cpu of this instruction set ("scalar", "avx2", "avx512",
/// "neon"). Compile it with the repository's root as include folder and the flags that it names.
std::string kernel_table_source(const std::string& model, const std::string& isa,
                                const std::vector<std::string>& kernels);

}  // namespace ingot::convert
