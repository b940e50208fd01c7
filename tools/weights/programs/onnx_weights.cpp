// SPDX-License-Identifier: Apache-2.0
// tools/weights/programs/onnx_weights.cpp - initializers. Raw and external bytes stay where they
// are; typed fields are copied.
#include <algorithm>
#include <filesystem>

#include "tools/files/failure.h"
#include "tools/import/onnx/tensor.h"
#include "tools/weights/programs/read_weights.h"

namespace ingot::weights {
namespace {

using checkpoint::Bytes;
using checkpoint::ElementType;
using checkpoint::Path;

constexpr int kMaxDepth = 64;

struct Spelling {
  int32_t onnx;
  ElementType element;
};
constexpr Spelling kSpellings[] = {{onnx::kFloat, ElementType::kF32},
                                   {onnx::kUint8, ElementType::kU8},
                                   {onnx::kInt8, ElementType::kI8},
                                   {onnx::kUint16, ElementType::kU16},
                                   {onnx::kInt16, ElementType::kI16},
                                   {onnx::kInt32, ElementType::kI32},
                                   {onnx::kInt64, ElementType::kI64},
                                   {onnx::kBool, ElementType::kBool},
                                   {onnx::kFloat16, ElementType::kF16},
                                   {onnx::kDouble, ElementType::kF64},
                                   {onnx::kUint32, ElementType::kU32},
                                   {onnx::kUint64, ElementType::kU64},
                                   {onnx::kComplex64, ElementType::kC64},
                                   {onnx::kComplex128, ElementType::kC128},
                                   {onnx::kBfloat16, ElementType::kBf16},
                                   {17, ElementType::kF8E4M3},
                                   {19, ElementType::kF8E5M2},
                                   {21, ElementType::kU8},
                                   {22, ElementType::kI8}};
bool is_half_byte(int32_t type) { return type == 21 || type == 22; }

std::vector<uint8_t> spread_halves(const uint8_t* packed, uint64_t count, bool is_signed) {
  std::vector<uint8_t> out(size_t(count), 0);
  for (uint64_t i = 0; i < count; i++) {
    const uint8_t half = uint8_t(i % 2 ? packed[i / 2] >> 4 : packed[i / 2] & 15);
    out[size_t(i)] = uint8_t(is_signed && half >= 8 ? half | 0xf0 : half);
  }
  return out;
}

class OnnxWeightReader {
 public:
  OnnxWeightReader(const std::string& path, const checkpoint::ReadLimits& limits)
      : path_(path),
        limits_(limits),
        file_(onnx::SourceFile::open(path)),
        external_(std::make_shared<onnx::ExternalData>(
            std::filesystem::path(path).parent_path().string())) {}

  checkpoint::Checkpoint read() {
    const onnx::Model model = onnx::parse_model(file_->bytes(), path_);
    out_.file = path_;
    out_.format = "onnx";
    say(model);
    add_graph(model.graph, {}, 0);
    if (!unread_.empty())
      host::fail(host::Exit::kUnsupported, path_ + ": initializers that are not read: " + unread_);
    return std::move(out_);
  }

 private:
  void fact(const char* name, onnx::Text value) {
    if (!value.empty()) out_.say({name}, std::string(value));
  }
  void say(const onnx::Model& model) {
    out_.say({"ir_version"}, model.ir_version);
    if (model.model_version) out_.say({"model_version"}, model.model_version);
    fact("producer", model.producer_name);
    fact("producer_version", model.producer_version);
    fact("graph", model.graph.name);
    fact("doc", model.doc);
    for (const onnx::OpsetImport& opset : model.opsets)
      out_.say({"opset", opset.domain.empty() ? "ai.onnx" : std::string(opset.domain)},
               opset.version);
    for (const onnx::Entry& entry : model.metadata)
      out_.say({"metadata", std::string(entry.key)}, std::string(entry.value));
  }

  void add_graph(const onnx::Graph& graph, const Path& below, int depth) {
    if (depth > kMaxDepth) host::fail(host::Exit::kCorrupt, path_ + ": graphs nest too deep");
    for (const onnx::Tensor& tensor : graph.initializers) add(tensor, joined(below, tensor.name));
    for (const onnx::SparseTensor& sparse : graph.sparse_initializers)
      add_sparse(sparse, joined(below, sparse.values.name));
    for (const onnx::Node& node : graph.nodes) {
      const onnx::Text made = node.outputs.empty() ? node.name : node.outputs[0];
      for (const onnx::Attribute& attribute : node.attributes) {
        if (attribute.graph)
          add_graph(*attribute.graph, joined(joined(below, made), attribute.name), depth + 1);
        if (attribute.tensor && node.op == "Constant") {
          Path constants = below;
          constants.push_back("constants");
          add(*attribute.tensor, joined(constants, made));
        }
      }
    }
  }
  static Path joined(Path below, onnx::Text name) {
    below.push_back(std::string(name));
    return below;
  }

