// SPDX-License-Identifier: Apache-2.0
// tests/compile/interpreter.h - runs programs and files without the session: a program with a
// buffer for each value and the oracle's kernels, a file from its bytes with the plan, a poisoned
// arena and the kernels of a table.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

using Tensors = std::map<std::string, std::vector<uint8_t>>;  // by port name, dense bytes

/// Seeded f32 values in [-1, 1), zeros or small positive numbers for integers, for every input
/// port.
Tensors random_inputs(const LoweredProgram& lowered, const Bindings& bindings, uint32_t seed);

/// @pre nothing in the program is an alias: what lower() returns.
Tensors run_lowered(const LoweredProgram& lowered, const Bindings& bindings, const Tensors& inputs);

struct FileRun {
  Tensors outputs;
  uint64_t arena_bytes = 0;
  std::string error;  // "" when it ran
};
/// Opens, binds, plans with the runtime's planner (and checks the file's plan to be the same size),
/// checks the plan, runs.
FileRun run_file(const std::vector<uint8_t>& file, const Bindings& bindings, const Tensors& inputs,
                 const KernelTable& table);

/// Names of the rows of `table` that a file without symbols needs. @throws like needed_kernels(),
/// std::runtime_error
std::vector<std::string> kernels_of_file(const std::vector<uint8_t>& file,
                                         const KernelTable& table);

/// Largest |a - b| over largest |b|, both f32; 0 for equal bytes of other types, 1 for different
/// ones.
double difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, DType dtype);

}  // namespace ingot::convert
