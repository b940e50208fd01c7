// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/tensor.cpp - raw bytes, typed fields, external files; sizes checked against the
// shape before anything is allocated.
#include "tools/import/onnx/tensor.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/import/onnx/narrow.h"

namespace ingot::onnx {
namespace {

using graph::Constant;
using graph::fail_corrupt;

// of a sparse tensor, whose dense size its file does not bound
constexpr int64_t kMaxDenseBytes = int64_t(1) << 28;

int64_t checked_elements(const std::vector<int64_t>& dims, const std::string& name) {
  int64_t n = 1;
  if (dims.size() > size_t(kMaxRank)) {
    throw TensorRefused{"has " + std::to_string(dims.size()) + " dimensions, at most " +
                        std::to_string(kMaxRank) + " are supported"};
  }
  for (const int64_t d : dims) {
    if (d < 0)
      fail_corrupt("tensor '" + name + "': dimension " + std::to_string(d) + " is negative");
    if (__builtin_mul_overflow(n, d, &n) || n > std::numeric_limits<int64_t>::max() / 16) {
      fail_corrupt("tensor '" + name + "': its dimensions overflow 64 bits");
    }
  }
  return n;
}

[[noreturn]] void wrong_count(const std::string& name, const char* field, size_t found,
                              int64_t expected) {
  fail_corrupt("tensor '" + name + "': " + field + " holds " + std::to_string(found) +
               " elements, its shape says " + std::to_string(expected) + "; truncated?");
}

template <class Out, class In>
std::vector<uint8_t> narrowed(const std::vector<In>& from, int64_t elements,
                              const std::string& name, const char* field) {
  if (int64_t(from.size()) != elements) wrong_count(name, field, from.size(), elements);
  std::vector<uint8_t> bytes(from.size() * sizeof(Out));
  for (size_t i = 0; i < from.size(); i++) {
    const Out value = Out(from[i]);
    std::memcpy(bytes.data() + i * sizeof(Out), &value, sizeof(Out));
  }
  return bytes;
}

std::vector<uint8_t> typed_bytes(const Tensor& t, DType dtype, int64_t elements,
                                 const std::string& name) {
  switch (dtype) {
    case DType::kF32: return narrowed<float>(t.floats, elements, name, "float_data");
    case DType::kF64: return narrowed<double>(t.doubles, elements, name, "double_data");
    case DType::kI64: return narrowed<int64_t>(t.int64s, elements, name, "int64_data");
    case DType::kU32: return narrowed<uint32_t>(t.uint64s, elements, name, "uint64_data");
    case DType::kU64: return narrowed<uint64_t>(t.uint64s, elements, name, "uint64_data");
    case DType::kI32: return narrowed<int32_t>(t.int32s, elements, name, "int32_data");
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16: return narrowed<uint16_t>(t.int32s, elements, name, "int32_data");
    case DType::kI16: return narrowed<int16_t>(t.int32s, elements, name, "int32_data");
    case DType::kI8: return narrowed<int8_t>(t.int32s, elements, name, "int32_data");
    case DType::kU8:
    case DType::kBool: return narrowed<uint8_t>(t.int32s, elements, name, "int32_data");
    case DType::kInvalid: break;
  }
  return {};
}

/// Of a type that the graph has not: as one that it has.
Constant read_narrow(const Tensor& t, const NarrowType& type, const std::string& name,
                     ExternalData* external) {
  Constant out;
  out.dtype = type.widened;
  out.dims = t.dims;
  const int64_t elements = checked_elements(t.dims, name), each = 8 / type.bits,
                size = elements / each + (elements % each != 0);
  std::vector<uint8_t> typed;
  Text raw;
  if (t.external || t.has_raw) {
    raw = t.external ? external_bytes(t, name, size, external) : t.raw;
    if (int64_t(raw.size()) != size)
      fail_corrupt("tensor '" + name + "': raw_data is " + std::to_string(raw.size()) +
                   " B long, its shape says " + std::to_string(size) + " B; truncated?");
  } else {
    typed = narrowed<uint8_t>(t.int32s, size, name, "int32_data");
    raw = Text(reinterpret_cast<const char*>(typed.data()), typed.size());
  }
  host::charge_memory(uint64_t(elements) * uint64_t(dtype_bytes(type.widened)));
  std::vector<uint8_t> bytes =
      widened(t.data_type, reinterpret_cast<const uint8_t*>(raw.data()), elements);
  if (!bytes.empty()) out.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return out;
}

int64_t parse_number(Text text, const std::string& name, const char* key) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_corrupt("tensor '" + name + "': external data has " + key + " '" +
                 std::string(text.substr(0, 40)) + "', expected a number");
  }
  return value;
}

}  // namespace