  void leave_out(const Path& path, const std::string& why) {
    if (unread_.size() < 400)
      unread_ += (unread_.empty() ? "'" : ", '") + checkpoint::path_text(path) + "' " + why;
  }

  void add(const onnx::Tensor& from, const Path& path) {
    if (out_.tensors.size() >= limits_.entries)
      host::fail(host::Exit::kCorrupt, path_ + ": names too many tensors");
    if (from.data_type == onnx::kString) {
      out_.notes.push_back("'" + checkpoint::path_text(path) +
                           "' holds texts, which are no weights");
      return;
    }
    const Spelling* spelling =
        std::find_if(std::begin(kSpellings), std::end(kSpellings),
                     [&](const Spelling& s) { return s.onnx == from.data_type; });
    if (spelling == std::end(kSpellings) || from.has_segment)
      return leave_out(path, from.has_segment ? "is stored in segments"
                                              : "is " + onnx::element_type_name(from.data_type));
    checkpoint::Tensor t;
    t.path = path;
    t.type = spelling->element;
    t.dims = from.dims;
    const std::string where = path_ + ": tensor '" + checkpoint::path_text(path) + "'";
    const auto refuse = [&](const std::string& why) {
      host::fail(host::Exit::kCorrupt, where + ": " + why + "; the file is damaged");
    };
    uint64_t count = 1;
    for (const int64_t d : from.dims) {
      if (d < 0) refuse("a dimension is " + std::to_string(d));
      if (__builtin_mul_overflow(count, uint64_t(d), &count) || count > (uint64_t{1} << 56))
        refuse("its size overflows");
    }
    t.strides = checkpoint::dense_strides(t.dims);
    if (from.has_raw || from.external) {
      const bool halves = is_half_byte(from.data_type);
      const uint64_t expected = halves ? (count + 1) / 2 : count * element_bytes(t.type);
      const onnx::Text raw = from.external
                                 ? onnx::external_bytes(from, std::string(path.back()),
                                                        int64_t(expected), external_.get())
                                 : from.raw;
      if (raw.size() != expected)
        refuse("has " + std::to_string(raw.size()) + " bytes, its shape says " +
               std::to_string(expected));
      const auto* data = reinterpret_cast<const uint8_t*>(raw.data());
      std::shared_ptr<const void> owner = file_;
      if (from.external) owner = external_;
      t.storage = halves
                      ? checkpoint::memory_storage(spread_halves(data, count, from.data_type == 22))
                      : checkpoint::held_storage({std::move(owner), data, raw.size()});
    } else {
      try {
        const graph::Constant constant =
            onnx::read_tensor(from, std::string(path.back()), external_.get());
        t.storage =
            checkpoint::memory_storage(constant.bytes ? *constant.bytes : std::vector<uint8_t>());
      } catch (const onnx::TensorRefused& refused) {
        return leave_out(path, refused.why);
      }
    }
    checkpoint::validate_view(t, limits_, where);
    out_.tensors.push_back(std::move(t));
  }

  void add_sparse(const onnx::SparseTensor& from, const Path& path) {
    try {
      const graph::Constant dense =
          onnx::read_sparse(from, checkpoint::path_text(path), external_.get());
      checkpoint::Tensor t;
      t.path = path;
      t.type = std::find_if(std::begin(kSpellings), std::end(kSpellings), [&](const Spelling& s) {
                 return s.onnx == from.values.data_type;
               })->element;
      t.dims = dense.dims;
      t.strides = checkpoint::dense_strides(t.dims);
      t.storage = checkpoint::memory_storage(dense.bytes ? *dense.bytes : std::vector<uint8_t>());
      checkpoint::validate_view(t, limits_,
                                path_ + ": tensor '" + checkpoint::path_text(path) + "'");
      out_.tensors.push_back(std::move(t));
      out_.notes.push_back("'" + checkpoint::path_text(path) + "' is sparse; it is given dense");
    } catch (const onnx::TensorRefused& refused) {
      leave_out(path, refused.why);
    }
  }

  const std::string& path_;
  const checkpoint::ReadLimits& limits_;
  std::shared_ptr<const onnx::SourceFile> file_;
  std::shared_ptr<onnx::ExternalData> external_;
  std::string unread_;
  checkpoint::Checkpoint out_;
};

}  // namespace

checkpoint::Checkpoint read_onnx_weights(const std::string& path,
                                         const checkpoint::ReadLimits& limits) {
  try {
    return OnnxWeightReader(path, limits).read();
  } catch (graph::ConversionError& error) {
    error.add_place(path);
    host::fail(error.exit_code, error.message);
  }
}

}  // namespace ingot::weights
