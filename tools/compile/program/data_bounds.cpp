// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/program/data_bounds.h"

#include <optional>

namespace ingot::convert {
namespace {

constexpr uint64_t kLarge = uint64_t{256} << 20;

/// The symbols whose bounds decide the extents of an instruction's operands: each with its extent.
std::map<std::string, int64_t> deciding_symbols(const LoweredProgram& lowered,
                                                const LoweredInstruction& instruction,
                                                const Bindings& bindings) {
  std::map<std::string, int64_t> found;
  std::vector<SymbolicDim> open = instruction.extents;
  for (const auto* ids : {&instruction.inputs, &instruction.outputs})
    for (const int32_t id : *ids)
      if (id >= 0) open.insert(open.end(), lowered.at(id).dims.begin(), lowered.at(id).dims.end());
  while (!open.empty()) {
    const SymbolicDim dim = std::move(open.back());
    open.pop_back();
    for (const std::string& name : dim.symbols()) {
      const auto by_data = lowered.data_dependent.find(name);
      if (by_data != lowered.data_dependent.end() && !by_data->second.bound.is_static()) {
        open.push_back(by_data->second.bound);
        continue;
      }
      const auto extent = bindings.find(name);
      if (extent != bindings.end()) found.insert(*extent);
    }
  }
  return found;
}

/// An extent of a result that no tensor has, and of which node; nothing where there is none.
std::optional<graph::Unsupported> impossible_extent(const LoweredProgram& lowered,
                                                    const LoweredInstruction& instruction,
                                                    const Bindings& bindings) {
  for (const int32_t id : instruction.outputs) {
    if (id < 0) continue;
    for (size_t i = 0; i < lowered.at(id).dims.size(); i++) {
      const SymbolicDim& dim = lowered.at(id).dims[i];
      std::string found;
      try {
        const int64_t extent = dim.evaluate(bindings);
        if (is_extent(extent)) continue;
        found = std::to_string(extent);
      } catch (const graph::DimError& error) {
        found = error.what();
      }
      std::string hint = how_to_bound(lowered, instruction, bindings), open;
      for (const auto& [name, extent] : deciding_symbols(lowered, instruction, bindings))
        open += (open.empty() ? "" : ", ") + name + "=" + std::to_string(extent);
      if (hint.empty() && !open.empty()) hint = "bind its symbols with --dim";
      return graph::Unsupported{op_name(instruction.op()),
                                "",
                                instruction.node,
                                lowered.at(id).name,
                                "dimension " + std::to_string(i) + " of its result" +
                                    (dim.is_static() ? "" : ", " + dim.text() + ",") + " is " +
                                    found + (open.empty() ? "" : " (with " + open + ")") +
                                    ", expected 0.." + std::to_string(INT32_MAX),
                                hint};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string how_to_bound(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                         const Bindings& bindings) {
  std::string planned, options;
  for (const auto& [name, extent] : deciding_symbols(lowered, instruction, bindings)) {
    if (!lowered.data_dependent.count(name)) continue;
    planned += (planned.empty() ? "" : ", ") + name + "=" + std::to_string(extent);
    options += " --dim '" + name + "=1..HIGH'";
  }
  if (planned.empty()) return "";
  return "only a run tells " + planned + ", for which memory is planned: plan for less," + options +
         ", or a lower --max-elements";
}

void check_extents(const LoweredProgram& lowered, const Bindings& bindings) {
  for (const LoweredSubprogram& subprogram : lowered.subprograms)
    for (const LoweredInstruction& instruction : subprogram.instructions)
      if (auto found = impossible_extent(lowered, instruction, bindings)) {
        graph::ConversionError error;
        error.exit_code = host::Exit::kMismatch;
        error.message = "an extent is beyond what a tensor has";
        error.unsupported.push_back(std::move(*found));
        throw error;
      }
}

std::string large_by_bounds(const LoweredProgram& lowered) {
  const Bindings bindings = typical_binding(lowered);
  uint64_t most = kLarge - 1;
  std::string said;
  for (const LoweredSubprogram& subprogram : lowered.subprograms)
    for (const LoweredInstruction& instruction : subprogram.instructions)
      for (const int32_t id : instruction.outputs) {
        uint64_t bytes = 0;
        if (id < 0 || !is_data_dependent(lowered, id) ||
            !storage_bytes(evaluate_type(lowered.at(id), bindings), &bytes) || bytes <= most)
          continue;
        const std::string how = how_to_bound(lowered, instruction, bindings);
        if (how.empty()) continue;
        most = bytes;
        said = "'" + lowered.at(id).name + "' " + dims_text(lowered.at(id).dims) + " takes " +
               std::to_string(bytes >> 20) + " MB at the bounds of its sizes: " + how;
      }
  return said;
}

}  // namespace ingot::convert