DType dtype_of(int64_t element_type) {
  switch (element_type) {
    case kFloat: return DType::kF32;
    case kUint8: return DType::kU8;
    case kInt8: return DType::kI8;
    case kUint16: return DType::kU16;
    case kInt16: return DType::kI16;
    case kInt32: return DType::kI32;
    case kInt64: return DType::kI64;
    case kBool: return DType::kBool;
    case kFloat16: return DType::kF16;
    case kDouble: return DType::kF64;
    case kUint32: return DType::kU32;
    case kUint64: return DType::kU64;
    case kBfloat16: return DType::kBF16;
    default: return DType::kInvalid;
  }
}

namespace {
constexpr const char* kTypeNames[] = {
    "UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
    "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
    "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
    "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0",
    "UINT2",          "INT2"};
}  // namespace

std::string element_type_name(int64_t element_type) {
  if (element_type < 0 || element_type >= int64_t(std::size(kTypeNames)))
    return std::to_string(element_type);
  return kTypeNames[element_type];
}
int32_t element_type_of(const std::string& name) {
  for (size_t i = 0; i < std::size(kTypeNames); i++)
    if (name == kTypeNames[i]) return int32_t(i);
  return 0;
}

Text external_bytes(const Tensor& t, const std::string& name, int64_t size,
                    ExternalData* external) {
  std::string location;
  int64_t offset = 0, length = -1;
  for (const Entry& entry : t.external_data) {
    if (entry.key == "location") location = std::string(entry.value);
    if (entry.key == "offset") offset = parse_number(entry.value, name, "offset");
    if (entry.key == "length") length = parse_number(entry.value, name, "length");
  }
  if (!external) fail_corrupt("tensor '" + name + "': external data where no folder is known");
  if (length >= 0 && length != size) {
    fail_corrupt("tensor '" + name + "': external data is " + std::to_string(length) +
                 " B long, its shape says " + std::to_string(size) + " B");
  }
  return external->read(name, location, offset, size);
}

Constant read_tensor(const Tensor& t, const std::string& name, ExternalData* external) {
  const DType dtype = dtype_of(t.data_type);
  const auto narrow = narrow_type(t.data_type);
  if (dtype == DType::kInvalid && !narrow)
    throw TensorRefused{"element type " + element_type_name(t.data_type) + " is not supported"};
  if (t.has_segment) throw TensorRefused{"is stored in segments, which is not supported"};
  if (narrow) return read_narrow(t, *narrow, name, external);
  Constant out;
  out.dtype = dtype;
  out.dims = t.dims;
  const int64_t elements = checked_elements(t.dims, name);
  const int64_t size = elements * dtype_bytes(dtype);
  std::vector<uint8_t> bytes;
  if (t.external || t.has_raw) {
    const Text raw = t.external ? external_bytes(t, name, size, external) : t.raw;
    if (int64_t(raw.size()) != size) {
      fail_corrupt("tensor '" + name + "': raw_data is " + std::to_string(raw.size()) +
                   " B long, its shape says " + std::to_string(size) + " B; truncated?");
    }
    bytes.reserve(raw.size());
    host::append_weights(bytes, reinterpret_cast<const uint8_t*>(raw.data()), raw.size());
  } else {
    bytes = typed_bytes(t, dtype, elements, name);
  }
  if (dtype == DType::kBool) {
    for (uint8_t& b : bytes) b = b != 0;
  }
  if (!bytes.empty()) out.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return out;
}

Constant read_sparse(const SparseTensor& sparse, const std::string& name, ExternalData* external) {
  const Constant values = read_tensor(sparse.values, name, external);
  const Constant indices = read_tensor(sparse.indices, name + " (indices)", external);
  const int64_t elements = checked_elements(sparse.dims, name);
  const int64_t width = dtype_bytes(values.dtype);
  if (elements > kMaxDenseBytes / width) {
    throw TensorRefused{"is sparse with " + std::to_string(elements) +
                        " elements when dense, more than " + std::to_string(kMaxDenseBytes) +
                        " B are not supported"};
  }
  const int64_t count = values.elements(), rank = int64_t(sparse.dims.size());
  const bool linear = indices.dims.size() == 1;
  if (indices.dtype != DType::kI64 || (!linear && indices.dims.size() != 2) ||
      indices.elements() != count * (linear ? 1 : rank)) {
    fail_corrupt("sparse tensor '" + name + "': its indices do not match its " +
                 std::to_string(count) + " values");
  }
  std::vector<uint8_t> bytes(size_t(elements * width));
  const int64_t* index = indices.as<int64_t>();
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 0;
    for (int64_t k = 0; k < (linear ? 1 : rank); k++) {
      const int64_t limit = linear ? elements : sparse.dims[size_t(k)];
      const int64_t position = *index++;
      if (position < 0 || position >= limit) {
        fail_corrupt("sparse tensor '" + name + "': index " + std::to_string(position) +
                     " is outside of " + std::to_string(limit));
      }
      at = linear ? position : at * limit + position;
    }
    std::memcpy(bytes.data() + at * width, values.bytes->data() + i * width, size_t(width));
  }
  Constant out;
  out.dtype = values.dtype;
  out.dims = sparse.dims;
  if (!bytes.empty()) out.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return out;
}

}  // namespace ingot::onnx
