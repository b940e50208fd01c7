// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/translate_quantized.cpp - which arithmetic an operator has by its quantized
// tensors: whole numbers, where there are operators for it; else floating point between a
// Dequantize and a Quantize, which a note of the model says, or of int16 a refusal.
#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/call.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {
namespace {

constexpr int kDequantize = 6, kLstm = 16, kReshape = 22, kSoftmax = 25, kSvdf = 27,
              kCustomOperator = 32, kSqueeze = 43, kSequenceLstm = 44, kCast = 53, kExpandDims = 70,
              kShape = 77, kQuantize = 114, kRfft2d = 131, kImag = 133, kReal = 134,
              kComplexAbs = 135;

/// What complex numbers go through as tensors with a last dimension of two more.
bool takes_complex(int code) {
  return code == kReshape || code == kSqueeze || code == kExpandDims || code == kShape ||
         code == kCast || code == kReal || code == kImag || code == kComplexAbs;
}
bool gives_complex(int code) {
  return code == kRfft2d || code == kReshape || code == kSqueeze || code == kExpandDims;
}

/// "CONV_2D*2, MEAN*1"
std::string listed(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + name + "*" + std::to_string(count);
  return text;
}

}  // namespace

bool Translator::refuse_tensors(const Scope& scope, const fb::Operator& op, const std::string& name,
                                const std::string& node) {
  bool gives_floats = true;
  for (uint32_t i = 0; op.outputs() && i < op.outputs()->size(); i++)
    if (op.outputs()->Get(i) >= 0)
      gives_floats &= graph::is_floating(
          ModelFile::dtype(file_->tensor(*scope.graph, op.outputs()->Get(i)).type()));
  const auto why = [&](const fb::Tensor& t, bool made) -> std::string {
    const bool is_constant = !made && file_->bytes(t).is_there;
    const std::string type = ModelFile::type_name(t.type());
    // Some operators of int8 know what stands beside it.
    const int code = file_->kind(op).code;
    const bool is_short = t.type() == fb::TensorType::int16,
               is_wide = is_short || t.type() == fb::TensorType::int32;
    const bool from_bytes = op.inputs() && op.inputs()->size() > 0 && op.inputs()->Get(0) >= 0 &&
                            is_int8_type(file_->tensor(*scope.graph, op.inputs()->Get(0)));
    if (is_short && (code == kLstm || code == kSequenceLstm || code == kSvdf) && t.is_variable() &&
        from_bytes)
      return "";
    if (is_short && code == kSoftmax && made && from_bytes) return "";
    if (is_wide && code == kQuantize && wide_quant_params_of(*file_, t)) return "";
    if (is_short && code == kSvdf && is_constant && from_bytes) return "";
    if (is_short && int16_quant_params_of(*file_, t) &&
        (int16_table().count(name) || ignores_scales(name)))
      return "";
    if (t.type() == fb::TensorType::complex64 && (made ? gives_complex(code) : takes_complex(code)))
      return "";
    if (t.type() == fb::TensorType::resource || t.type() == fb::TensorType::variant) return "";
    if (!ModelFile::is_quantized(t))
      return ModelFile::dtype(t.type()) == DType::kInvalid ? "works on tensors of type " + type
                                                           : "";
    if (file_->quantization(t).is_blockwise && (!is_constant || !gives_floats))
      return "has " + type + " weights quantized by blocks beside integers";
    if (is_int8_type(t))
      return is_constant || quant_params_of(*file_, t)
                 ? ""
                 : "computes on " + type + " with many scales";
    if (is_constant && (is_int4_type(t) || ModelFile::dtype(t.type()) != DType::kInvalid))
      return "";
    return is_constant ? "has " + type + " weights with a scale" : "computes on quantized " + type;
  };
  const auto refuses = [&](const flatbuffers::Vector<int32_t>* list, bool made) {
    for (uint32_t i = 0; list && i < list->size(); i++) {
      if (list->Get(i) < 0) continue;
      const fb::Tensor& t = file_->tensor(*scope.graph, list->Get(i));
      const std::string text = why(t, made);
      if (text.empty()) continue;
      refused(name, "", node, text,
              ModelFile::is_quantized(t)
                  ? "arithmetic of this type is not supported yet: convert the float model"
                  : "");
      return true;
    }
    return false;
  };
  return refuses(op.outputs(), true) || refuses(op.inputs(), false);
}

