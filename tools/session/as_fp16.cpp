// SPDX-License-Identifier: Apache-2.0
// tools/session/as_fp16.cpp - see as_fp16.h.
#include "tools/session/as_fp16.h"

#include "runtime/api/translate.h"
#include "runtime/device/gpu/kernel_set.h"
#include "runtime/format/validate.h"
#include "runtime/op/conv2d.h"
#include "tools/session/engine.h"

namespace ingot::cli {
namespace {

/// Plain panels instead of transformed ones. Weights of such a convolution have no other use:
/// nothing else reads that packing.
void undo_winograd(const ProgramDef& program, ValueDef* values) {
  for (const InstructionDef& instruction : program.instructions) {
    if (instruction.op != OpCode::kConv2d) continue;
    auto* attributes = static_cast<Conv2dAttributes*>(const_cast<void*>(instruction.attributes));
    if (attributes->method != ConvMethod::kWinogradF43) continue;
    attributes->method = ConvMethod::kDirect;
    ValueDef& weights = values[instruction.inputs[1]];
    TensorType type;
    weights.packing = Packing::kPanels16;
    if (make_type(weights, weights.dims, 0, &type))
      (void)storage_bytes(type, &weights.constant_bytes);
  }
}

}  // namespace

std::optional<Model> open_as_fp16(const std::string& path) {
  Model model = open_model(path);
  // What the reader decoded lies in this model's own memory.
  ProgramDef& program = const_cast<OpenModel*>(api::unwrap(model.get()))->program;
  if (program.precision == uint8_t(GpuPrecision::kFp16)) return std::nullopt;
  auto* values = const_cast<ValueDef*>(program.values.data);
  program.precision = uint8_t(GpuPrecision::kFp16);
  undo_winograd(program, values);
  return model;
}

}  // namespace ingot::cli
