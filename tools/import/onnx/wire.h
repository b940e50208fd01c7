// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/wire.h - an .onnx file as plain structs, nothing interpreted. Strings and raw
// data point into the source bytes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::onnx {

using Text = std::string_view;

/// Numbers of TensorProto.DataType.
enum ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
};

struct Entry {
  Text key, value;
};

struct Tensor {
  Text name;
  /// What `name` points into. Names lie between the weights: looked up there, they would bring the
  /// pages around them into memory again.
  std::shared_ptr<const std::string> own_name;
  int32_t data_type = 0;
  bool has_segment = false, has_raw = false, external = false;
  std::vector<int64_t> dims;
  Text raw;
  std::vector<float> floats;
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<double> doubles;
  std::vector<uint64_t> uint64s;
  std::vector<Entry> external_data;
};
struct SparseTensor {
  Tensor values, indices;
  std::vector<int64_t> dims;
};

struct Dimension {
  bool has_value = false;
  int64_t value = 0;
  Text symbol;
};
struct ValueInfo {
  Text name;
  bool is_tensor = false, has_type = false, has_shape = false;
  Text kind;  // "tensor", "sequence", "map", "sparse tensor", "optional"
  int32_t element_type = 0;
  std::vector<Dimension> dims;
};

struct Graph;
/// Numbers of AttributeProto.AttributeType.
enum AttributeType : int32_t {
  kAttributeUndefined = 0,
  kAttributeFloat = 1,
  kAttributeInt = 2,
  kAttributeString = 3,
  kAttributeTensor = 4,
  kAttributeGraph = 5,
  kAttributeFloats = 6,
  kAttributeInts = 7,
  kAttributeStrings = 8,
  kAttributeTensors = 9,
  kAttributeGraphs = 10,
  kAttributeSparse = 11,
  kAttributeSparses = 12,
  kAttributeTypeProto = 13,
};
struct Attribute {
  // reference: takes its value from the caller's attribute of that name (in functions)
  Text name, reference;
  int32_t type = kAttributeUndefined;
  float f = 0;
  int64_t i = 0;
  Text s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<Text> strings;
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const SparseTensor> sparse;
  std::shared_ptr<const Graph> graph;
};
struct Node {
  Text name, op, domain, overload;
  Text module_scopes;  // what torch.onnx.export says of the modules around it
  std::vector<Text> inputs, outputs;
  std::vector<Attribute> attributes;
};
struct Graph {
  Text name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
};
struct OpsetImport {
  Text domain;
  int64_t version = 0;
};
struct Function {
  Text name, domain, overload;
  std::vector<Text> inputs, outputs, attributes;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};
struct Model {
  int64_t ir_version = 0, model_version = 0;
  Text producer_name, producer_version, domain, doc;
  std::vector<OpsetImport> opsets;
  std::vector<Entry> metadata;
  std::vector<Function> functions;
  bool has_graph = false;
  Graph graph;
};

/// Reads the protobuf, or a .ort file (ort_format.h). `source` names the file in messages. @throws
/// graph::ConversionError(kCorrupt) when the bytes are no ONNX model; memory is at most a fixed
/// multiple of the size of `bytes`.
Model parse_model(Text bytes, const std::string& source);

}  // namespace ingot::onnx