/// What it computes on or gives is int16 that stands for numbers.
bool Translator::reads_int16(const Scope& scope, const fb::Operator& op) const {
  for (const auto* list : {op.outputs(), op.inputs()})
    for (uint32_t i = 0; list && i < list->size(); i++) {
      if (list->Get(i) < 0) continue;
      const fb::Tensor& t = file_->tensor(*scope.graph, list->Get(i));
      if (is_int16_type(t) && (list == op.outputs() || !file_->bytes(t).is_there)) return true;
    }
  return false;
}

Translator::Arithmetic Translator::arithmetic_of(const Scope& scope, const fb::Operator& op) const {
  const bool from_constants = file_->kind(op).code == kDequantize;
  bool has_weights = false, has_int8 = false, has_int16 = false, gives_floats = false;
  for (const auto* list : {op.outputs(), op.inputs()})
    for (uint32_t i = 0; list && i < list->size(); i++) {
      if (list->Get(i) < 0) continue;
      const fb::Tensor& t = file_->tensor(*scope.graph, list->Get(i));
      gives_floats |= list == op.outputs() && graph::is_floating(ModelFile::dtype(t.type()));
      if (!ModelFile::is_quantized(t)) continue;
      const bool is_constant = list == op.inputs() && file_->bytes(t).is_there;
      if (!is_constant && is_int8_type(t)) return Arithmetic::kBytes;
      if (!is_constant && is_int16_type(t)) {
        has_int16 = true;
        continue;
      }
      if (file_->kind(op).code == kQuantize && wide_quant_params_of(*file_, t))
        return Arithmetic::kBytes;
      has_int8 |= is_int8_type(t);
      has_weights |= is_constant && (is_int8_type(t) || is_int4_type(t) || from_constants);
    }
  if (has_int16) return Arithmetic::kInt16;
  if (has_weights && gives_floats) return Arithmetic::kFloatsOfWeights;
  return has_int8 ? Arithmetic::kBytes : Arithmetic::kPlain;
}

/// LiteRT computes on the integers as they are, and what is quantized has one scale.
bool Translator::computes_on_integers(const Scope& scope, const fb::Operator& op,
                                      const OperatorRow& row) const {
  if (!ignores_scales(row.name)) return false;
  for (const auto* list : {op.outputs(), op.inputs()})
    for (uint32_t i = 0; list && i < list->size(); i++) {
      if (list->Get(i) < 0) continue;
      const fb::Tensor& t = file_->tensor(*scope.graph, list->Get(i));
      if (ModelFile::is_quantized(t) && !quant_params_of(*file_, t) &&
          !int16_quant_params_of(*file_, t))
        return false;
    }
  return true;
}

std::vector<Slot> Translator::translate_call(Scope& scope, const fb::Operator& op,
                                             const OperatorRow& row,
                                             const graph::SourceNode& source) {
  const size_t outputs = op.outputs() ? op.outputs()->size() : 0;
  const auto open = [&](Call::Reads reads) {
    Call call(*this, scope, op, row,
              file_->options(op, row.options ? find_options(row.options, row.second) : nullptr),
              reads);
    call.source = source;
    call.expect_inputs(row.translation.fewest, row.translation.most);
    return call;
  };
  const auto finish = [&](Call& call) {
    call.refuse_unread();
    if (call.outputs.size() != outputs)
      call.corrupt("has " + std::to_string(outputs) + " outputs, expected " +
                   std::to_string(call.outputs.size()));
    return call.outputs;
  };
  const Arithmetic arithmetic = arithmetic_of(scope, op);
  on_bytes_ += arithmetic == Arithmetic::kBytes || arithmetic == Arithmetic::kInt16;
  const int code = file_->kind(op).code;
  const auto bytes = quantized_table().find(row.name);
  if (arithmetic == Arithmetic::kBytes && bytes != quantized_table().end()) {
    Call call = open(Call::Reads::kBytes);
    if (bytes->second(call)) return finish(call);
  }
  if (arithmetic == Arithmetic::kInt16) {
    Call call = open(Call::Reads::kBytes);
    const auto words = int16_table().find(row.name);
    if (words != int16_table().end() && words->second(call)) return finish(call);
  }
  if (computes_on_integers(scope, op, row)) {
    Call call = open(Call::Reads::kIntegers);
    row.translation.translate(call);
    std::vector<Slot> made = finish(call);
    for (uint32_t i = 0; i < outputs; i++)
      if (const auto params = quant_params_of(*file_, call.output_tensor(i));
          params && params->is_signed)
        made[i].id = net.b.emit(op::OffsetByte, {made[i].id});
    return made;
  }
  if (reads_int16(scope, op))  // there is no way over floats for it
    throw layers::Refused{"", "computes on int16 in a way that is not supported",
                          "convert the float model, or quantize it to int8"};
  const bool in_bytes = arithmetic == Arithmetic::kPlain;
  Call call = open(in_bytes ? Call::Reads::kBytes : Call::Reads::kFloats);
  row.translation.translate(call);
  std::vector<Slot> made = finish(call);
  if (arithmetic == Arithmetic::kPlain) return made;
  for (uint32_t i = 0; i < outputs; i++)
    if (const auto params = quant_params_of(*file_, call.output_tensor(i));
        params && made[i].id != kAbsent)
      made[i].id = quantized(made[i].id, *params);
  on_bytes_ += call.on_bytes;
  if (arithmetic == Arithmetic::kFloatsOfWeights && code != kDequantize && !call.on_bytes)
    with_float_weights_[row.name]++;
  if (arithmetic == Arithmetic::kBytes && code != kDequantize && code != kQuantize &&
      code != kCustomOperator)  // whose integers are numbers in TFLite too
    in_floats_[row.name]++;
  return made;
}

