// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/write/program_encoder.h"

#include "ingot_schema/golden_generated.h"
#include "ingot_schema/metadata_generated.h"
#include "tools/compile/write/encode_attributes.h"
#include "tools/compile/write/storage.h"
#include "tools/graph/graph.h"

namespace ingot::convert {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offsets = std::vector<flatbuffers::Offset<T>>;

flatbuffers::Offset<flatbuffers::String> text(Builder& b, const std::string& s) {
  return s.empty() ? 0 : b.CreateString(s);
}
flatbuffers::Offset<flatbuffers::Vector<int64_t>> numbers(Builder& b,
                                                          const std::vector<int64_t>& n) {
  return n.empty() ? 0 : b.CreateVector(n);
}
std::vector<uint8_t> take(const Builder& b) {
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> aligned_bytes(Builder& b,
                                                                const std::vector<uint8_t>& bytes) {
  b.ForceVectorAlignment(bytes.size(), 1, 16);
  return b.CreateVector(bytes);
}

flatbuffers::Offset<fb::Value> encode_value(Builder& b, const ValueSpec& v,
                                            const ConstantPlace& place) {
  const auto name = text(b, v.name);
  const auto dims = numbers(b, v.dims);
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> data;
  if (v.inline_data) data = aligned_bytes(b, *produce_constant(v));
  fb::ValueBuilder to(b);
  to.add_name(name);
  to.add_dims(dims);
  to.add_dtype(fb::DType(uint8_t(v.dtype)));
  to.add_packing(fb::Packing(uint8_t(v.packing)));
  to.add_kind(fb::ValueKind(uint8_t(v.kind)));
  to.add_alias(fb::AliasKind(uint8_t(v.alias)));
  to.add_alias_of(v.alias_of);
  to.add_alias_offset(v.alias_offset);
  to.add_row_stride(v.row_stride);
  to.add_source_dtype(fb::DType(uint8_t(v.source_dtype)));
  to.add_inline_data(data);
  to.add_stored(fb::DType(uint8_t(v.stored)));
  if (v.kind == ValueKind::kConstant && !v.inline_data) {
    b.ForceDefaults(true);  // present whatever the numbers are: the size must not depend on them
    to.add_segment(v.segment);
    to.add_segment_offset(place.segment_offset);
    b.ForceDefaults(false);
  }
  return to.Finish();
}

flatbuffers::Offset<fb::Instruction> encode_instruction(Builder& b, const InstructionSpec& i) {
  const auto attributes = encode_attributes(b, i.attributes);
  const auto inputs = b.CreateVector(i.inputs);
  const auto outputs = b.CreateVector(i.outputs);
  const auto sources = i.sources.empty() ? 0 : b.CreateVector(i.sources);
  return fb::CreateInstruction(b, fb::Attributes(uint8_t(i.op())), attributes, i.version, inputs,
                               outputs, sources);
}

Offsets<fb::Port> encode_ports(Builder& b, const std::vector<PortSpec>& ports) {
  Offsets<fb::Port> offsets;
  for (const PortSpec& port : ports) {
    std::string dims;
    for (size_t i = 0; i < port.source_dims.size(); i++)
      dims += (i ? "," : "") + port.source_dims[i];
    const auto name = b.CreateString(port.name);
    const auto layout = text(b, port.layout);
    offsets.push_back(fb::CreatePort(b, name, port.value, layout, text(b, dims)));
  }
  return offsets;
}

flatbuffers::Offset<fb::Plan> encode_plan(Builder& b, const std::optional<PlanSpec>& plan) {
  if (!plan) return 0;
  return fb::CreatePlan(b, b.CreateVector(plan->offsets), plan->bytes, plan->lower_bound);
}

Offsets<fb::GoldenTensor> encode_tensors(Builder& b, const std::vector<GoldenTensorSpec>& tensors) {
  Offsets<fb::GoldenTensor> offsets;
  for (const GoldenTensorSpec& t : tensors) {
    const auto name = b.CreateString(t.name);
    const auto dims = numbers(b, t.dims);
    offsets.push_back(
        fb::CreateGoldenTensor(b, name, uint8_t(t.dtype), dims, aligned_bytes(b, t.data)));
  }
  return offsets;
}

}  // namespace

uint64_t constant_bytes(const ValueSpec& value) {
  TensorType type;
  type.dtype = value.dtype;
  type.packing = value.packing;
  type.rank = uint8_t(value.dims.size());
  uint64_t bytes = 0;
  bool sound = value.dims.size() <= size_t(kMaxRank);
  for (size_t i = 0; sound && i < value.dims.size(); i++) type.dims[i] = value.dims[i];
  type.row_stride = type.row_length();
  if (!sound || !storage_bytes(type, &bytes))
    graph::fail_internal("constant '" + value.name + "': its dimensions do not fit its packing");
  return bytes;
}

namespace {

std::shared_ptr<const std::vector<uint8_t>> make_constant(const ValueSpec& value) {
  std::shared_ptr<const std::vector<uint8_t>> bytes = value.bytes.held;
  if (!bytes)
    bytes = std::make_shared<const std::vector<uint8_t>>(value.bytes.make ? value.bytes.make()
                                                                          : std::vector<uint8_t>());
  if (bytes->size() != constant_bytes(value))
    graph::fail_internal("constant '" + value.name + "': its type needs " +
                         std::to_string(constant_bytes(value)) + " bytes, " +
                         std::to_string(bytes->size()) + " were made");
  return bytes;
}

}  // namespace

std::shared_ptr<const std::vector<uint8_t>> store_constant(const ValueSpec& value) {
  auto bytes = make_constant(value);
  if (value.stored == DType::kInvalid) return bytes;
  return std::make_shared<const std::vector<uint8_t>>(narrow_floats(value.stored, *bytes));
}

std::shared_ptr<const std::vector<uint8_t>> produce_constant(const ValueSpec& value) {
  auto bytes = store_constant(value);
  if (value.stored == DType::kInvalid) return bytes;
  return std::make_shared<const std::vector<uint8_t>>(
      widen_halves(value.stored, bytes->data(), bytes->size()));
}

std::vector<uint8_t> encode_program(const ProgramSpec& spec,
                                    const std::vector<ConstantPlace>& places) {
  Builder b(1 << 16);
  std::vector<flatbuffers::Offset<flatbuffers::String>> features;
  for (const std::string& feature : spec.required_features)
    features.push_back(b.CreateString(feature));
  Offsets<fb::Symbol> symbols;
  for (const SymbolSpec& s : spec.symbols)
    symbols.push_back(
        fb::CreateSymbol(b, b.CreateString(s.name), s.low, s.high, s.resolved_by, s.bound));
  std::vector<fb::DimExpr> dim_exprs;
  for (const DimExpr& e : spec.dim_exprs)
    dim_exprs.emplace_back(fb::DimOp(uint8_t(e.op)), e.a, e.b);
  Offsets<fb::Value> values;
  for (size_t i = 0; i < spec.values.size(); i++)
    values.push_back(encode_value(b, spec.values[i], places.empty() ? ConstantPlace() : places[i]));
  Offsets<fb::Subprogram> subprograms;
  for (const SubprogramSpec& s : spec.subprograms) {
    Offsets<fb::Instruction> instructions;
    for (const InstructionSpec& i : s.instructions)
      instructions.push_back(encode_instruction(b, i));
    const auto name = text(b, s.name);
    subprograms.push_back(fb::CreateSubprogram(b, name, b.CreateVector(instructions)));
  }
  const auto inputs = b.CreateVector(encode_ports(b, spec.inputs));
  const auto outputs = b.CreateVector(encode_ports(b, spec.outputs));
  Offsets<fb::StateVariable> states;
  for (const StateSpec& s : spec.states)
    states.push_back(fb::CreateStateVariable(b, text(b, s.name), s.value, s.init, s.input, s.output,
                                             text(b, s.output_name)));
  const auto plan = encode_plan(b, spec.plan);
  const auto feature_list = features.empty() ? 0 : b.CreateVector(features);
  const auto symbol_list = symbols.empty() ? 0 : b.CreateVector(symbols);
  const auto expr_list = dim_exprs.empty() ? 0 : b.CreateVectorOfStructs(dim_exprs);
  const auto value_list = b.CreateVector(values);
  const auto subprogram_list = b.CreateVector(subprograms);
  const auto state_list = states.empty() ? 0 : b.CreateVector(states);
  fb::FinishProgramBuffer(b, fb::CreateProgram(b, feature_list, symbol_list, expr_list, value_list,
                                               subprogram_list, inputs, outputs, state_list, plan,
                                               spec.alignment, fb::Precision(spec.precision)));
  return take(b);
}

std::vector<uint8_t> encode_metadata(const MetadataSpec& m) {
  Builder b;
  Offsets<fb::SourceNode> nodes;
  for (const SourceNodeSpec& n : m.source_nodes) {
    const auto name = text(b, n.name), op = text(b, n.op), output = text(b, n.output);
    nodes.push_back(fb::CreateSourceNode(b, name, op, output));
  }
  Offsets<fb::SourceTensor> tensors;
  for (const SourceTensorSpec& t : m.source_tensors) {
    const auto name = text(b, t.name), dtype = text(b, t.dtype), device = text(b, t.device);
    tensors.push_back(fb::CreateSourceTensor(b, name, t.value, dtype, numbers(b, t.dims), device));
  }
  Offsets<fb::SourceWeight> weights;
  for (const SourceWeightSpec& w : m.weights) {
    const auto path = b.CreateVectorOfStrings(w.path);
    const auto dtype = text(b, w.dtype), device = text(b, w.device), lost = text(b, w.lost);
    const auto dims = numbers(b, w.dims), view = w.view.empty() ? 0 : numbers(b, w.view);
    const auto strides = w.strides.empty() ? 0 : numbers(b, w.strides);
    const auto data = w.data.empty() ? 0 : b.CreateVector(w.data);
    weights.push_back(fb::CreateSourceWeight(b, path, dtype, dims, device, w.parameter, w.value,
                                             view, strides, w.offset, data, lost));
  }
  Offsets<fb::PassRecord> passes;
  for (const PassSpec& p : m.passes) {
    const auto name = text(b, p.name), note = text(b, p.note);
    passes.push_back(fb::CreatePassRecord(b, name, p.changed, note));
  }
  Offsets<fb::KeyValue> entries;
  for (const auto& [key, value] : m.entries) {
    const auto key_text = b.CreateString(key), value_text = b.CreateString(value);
    entries.push_back(fb::CreateKeyValue(b, key_text, value_text));
  }
  const auto name = text(b, m.name), version = text(b, m.version), licence = text(b, m.licence),
             producer = text(b, m.producer);
  const auto file = text(b, m.source_file), hash = text(b, m.source_sha256),
             format = text(b, m.source_format);
  const auto source_producer = text(b, m.source_producer);
  const auto node_list = b.CreateVector(nodes);
  const auto tensor_list = b.CreateVector(tensors);
  const auto pass_list = b.CreateVector(passes);
  const auto entry_list = b.CreateVector(entries);
  const auto label_list = b.CreateVectorOfStrings(m.labels);
  const auto note_list = b.CreateVectorOfStrings(m.notes);
  const auto weight_list = weights.empty() ? 0 : b.CreateVector(weights);
  fb::FinishMetadataBuffer(
      b, fb::CreateMetadata(b, name, version, licence, producer, file, hash, format,
                            source_producer, node_list, tensor_list, pass_list, entry_list,
                            label_list, note_list, weight_list));
  return take(b);
}

std::vector<uint8_t> encode_golden(const std::vector<GoldenCaseSpec>& cases) {
  Builder b;
  Offsets<fb::GoldenCase> offsets;
  for (const GoldenCaseSpec& c : cases) {
    const auto inputs = b.CreateVector(encode_tensors(b, c.inputs));
    const auto outputs = b.CreateVector(encode_tensors(b, c.outputs));
    offsets.push_back(fb::CreateGoldenCase(b, inputs, outputs, c.rtol, c.atol));
  }
  fb::FinishGoldenBuffer(b, fb::CreateGolden(b, b.CreateVector(offsets)));
  return take(b);
}

}  // namespace ingot::convert
