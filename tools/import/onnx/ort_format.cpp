// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/ort_format.cpp - FlatBuffers' verifier sees that nothing leaves the bytes; what
// several places share is counted each time, so that a small file makes no large model.
#include "tools/import/onnx/ort_format.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "ort_format_generated.h"
#include "tools/files/spill_file.h"
#include "tools/graph/graph.h"

namespace ingot::onnx {
namespace {

constexpr uint32_t kMaxNesting = 128;  // of tables; four for each graph inside a graph
constexpr uint32_t kMaxTables = 4u << 20;
constexpr size_t kIdentifierAt = 4;

Text text(const flatbuffers::String* s) { return s ? Text(s->c_str(), s->size()) : Text(); }

class OrtReader {
 public:
  OrtReader(Text bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  Model read() {
    const auto* data = reinterpret_cast<const uint8_t*>(bytes_.data());
    if (bytes_.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
      corrupt("it has " + std::to_string(bytes_.size()) + " B, more than the format can");
    if (reinterpret_cast<uintptr_t>(data) % 8)
      corrupt("its bytes are not at a multiple of 8 in memory");
    const uint32_t tables = uint32_t(std::min<uint64_t>(kMaxTables, bytes_.size() / 4));
    flatbuffers::Verifier verifier(data, bytes_.size(), kMaxNesting, tables);
    if (!verifier.VerifyBuffer<fb::OrtFile>(fb::OrtFileIdentifier()))
      corrupt("its tables point outside of it, or are nested too deep; truncated?");
    const fb::OrtModel* from = fb::GetOrtFile(data)->model();
    if (!from || !from->graph()) corrupt("it holds no graph");
    Model out;
    out.ir_version = from->ir_version();
    out.model_version = from->model_version();
    out.producer_name = text(from->producer_name());
    out.producer_version = text(from->producer_version());
    out.domain = text(from->domain());
    out.doc = text(from->doc());
    for (const fb::OrtOpset* opset : of(from->opsets()))
      out.opsets.push_back({text(opset->domain()), opset->version()});
    for (const fb::OrtEntry* entry : of(from->metadata()))
      out.metadata.push_back({text(entry->key()), text(entry->value())});
    out.graph = graph(*from->graph());
    out.has_graph = true;
    return out;
  }

 private:
  [[noreturn]] void corrupt(const std::string& why) const {
    graph::fail_corrupt(source_, "no valid ONNX Runtime model (.ort): " + why);
  }
  /// Files hold each part once.
  void count(uint64_t bytes) {
    copied_ += bytes;
    if (copied_ > bytes_.size() + 1024) corrupt("it refers to the same parts again and again");
  }
  /// Tables, none where the vector is absent.
  template <typename T>
  std::vector<const T*> of(const flatbuffers::Vector<flatbuffers::Offset<T>>* all) {
    if (!all) return {};
    count(uint64_t(all->size()) * sizeof(uint32_t));
    return {all->begin(), all->end()};
  }
  template <typename T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* all) {
    if (!all) return {};
    count(uint64_t(all->size()) * sizeof(T));
    return {all->begin(), all->end()};
  }
  std::vector<Text> texts(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* all) {
    std::vector<Text> out;
    for (const flatbuffers::String* one : of(all)) out.push_back(text(one));
    return out;
  }

  Tensor tensor(const fb::OrtTensor& from) {
    Tensor out;
    out.own_name = std::make_shared<const std::string>(text(from.name()));
    out.name = *out.own_name;
    count(out.name.size());
    out.data_type = from.data_type();
    out.dims = numbers(from.dims());
    if (from.raw()) {
      out.raw = Text(reinterpret_cast<const char*>(from.raw()->data()), from.raw()->size());
      out.has_raw = true;
    } else if (from.external_offset() >= 0) {
      graph::fail_unsupported(source_,
                              "the weights of '" + *out.own_name +
                                  "' are in a file of their own, which is not supported for "
                                  ".ort; convert the .onnx file that it was made from");
    }
    return out;
  }
  SparseTensor sparse(const fb::OrtSparseTensor& from) {
    SparseTensor out;
    if (!from.values() || !from.indices()) corrupt("a sparse tensor lacks values or indices");
    out.values = tensor(*from.values());
    out.indices = tensor(*from.indices());
    out.dims = numbers(from.dims());
    return out;
  }

  ValueInfo value_info(const fb::OrtValueInfo& from) {
    ValueInfo out;
    out.name = text(from.name());
    out.has_type = from.type() && from.type()->value();
    if (!out.has_type) return out;
    const fb::OrtTensorType* type = from.type()->value_as_OrtTensorType();
    if (!type) {
      out.kind = from.type()->value_as_OrtMapType() ? "map" : "sequence";
      return out;
    }
    out.kind = "tensor";
    out.is_tensor = true;
    out.element_type = type->element_type();
    out.has_shape = type->shape() != nullptr;
    if (!out.has_shape) return out;
    for (const fb::OrtDimension* dim : of(type->shape()->dims())) {
      Dimension made;
      if (const fb::OrtDimensionValue* value = dim->value()) {
        made.has_value = value->kind() == 1;
        made.value = made.has_value ? value->number() : 0;
        if (value->kind() == 2) made.symbol = text(value->symbol());
      }
      out.dims.push_back(made);
    }
    return out;
  }

  Attribute attribute(const fb::OrtAttribute& from) {
    Attribute out;
    out.name = text(from.name());
    out.type = from.type();
    out.f = from.f();
    out.i = from.i();
    out.s = text(from.s());
    out.floats = numbers(from.floats());
    out.ints = numbers(from.ints());
    out.strings = texts(from.strings());
    if (from.tensor()) out.tensor = std::make_shared<Tensor>(tensor(*from.tensor()));
    if (from.graph()) out.graph = std::make_shared<Graph>(graph(*from.graph()));
    const bool lacks = (out.type == kAttributeTensor && !out.tensor) ||
                       (out.type == kAttributeGraph && !out.graph);
    if (lacks) corrupt("attribute '" + std::string(out.name) + "' has no value");
    return out;
  }

  Node node(const fb::OrtNode& from) {
    Node out;
    out.name = text(from.name());
    out.op = text(from.op());
    out.domain = text(from.domain());
    if (out.op.empty()) corrupt("a node without operator");
    if (from.kind() != 0)
      graph::fail_unsupported(
          source_,
          "node '" + std::string(out.name) + "' was compiled by ONNX Runtime for '" +
              std::string(text(from.provider())) +
              "', which nothing else can run; convert the .onnx file that it was made from");
    out.inputs = texts(from.inputs());
    out.outputs = texts(from.outputs());
    for (const fb::OrtAttribute* one : of(from.attributes()))
      out.attributes.push_back(attribute(*one));
    return out;
  }

  Graph graph(const fb::OrtGraph& from) {
    Graph out;
    std::map<Text, size_t> places;
    for (const fb::OrtValueInfo* one : of(from.values())) {
      out.value_infos.push_back(value_info(*one));
      places.emplace(out.value_infos.back().name, out.value_infos.size() - 1);
    }
    const auto ports = [&](const auto* names) {
      std::vector<ValueInfo> all;
      for (const Text name : texts(names)) {
        const auto found = places.find(name);
        if (found == places.end())
          corrupt("its input or output '" + std::string(name) + "' is no value of the graph");
        all.push_back(out.value_infos[found->second]);
        count(all.back().dims.size() * sizeof(uint32_t));
      }
      return all;
    };
    out.inputs = ports(from.inputs());
    out.outputs = ports(from.outputs());
    for (const fb::OrtTensor* one : of(from.initializers()))
      out.initializers.push_back(tensor(*one));
    for (const fb::OrtSparseTensor* one : of(from.sparse_initializers()))
      out.sparse_initializers.push_back(sparse(*one));
    for (const fb::OrtNode* one : of(from.nodes())) out.nodes.push_back(node(*one));
    return out;
  }

  const Text bytes_;
  const std::string& source_;
  uint64_t copied_ = 0;
};

}  // namespace

bool is_ort_format(Text bytes) {
  return bytes.size() >= kIdentifierAt + 4 && bytes.substr(kIdentifierAt, 4) == "ORTM";
}

Model parse_ort_format(Text bytes, const std::string& source) {
  return OrtReader(bytes, source).read();
}

}  // namespace ingot::onnx