ValueId Translator::read_floats(Scope& scope, int64_t index) {
  const fb::Tensor& t = file_->tensor(*scope.graph, index);
  if (!ModelFile::is_quantized(t)) return read(scope, index);
  if (file_->bytes(t).is_there) {
    const auto key = std::make_pair(scope.index, index);
    const auto known = floats_.find(key);
    if (known != floats_.end()) return known->second;
    const std::string name = ModelFile::name(t, size_t(index));
    const std::vector<float> values = file_->quantization(t).is_blockwise
                                          ? read_blocks(*file_, *scope.graph, t, name)
                                          : read_dequantized(*file_, t, name);
    net.model.allow_folding(int64_t(values.size()));
    return floats_[key] = net.model.add_constant(
               name, graph::make_constant(DType::kF32, ModelFile::shape(t), values.data()));
  }
  const ValueId x = read(scope, index);
  const auto params = quant_params_of(*file_, t);
  return x == kAbsent || !params ? x : dequantized(x, *params);
}

ValueId Translator::read_integers(Scope& scope, int64_t index) {
  const ValueId x = read(scope, index);
  const auto params = quant_params_of(*file_, file_->tensor(*scope.graph, index));
  return x == kAbsent || !params || !params->is_signed ? x : net.b.emit(op::OffsetByte, {x});
}

ValueId Translator::dequantized(ValueId x, const QuantParams& params) {
  return net.b.emit(
      op::Dequantize, {x},
      {{attr::scale, double(params.scale)}, {attr::zero_point, int64_t(params.zero)}});
}
/// By the reciprocal of the scale, ties to even; TFLite Micro divides, and ties go away from zero.
ValueId Translator::quantized(ValueId x, const QuantParams& params) {
  const bool micro = exact_to() == importer::ExactTo::kTflm;
  return net.b.emit(op::Quantize, {net.b.cast(x, DType::kF32)},
                    {{attr::scale, double(params.scale)},
                     {attr::zero_point, int64_t(params.zero)},
                     {attr::rounding, std::string(micro ? "away" : "even")},
                     {attr::reciprocal, int64_t(!micro)},
                     {attr::to, int64_t(DType::kU8)}});
}

void Translator::check_exact_to() const {
  if (options_.exact_to == importer::ExactTo::kDefault || on_bytes_ > 0) return;
  graph::fail_mismatch(path_, std::string("--exact-to ") +
                                  importer::exact_to_name(options_.exact_to) +
                                  ": the model computes nothing in integers");
}

void Translator::note_arithmetic() {
  if (!in_floats_.empty())
    net.b.note(
        "computed in float32 between dequantization and quantization, where LiteRT computes "
        "in integers: " +
        listed(in_floats_));
  if (!with_float_weights_.empty())
    net.b.note("integer weights as float32: " + listed(with_float_weights_));
}

}  // namespace ingot::tflite
