// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/model_file.h - a TFLite file whose tables were checked: what its tensors,
// operators and signatures say, and where constants lie.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tflite_generated.h"
#include "tools/checkpoint/tensors/storage.h"
#include "tools/graph/graph.h"
#include "tools/import/tflite/options.h"

namespace ingot::tflite {

/// What an operator is: its number, or the name of a custom one.
struct OperatorKind {
  int code = 0;
  int version = 1;
  std::string custom;
};

/// Of an integer tensor: real = scale * (integer - zero_point), one of each or one for every slice
/// along `axis`.
struct TensorQuantization {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  int64_t axis = 0;
  bool is_blockwise = false;
};

class ModelFile {
 public:
  /// @throws graph::ConversionError(kCorrupt) for damage, host::Failure when it cannot be read.
  static std::shared_ptr<const ModelFile> open(const std::string& path);

  const fb::Model& model() const { return *model_; }
  const std::string& path() const { return path_; }
  size_t subgraph_count() const { return model_->subgraphs() ? model_->subgraphs()->size() : 0; }
  const fb::SubGraph& subgraph(size_t index) const {
    return *model_->subgraphs()->Get(flatbuffers::uoffset_t(index));
  }
  static size_t tensor_count(const fb::SubGraph& graph) {
    return graph.tensors() ? graph.tensors()->size() : 0;
  }
  const fb::Tensor& tensor(const fb::SubGraph& graph, int64_t index) const;
  OperatorKind kind(const fb::Operator& op) const;
  Options options(const fb::Operator& op, const OptionTable* expected) const;

  /// Bytes of a constant; none for a tensor that the program computes.
  struct Bytes {
    const uint8_t* data = nullptr;
    uint64_t size = 0;
    bool is_there = false;
  };
  Bytes bytes(const fb::Tensor& tensor) const;
  /// Damaged records are refused. Floating tensors have none.
  TensorQuantization quantization(const fb::Tensor& tensor) const;
  /// Element type in the graph; kInvalid where it has none.
  static DType dtype(fb::TensorType type);
  static const char* type_name(fb::TensorType type);
  static bool is_quantized(const fb::Tensor& tensor);
  static std::string name(const fb::Tensor& tensor, size_t index);
  static std::vector<int64_t> shape(const fb::Tensor& tensor);
  [[noreturn]] void corrupt(const std::string& why) const;

 private:
  void check() const;
  void check_buffers() const;
  void check_graph(const fb::SubGraph& graph, size_t index) const;
  void check_tensor(const fb::Tensor& tensor, size_t index) const;

  std::string path_;
  std::shared_ptr<const checkpoint::MappedFile> file_;
  const fb::Model* model_ = nullptr;
};

/// A constant of the graph. Sparse ones are made dense, which charges what they take.
/// @throws graph::ConversionError(kCorrupt) where its bytes do not fit its shape.
graph::Constant read_constant(const ModelFile& file, const fb::Tensor& tensor,
                              const std::string& name);
/// Elements of a sparse tensor at their places, of `bytes` each; zero elsewhere.
std::vector<uint8_t> dense_of(const ModelFile& file, const fb::Tensor& tensor,
                              const std::string& name, const ModelFile::Bytes& values,
                              size_t bytes);

}  // namespace ingot::tflite
