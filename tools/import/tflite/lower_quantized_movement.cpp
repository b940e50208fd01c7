// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_movement.cpp - operators that move bytes and compare them,
// and leave them as they are: those of floating point serve.
#include <algorithm>
#include <cmath>
#include <set>

#include "tools/files/word_list.h"
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

bool as_it_is(Call& call) {
  // What has scales of channels is moved as numbers.
  for (size_t i = 0; i < call.input_count(); i++)
    if (call.has(i) && is_int8_type(call.tensor(i)) && !call.quant_params(i)) return false;
  call.row.translation.translate(call);
  return true;
}
/// The same of bytes of one type, whose scales LiteRT does not read.
bool moved_int8(Call& call) {
  std::optional<bool> is_signed;
  const auto meets = [&](const fb::Tensor& t, const std::optional<QuantParams>& params) {
    if (!is_int8_type(t)) return true;
    if (params && !is_signed) is_signed = params->is_signed;
    return params && *is_signed == params->is_signed;
  };
  for (size_t i = 0; i < call.input_count(); i++)
    if (call.has(i) && !meets(call.tensor(i), call.quant_params(i))) return false;
  for (size_t i = 0; i < call.output_count(); i++)
    if (!meets(call.output_tensor(i), call.output_quant_params(i))) return false;
  call.row.translation.translate(call);
  return true;
}

/// Parts of another scale are rescaled by a table: TFLite's own.
bool concatenate_int8(Call& call) {
  const auto y = call.output_quant_params(0);
  if (!y || call.integer("fused_activation_function") != 0) return false;
  const float inverse = 1.0f / y->scale;
  std::vector<ValueId> all;
  const int64_t axis = call.axis(call.integer("axis"), call.rank(0));
  for (size_t i = 0; i < call.input_count(); i++) {
    const auto x = call.quant_params(i);
    if (!x || x->is_signed != y->is_signed) return false;
    ValueId part = call.input(i);
    if (!(*x == *y)) {
      const float scale = x->scale * inverse, bias = -float(x->source_zero()) * scale;
      const Table table = table_of(*x, *y, [&](int32_t step) {
        const float steps = std::clamp(std::round(float(step) * scale + bias), -1e6f, 1e6f);
        return (std::isnan(steps) ? 0 : int32_t(steps)) + y->source_zero();
      });
      part = call.b.emit(
          op::Lookup,
          {part, call.b.constant(graph::make_constant(DType::kU8, {256}, table.data()))});
    }
    all.push_back(part);
  }
  call.give(call.b.emit(op::Concat, all, {{attr::axis, axis}}));
  return true;
}

/// The numbers of the bytes, not what they stand for.
bool cast_int8(Call& call) {
  const auto x = call.quant_params(0);
  if (!x || is_int8_type(call.output_tensor(0))) return false;
  const ValueId bytes = call.input(0);
  call.give(call.b.cast(x->is_signed ? call.b.emit(op::OffsetByte, {bytes}) : bytes,
                        call.output_dtype(0)));
  return true;
}

}  // namespace

bool ignores_scales(const std::string& name) {
  static const std::set<std::string> kNames = {
      "NEG",         "FLOOR_DIV",       "FLOOR_MOD", "FILL",       "ZEROS_LIKE",
      "MATRIX_DIAG", "MATRIX_SET_DIAG", "ONE_HOT",   "SCATTER_ND", "SPARSE_TO_DENSE"};
  return kNames.count(name) > 0;
}

const std::set<std::string>& moves_of_any_scale() {
  static const std::set<std::string> kNames = host::word_list(
      "RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE SLICE STRIDED_SLICE SPLIT SPLIT_V UNPACK TILE "
      "BROADCAST_TO GATHER GATHER_ND SPACE_TO_DEPTH DEPTH_TO_SPACE BATCH_TO_SPACE_ND "
      "REVERSE_V2 SHAPE REVERSE_SEQUENCE ARG_MAX ARG_MIN RANK EMBEDDING_LOOKUP MIRROR_PAD IF "
      "WHILE CALL STABLEHLO_COMPOSITE READ_VARIABLE ASSIGN_VARIABLE RESIZE_NEAREST_NEIGHBOR");
  return kNames;
}
const std::set<std::string>& moves_of_one_scale() {
  static const std::set<std::string> kNames = host::word_list(
      "PACK SELECT SELECT_V2 DYNAMIC_UPDATE_SLICE MAXIMUM MINIMUM PADV2 PAD SPACE_TO_BATCH_ND "
      "TOPK_V2 REDUCE_MAX REDUCE_MIN");
  return kNames;
}

void add_quantized_movement(QuantizedTable& table) {
  for (const std::string& name : moves_of_any_scale()) table[name] = as_it_is;
  for (const std::string& name : moves_of_one_scale()) table[name] = moved_int8;
  table["CONCATENATION"] = concatenate_int8;
  table["CAST"] = cast_int8;
}

}  // namespace ingot::tflite
