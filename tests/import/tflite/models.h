// SPDX-License-Identifier: Apache-2.0
// tests/import/tflite/models.h - small TFLite models made here, with our own schema.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tflite_generated.h"

namespace ingot::test {

namespace lite = tflite::fb;

struct TensorGiven {
  std::string name;
  lite::TensorType type = lite::TensorType::float32;
  std::vector<int32_t> shape;
  std::string bytes;  // of a constant
  std::vector<int32_t> signature = {};
  std::vector<float> scales = {};
  std::vector<int64_t> zeros = {};
  int32_t axis = 0;
  bool variable = false;
  bool outside = false;  // bytes behind the tables, as in files beyond 2 GiB
};
struct OperatorGiven {
  int code = 0;
  std::vector<int32_t> inputs, outputs;
  int options = 0;                     // kind; 0: none
  std::map<int, int32_t> fields = {};  // 4-byte fields by number
  std::map<int, int8_t> bytes = {};    // 1-byte fields by number
  std::string custom = {}, custom_options = {};
  int version = 1;
  bool second = false;  // its options are of the second union
};
struct GraphGiven {
  std::vector<TensorGiven> tensors;
  std::vector<OperatorGiven> operators;
  std::vector<int32_t> inputs, outputs;
};
struct SignatureGiven {
  std::string name;
  uint32_t subgraph = 0;
  std::vector<std::pair<std::string, uint32_t>> inputs, outputs;
};

inline flatbuffers::Offset<lite::Opaque> options_table(flatbuffers::FlatBufferBuilder& b,
                                                       const OperatorGiven& op) {
  const auto start = b.StartTable();
  // as AddElement() without a default, which flatbuffers 2.0 lacks
  for (const auto& [number, value] : op.fields)
    b.TrackField(flatbuffers::voffset_t(4 + 2 * number), b.PushElement<int32_t>(value));
  for (const auto& [number, value] : op.bytes)
    b.TrackField(flatbuffers::voffset_t(4 + 2 * number), b.PushElement<int8_t>(value));
  return flatbuffers::Offset<lite::Opaque>(b.EndTable(start));
}

inline flatbuffers::Offset<flatbuffers::Vector<uint8_t>> bytes_of(flatbuffers::FlatBufferBuilder& b,
                                                                  const std::string& bytes) {
  if (bytes.empty()) return 0;
  return b.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

/// The tables, where those end at `tables`; what lies behind them goes to `behind`.
inline std::string model_tables(const std::vector<GraphGiven>& graphs,
                                const std::vector<SignatureGiven>& signatures, uint32_t version,
                                size_t tables, std::string* behind) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<lite::Buffer>> buffers = {lite::CreateBuffer(b)};
  std::vector<flatbuffers::Offset<lite::OperatorCode>> codes;
  std::vector<flatbuffers::Offset<lite::SubGraph>> made;
  for (const GraphGiven& graph : graphs) {
    std::vector<flatbuffers::Offset<lite::Tensor>> tensors;
    for (const TensorGiven& t : graph.tensors) {
      uint32_t buffer = 0;
      if (t.outside) {
        buffer = uint32_t(buffers.size());
        buffers.push_back(lite::CreateBuffer(b, 0, tables + behind->size() + 2, t.bytes.size()));
        *behind += t.bytes;
      } else if (!t.bytes.empty()) {
        buffer = uint32_t(buffers.size());
        b.ForceVectorAlignment(t.bytes.size(), 1, 16);
        buffers.push_back(lite::CreateBuffer(
            b, b.CreateVector(reinterpret_cast<const uint8_t*>(t.bytes.data()), t.bytes.size())));
      }
      flatbuffers::Offset<lite::Quantization> quantization;
      if (!t.scales.empty())
        quantization =
            lite::CreateQuantization(b, 0, 0, b.CreateVector(t.scales), b.CreateVector(t.zeros),
                                     lite::QuantizationDetails::NONE, 0, t.axis);
      const auto signature = t.signature.empty() ? 0 : b.CreateVector(t.signature);
      tensors.push_back(lite::CreateTensor(b, b.CreateVector(t.shape), t.type, buffer,
                                           b.CreateString(t.name), quantization, t.variable, 0,
                                           signature));
    }
    std::vector<flatbuffers::Offset<lite::Operator>> operators;
    for (const OperatorGiven& op : graph.operators) {
      codes.push_back(lite::CreateOperatorCode(b, int8_t(std::min(op.code, 127)),
                                               op.custom.empty() ? 0 : b.CreateString(op.custom),
                                               op.version, op.code));
      const auto options = op.options ? options_table(b, op) : 0;
      operators.push_back(
          lite::CreateOperator(b, uint32_t(codes.size() - 1), b.CreateVector(op.inputs),
                               b.CreateVector(op.outputs), op.second ? 0 : uint8_t(op.options),
                               op.second ? 0 : options, bytes_of(b, op.custom_options), 0, 0, 0, 0,
                               0, op.second ? uint8_t(op.options) : 0, op.second ? options : 0));
    }
    made.push_back(lite::CreateSubGraph(b, b.CreateVector(tensors), b.CreateVector(graph.inputs),
                                        b.CreateVector(graph.outputs), b.CreateVector(operators),
                                        b.CreateString("main")));
  }
  std::vector<flatbuffers::Offset<lite::Signature>> entries;
  for (const SignatureGiven& s : signatures) {
    const auto ports = [&](const std::vector<std::pair<std::string, uint32_t>>& list) {
      std::vector<flatbuffers::Offset<lite::TensorMap>> all;
      for (const auto& [name, tensor] : list)
        all.push_back(lite::CreateTensorMap(b, b.CreateString(name), tensor));
      return b.CreateVector(all);
    };
    const auto inputs = ports(s.inputs), outputs = ports(s.outputs);
    entries.push_back(
        lite::CreateSignature(b, inputs, outputs, b.CreateString(s.name), s.subgraph));
  }
  const auto all_codes = b.CreateVector(codes);
  const auto all_graphs = b.CreateVector(made);
  const auto all_buffers = b.CreateVector(buffers);
  const auto all_entries = b.CreateVector(entries);
  b.Finish(lite::CreateModel(b, version, all_codes, all_graphs, b.CreateString("made here"),
                             all_buffers, 0, 0, all_entries),
           "TFL3");
  return std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
}

inline std::string model_file(const std::vector<GraphGiven>& graphs,
                              const std::vector<SignatureGiven>& signatures = {},
                              uint32_t version = 3) {
  // Their size does not depend on where they end; two bytes keep 0 and 1 from being places.
  std::string behind;
  const size_t size = model_tables(graphs, signatures, version, 1 << 20, &behind).size();
  behind.clear();
  const std::string tables = model_tables(graphs, signatures, version, size, &behind);
  return behind.empty() ? tables : tables + std::string(2, '\0') + behind;
}

}  // namespace ingot::test
