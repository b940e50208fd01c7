// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/model_file.cpp - checks a file's tables and every number in them that points
// somewhere, before anything is translated.
#include "tools/import/tflite/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <tuple>

#include "tools/files/work_budget.h"

namespace ingot::tflite {
namespace {

constexpr uint32_t kMaxTables = 1u << 22;
constexpr int kMaxNesting = 64;  // of tables
constexpr int64_t kMaxElements = int64_t{1} << 40;

struct TypeRow {
  fb::TensorType type;
  const char* name;
  DType dtype;
};
constexpr TypeRow kTypes[] = {
    {fb::TensorType::float32, "float32", DType::kF32},
    {fb::TensorType::float16, "float16", DType::kF16},
    {fb::TensorType::int32, "int32", DType::kI32},
    {fb::TensorType::uint8, "uint8", DType::kU8},
    {fb::TensorType::int64, "int64", DType::kI64},
    {fb::TensorType::string, "string", DType::kInvalid},
    {fb::TensorType::boolean, "bool", DType::kBool},
    {fb::TensorType::int16, "int16", DType::kI16},
    {fb::TensorType::complex64, "complex64", DType::kInvalid},
    {fb::TensorType::int8, "int8", DType::kI8},
    {fb::TensorType::float64, "float64", DType::kF64},
    {fb::TensorType::complex128, "complex128", DType::kInvalid},
    {fb::TensorType::uint64, "uint64", DType::kU64},
    {fb::TensorType::resource, "resource", DType::kInvalid},
    {fb::TensorType::variant, "variant", DType::kInvalid},
    {fb::TensorType::uint32, "uint32", DType::kU32},
    {fb::TensorType::uint16, "uint16", DType::kU16},
    {fb::TensorType::int4, "int4", DType::kInvalid},
    {fb::TensorType::bfloat16, "bfloat16", DType::kBF16},
    {fb::TensorType::int2, "int2", DType::kInvalid},
    {fb::TensorType::uint4, "uint4", DType::kInvalid},
    {fb::TensorType::float8_e4m3fn, "float8_e4m3fn", DType::kInvalid},
    {fb::TensorType::float8_e5m2, "float8_e5m2", DType::kInvalid},
};
const TypeRow* row_of(fb::TensorType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

struct ZeroRange {
  int64_t low, high;
};
ZeroRange zeros_of(fb::TensorType type) {
  switch (type) {
    case fb::TensorType::int8: return {-128, 127};
    case fb::TensorType::uint8: return {0, 255};
    case fb::TensorType::int16: return {-32768, 32767};
    case fb::TensorType::int4: return {-8, 7};
    case fb::TensorType::uint4: return {0, 15};
    case fb::TensorType::int2: return {-2, 1};
    default: return {INT32_MIN, INT32_MAX};
  }
}

template <class Vector>
size_t size_of(const Vector* vector) {
  return vector ? vector->size() : 0;
}

}  // namespace

void ModelFile::corrupt(const std::string& why) const {
  graph::fail_corrupt(path_, "is no sound TFLite model: " + why);
}

std::shared_ptr<const ModelFile> ModelFile::open(const std::string& path) {
  auto made = std::make_shared<ModelFile>();
  made->path_ = path;
  made->file_ = checkpoint::MappedFile::open(path);
  // In a file beyond 2 GiB the tables are its beginning, and buffers lie behind them.
  const uint64_t tables = std::min<uint64_t>(made->file_->size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  flatbuffers::Verifier verifier(made->file_->data(), size_t(tables), kMaxNesting, kMaxTables);
  if (tables < 8 || !verifier.VerifyBuffer<fb::Model>("TFL3"))
    made->corrupt(
        "its tables point outside of it; the download is incomplete, or it was made to mislead");
  made->model_ = flatbuffers::GetRoot<fb::Model>(made->file_->data());
  made->check();
  return made;
}

void ModelFile::check() const {
  if (model_->version() != 3)
    graph::fail_unsupported(path_, "is a TFLite model of version " +
                                       std::to_string(model_->version()) + ", supported is 3");
  if (subgraph_count() == 0) corrupt("it has no subgraphs");
  check_buffers();
  for (size_t i = 0; i < subgraph_count(); i++) check_graph(subgraph(i), i);
  if (!model_->signatures()) return;
  for (const fb::Signature* signature : *model_->signatures()) {
    const std::string name = signature->key() ? signature->key()->str() : "";
    if (signature->subgraph_index() >= subgraph_count())
      corrupt("signature '" + name + "' is of subgraph " +
              std::to_string(signature->subgraph_index()) + " of " +
              std::to_string(subgraph_count()));
    const size_t count = tensor_count(subgraph(signature->subgraph_index()));
    for (const auto* ports : {signature->inputs(), signature->outputs()}) {
      if (!ports) continue;
      host::charge_work(ports->size());
      for (const fb::TensorMap* port : *ports)
        if (port->tensor_index() >= count)
          corrupt("signature '" + name + "' names tensor " + std::to_string(port->tensor_index()) +
                  " of " + std::to_string(count));
    }
  }
}

/// Two buffers may be the same bytes; a part of another is a lie about one of them.
void ModelFile::check_buffers() const {
  struct Span {
    uint64_t begin, end, buffer;
  };
  std::vector<Span> spans;
  const auto* const buffers = model_->buffers();
  host::charge_memory(sizeof(Span) * size_of(buffers));
  for (uint32_t i = 0; i < size_of(buffers); i++) {
    const fb::Buffer& b = *buffers->Get(i);
    if (size_of(b.data()) > 0) {
      const uint64_t begin = uint64_t(b.data()->data() - file_->data());
      spans.push_back({begin, begin + b.data()->size(), i});
    } else if (b.offset() > 1 && b.size() > 0 && b.offset() <= file_->size() &&
               b.size() <= file_->size() - b.offset()) {
      spans.push_back({b.offset(), b.offset() + b.size(), i});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  for (size_t i = 1; i < spans.size(); i++) {
    const Span &before = spans[i - 1], &at = spans[i];
    if (at.begin < before.end && (at.begin != before.begin || at.end != before.end))
      corrupt("buffers " + std::to_string(before.buffer) + " and " + std::to_string(at.buffer) +
              " overlap at byte " + std::to_string(at.begin));
  }
}

void ModelFile::check_graph(const fb::SubGraph& graph, size_t index) const {
  const std::string where = "subgraph " + std::to_string(index);
  const int64_t count = int64_t(tensor_count(graph));
  host::charge_work(uint64_t(count));
  for (int64_t i = 0; i < count; i++) check_tensor(tensor(graph, i), size_t(i));
  const auto check = [&](const flatbuffers::Vector<int32_t>* list, bool optional,
                         const std::string& whose) {
    if (!list) return;
    host::charge_work(list->size());
    for (uint32_t i = 0; i < list->size(); i++) {
      const int32_t at = list->Get(i);
      if (at >= count || at < (optional ? -1 : 0))
        corrupt(where + ": " + whose + " names tensor " + std::to_string(at) + " of " +
                std::to_string(count));
    }
  };
  check(graph.inputs(), false, "its list of inputs");
  check(graph.outputs(), false, "its list of outputs");
  if (!graph.operators()) return;
  for (uint32_t i = 0; i < graph.operators()->size(); i++) {
    const fb::Operator& op = *graph.operators()->Get(i);
    const std::string whose = "operator " + std::to_string(i);
    if (op.opcode_index() >= size_of(model_->operator_codes()))
      corrupt(where + ": " + whose + " has code " + std::to_string(op.opcode_index()) + " of " +
              std::to_string(size_of(model_->operator_codes())));
    check(op.inputs(), true, whose);
    check(op.outputs(), false, whose);
    check(op.intermediates(), false, whose);
  }
}

void ModelFile::check_tensor(const fb::Tensor& t, size_t index) const {
  const auto corrupt = [&](const std::string& why) {
    this->corrupt("tensor '" + name(t, index) + "' " + why);
  };
  const size_t rank = size_of(t.shape());
  host::charge_work(1 + rank);
  int64_t elements = 1;
  for (size_t d = 0; d < rank; d++) {
    const int64_t extent = t.shape()->Get(uint32_t(d));
    if (extent < -1) corrupt("has a dimension of " + std::to_string(extent));
    if (extent > 0 &&
        (__builtin_mul_overflow(elements, extent, &elements) || elements > kMaxElements))
      corrupt("has a size that overflows");
  }
  if (t.shape_signature() && t.shape_signature()->size() > 0) {
    if (t.shape_signature()->size() != rank)
      corrupt("has " + std::to_string(rank) + " dimensions and " +
              std::to_string(t.shape_signature()->size()) + " in its signature");
    for (uint32_t d = 0; d < rank; d++) {
      const int32_t open = t.shape_signature()->Get(d);
      if (open < -1) corrupt("has a dimension of " + std::to_string(open));
    }
  }
  (void)bytes(t);
  (void)quantization(t);
}

const fb::Tensor& ModelFile::tensor(const fb::SubGraph& graph, int64_t index) const {
  if (index < 0 || size_t(index) >= tensor_count(graph))
    corrupt("tensor " + std::to_string(index) + " of " + std::to_string(tensor_count(graph)));
  return *graph.tensors()->Get(flatbuffers::uoffset_t(index));
}

OperatorKind ModelFile::kind(const fb::Operator& op) const {
  const fb::OperatorCode& code = *model_->operator_codes()->Get(op.opcode_index());
  OperatorKind kind;
  kind.code = std::max<int>(code.deprecated_builtin_code(), code.builtin_code());
  kind.version = code.version();
  if (code.custom_code()) kind.custom = code.custom_code()->str();
  return kind;
}

Options ModelFile::options(const fb::Operator& op, const OptionTable* expected) const {
  const fb::Opaque* table = op.builtin_options();
  bool second = false;
  int given = table ? op.builtin_options_type() : 0;
  if (given == 0 && op.builtin_options_2()) {
    table = op.builtin_options_2();
    given = op.builtin_options_2_type();
    second = true;
  }
  const OptionTable* kind = given == 0 ? expected : find_options(given, second);
  return Options(kind, given == 0 ? nullptr : table, file_->data(), file_->size());
}

ModelFile::Bytes ModelFile::bytes(const fb::Tensor& t) const {
  const auto where = [&] { return "tensor '" + name(t, 0) + "'"; };
  if (t.external_buffer() != 0)
    graph::fail_unsupported(path_, where() +
                                       " lies in another file, which is not supported; export the "
                                       "model with its weights inside");
  if (t.buffer() == 0) return {};
  if (t.buffer() >= size_of(model_->buffers()))
    corrupt(where() + " has buffer " + std::to_string(t.buffer()) + " of " +
            std::to_string(size_of(model_->buffers())));
  const fb::Buffer& buffer = *model_->buffers()->Get(t.buffer());
  if (size_of(buffer.data()) > 0) return {buffer.data()->data(), buffer.data()->size(), true};
  if (buffer.offset() <= 1) return {};
  if (buffer.offset() > file_->size() || buffer.size() > file_->size() - buffer.offset())
    corrupt(where() + " lies at byte " + std::to_string(buffer.offset()) + " and takes " +
            std::to_string(buffer.size()) + " of " + std::to_string(file_->size()) +
            " bytes: the download is incomplete");
  return {file_->data() + buffer.offset(), buffer.size(), buffer.size() > 0};
}

TensorQuantization ModelFile::quantization(const fb::Tensor& t) const {
  TensorQuantization out;
  if (!is_quantized(t)) return out;
  const fb::Quantization& from = *t.quantization();
  const auto where = [&] { return "tensor '" + name(t, 0) + "'"; };
  const size_t rank = size_of(t.shape()), scales = size_of(from.scale()),
               zeros = size_of(from.zero_point());
  if (from.details_type() == fb::QuantizationDetails::BlockwiseQuantization) {
    out.is_blockwise = true;
    return out;
  }
  // One of each for every channel: as many as the dimension has, however often tensors share them.
  host::charge_work(scales);
  if (zeros > 1 && zeros != scales)
    corrupt(where() + " has " + std::to_string(scales) + " scales and " + std::to_string(zeros) +
            " zero points");
  int64_t axis = from.quantized_dimension();
  // Converters give a bias the axis of its weights.
  if (rank == 1 && t.shape()->Get(0) == int64_t(scales)) axis = 0;
  if (scales > 1 && (axis < 0 || size_t(axis) >= rank ||
                     t.shape()->Get(flatbuffers::uoffset_t(axis)) != int64_t(scales)))
    corrupt(where() + " has " + std::to_string(scales) + " scales along dimension " +
            std::to_string(axis));
  const bool is_bias = t.type() == fb::TensorType::int32 || t.type() == fb::TensorType::int64;
  for (uint32_t i = 0; i < scales; i++) {
    const float scale = from.scale()->Get(i);
    // Nothing computes with that of a bias, which is a product of two others.
    const float least = is_bias ? 0 : std::numeric_limits<float>::min();
    if (!std::isfinite(scale) || scale < least) {
      std::ostringstream found;
      found << scale;
      corrupt(where() + " has a scale of " + found.str() + ", expected a positive normal number");
    }
    out.scales.push_back(scale);
  }
  out.zero_points.assign(scales, 0);
  for (uint32_t i = 0; i < scales && zeros > 0; i++)
    // The verifier does not see to the alignment of 8-byte elements.
    std::memcpy(&out.zero_points[i], from.zero_point()->Data() + size_t{8} * (zeros == 1 ? 0 : i),
                8);
  const ZeroRange range = zeros_of(t.type());
  for (const int64_t zero : out.zero_points)
    if (zero < range.low || zero > range.high)
      corrupt(where() + " has a zero point of " + std::to_string(zero) + ", expected " +
              std::to_string(range.low) + " to " + std::to_string(range.high));
  out.axis = axis;
  return out;
}

DType ModelFile::dtype(fb::TensorType type) {
  const TypeRow* row = row_of(type);
  return row ? row->dtype : DType::kInvalid;
}
const char* ModelFile::type_name(fb::TensorType type) {
  const TypeRow* row = row_of(type);
  return row ? row->name : "of an unknown type";
}
bool ModelFile::is_quantized(const fb::Tensor& t) {
  switch (t.type()) {
    case fb::TensorType::int8:
    case fb::TensorType::uint8:
    case fb::TensorType::int16:
    case fb::TensorType::int32:
    case fb::TensorType::int64:
    case fb::TensorType::int4:
    case fb::TensorType::int2:
    case fb::TensorType::uint4: break;
    default: return false;
  }
  return t.quantization() &&
         (size_of(t.quantization()->scale()) > 0 ||
          t.quantization()->details_type() == fb::QuantizationDetails::BlockwiseQuantization);
}
/// Tensors may share one long name.
std::string ModelFile::name(const fb::Tensor& t, size_t index) {
  host::charge_metadata(size_of(t.name()));
  return size_of(t.name()) > 0 ? t.name()->str() : "tensor_" + std::to_string(index);
}
std::vector<int64_t> ModelFile::shape(const fb::Tensor& t) {
  std::vector<int64_t> out;
  for (uint32_t d = 0; d < size_of(t.shape()); d++) out.push_back(t.shape()->Get(d));
  return out;
}

graph::Constant read_constant(const ModelFile& file, const fb::Tensor& t, const std::string& name) {
  const DType dtype = ModelFile::dtype(t.type());
  const std::vector<int64_t> dims = ModelFile::shape(t);
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }))
    file.corrupt("tensor '" + name + "' is a constant without a shape");
  const ModelFile::Bytes bytes = file.bytes(t);
  const size_t each = size_t(dtype_bytes(dtype));
  if (t.sparsity()) {
    const std::vector<uint8_t> dense = dense_of(file, t, name, bytes, each);
    return graph::make_constant(dtype, dims, dense.data());
  }
  uint64_t expected = each;
  for (const int64_t d : dims)
    if (__builtin_mul_overflow(expected, uint64_t(d), &expected))
      file.corrupt("tensor '" + name + "': its size overflows");
  if (bytes.size != expected)
    file.corrupt("tensor '" + name + "' has " + std::to_string(bytes.size) +
                 " bytes, its shape says " + std::to_string(expected));
  host::charge_work(bytes.size / 8);
  host::charge_memory(bytes.size);
  return graph::make_constant(dtype, dims, bytes.data);
}

}  // namespace ingot::tflite
