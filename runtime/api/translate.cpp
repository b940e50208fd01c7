// SPDX-License-Identifier: Apache-2.0
// runtime/api/translate.cpp - errors, tensors, instructions.
#include "runtime/api/translate.h"

namespace ingot::api {

ingot_code report(const Status& status, const ErrorDetail& detail, ingot_error* error) {
  const ingot_code code = ingot_code(status.code());
  if (code == INGOT_OK || !error) return code;
  *error = {};
  error->code = code;
  error->instruction =
      detail.instruction != kNoInstruction ? detail.instruction : status.instruction();
  error->need = detail.need;
  error->have = detail.have;
  error->offset = detail.offset;
  error->operand = detail.operand;
  error->field = detail.field;
  error->hint = detail.hint;
  std::memcpy(error->name, detail.name, sizeof error->name);
  error->name[sizeof error->name - 1] = 0;
  return code;
}

ingot_code refuse_argument(const char* field, ingot_error* error, ingot_code code) {
  ErrorDetail detail;
  return report(fail(&detail, Code(code), field), detail, error);
}

ingot_code refuse_number(const char* field, uint64_t need, uint64_t have, ingot_error* error) {
  ErrorDetail detail;
  return report(fail(&detail, Code::kInvalidArgument, field, need, have), detail, error);
}

ingot_tensor tensor_of(const TensorView& view) {
  ingot_tensor tensor = {};
  tensor.data = view.data;
  tensor.dtype = ingot_dtype(view.dtype);
  if (!storage_bytes(view, &tensor.bytes)) tensor.bytes = 0;
  if (view.packing != Packing::kDense) {  // shown as its bytes
    tensor.dtype = INGOT_U8;
    tensor.rank = 1;
    tensor.dims[0] = tensor.row_stride = int64_t(tensor.bytes);
    return tensor;
  }
  tensor.rank = view.rank;
  for (int i = 0; i < view.rank; i++) tensor.dims[i] = view.dims[i];
  tensor.row_stride = view.row_stride;
  return tensor;
}

bool view_of(const ingot_tensor& tensor, TensorView* out) {
  *out = {};
  if (tensor.rank < 0 || tensor.rank > kMaxRank || tensor.dtype <= 0 || tensor.dtype > INGOT_BOOL)
    return false;
  out->data = tensor.data;
  out->dtype = DType(tensor.dtype);
  out->rank = uint8_t(tensor.rank);
  for (int i = 0; i < tensor.rank; i++) {
    if (tensor.dims[i] < 0 || tensor.dims[i] > INT32_MAX) return false;
    out->dims[i] = tensor.dims[i];
  }
  out->row_stride = tensor.row_stride ? tensor.row_stride : out->row_length();
  return true;
}

ingot_instruction instruction_of(const OpenModel& model, uint32_t index) {
  const ProgramDef& program = model.program;
  const InstructionDef& from = program.instructions[index];
  ingot_instruction to = {};
  to.op = op_name(from.op);
  to.name =
      from.output_count && from.outputs[0] >= 0 ? program.values[size_t(from.outputs[0])].name : "";
  to.kernel = "";
  to.subprogram = "";
  for (const SubprogramDef& subprogram : program.subprograms)
    if (index - subprogram.first_instruction < subprogram.instruction_count)
      to.subprogram = subprogram.name;
  to.source_nodes = from.sources;
  to.source_count = from.source_count;
  to.input_count = from.input_count;
  to.output_count = from.output_count;
  to.inputs = from.inputs;
  to.outputs = from.outputs;
  return to;
}

}  // namespace ingot::api
