// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/convert/bf16_weights.h"

#include "runtime/op/half_products.h"
#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {
namespace {

void allow(ReducedPrecision* precision) {
  if (*precision != ReducedPrecision::kExact) *precision = ReducedPrecision::kBf16;
}

/// As an instruction of a bf16 program has them once it is read.
Attributes in_bf16(Attributes attributes) {
  if (auto* const conv = std::get_if<Conv2dAttributes>(&attributes))
    allow(&conv->reduced_precision);
  if (auto* const linear = std::get_if<LinearAttributes>(&attributes))
    allow(&linear->reduced_precision);
  if (auto* const chain = std::get_if<ChainAttributes>(&attributes))
    for (Conv2dAttributes& stage : chain->stages) allow(&stage.reduced_precision);
  return attributes;
}

}  // namespace

std::vector<bool> find_bf16_weights(const ProgramSpec& program) {
  enum class Use : uint8_t { kNone, kRounded, kOther };
  std::vector<Use> uses(program.values.size(), Use::kNone);
  for (const SubprogramSpec& subprogram : program.subprograms)
    for (const InstructionSpec& instruction : subprogram.instructions) {
      const Attributes attributes = in_bf16(instruction.attributes);
      for (size_t k = 0; k < instruction.inputs.size(); k++) {
        if (instruction.inputs[k] < 0) continue;
        const ValueSpec& value = program.values[size_t(instruction.inputs[k])];
        if (value.kind != ValueKind::kConstant) continue;
        std::vector<int64_t> dims(value.dims.begin(), value.dims.end());
        dims.resize(kMaxRank);
        const bool rounds =
            value.packing == Packing::kPanels16 &&
            half_products::reads_bf16(instruction.op(), attribute_pointer(attributes), uint32_t(k),
                                      dims.data());
        Use& use = uses[size_t(instruction.inputs[k])];
        use = rounds && use != Use::kOther ? Use::kRounded : Use::kOther;
      }
    }
  std::vector<bool> found;
  for (const Use use : uses) found.push_back(use == Use::kRounded);
  return found;
}

}  // namespace ingot::convert
