// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/tensors/element_type.h"

#include <iterator>

namespace ingot::checkpoint {
namespace {

struct Row {
  ElementType type;
  uint32_t bytes, scalar;
  const char* name;
  const char* safetensors;
  const char* torch_storage;
};
constexpr Row kRows[] = {
    {ElementType::kF32, 4, 4, "float32", "F32", "FloatStorage"},
    {ElementType::kF16, 2, 2, "float16", "F16", "HalfStorage"},
    {ElementType::kBf16, 2, 2, "bfloat16", "BF16", "BFloat16Storage"},
    {ElementType::kF64, 8, 8, "float64", "F64", "DoubleStorage"},
    {ElementType::kI8, 1, 1, "int8", "I8", "CharStorage"},
    {ElementType::kU8, 1, 1, "uint8", "U8", "ByteStorage"},
    {ElementType::kI16, 2, 2, "int16", "I16", "ShortStorage"},
    {ElementType::kU16, 2, 2, "uint16", "U16", "UInt16Storage"},
    {ElementType::kI32, 4, 4, "int32", "I32", "IntStorage"},
    {ElementType::kU32, 4, 4, "uint32", "U32", "UInt32Storage"},
    {ElementType::kI64, 8, 8, "int64", "I64", "LongStorage"},
    {ElementType::kU64, 8, 8, "uint64", "U64", "UInt64Storage"},
    {ElementType::kBool, 1, 1, "bool", "BOOL", "BoolStorage"},
    {ElementType::kC32, 4, 2, "complex32", "", "ComplexHalfStorage"},
    {ElementType::kC64, 8, 4, "complex64", "C64", "ComplexFloatStorage"},
    {ElementType::kC128, 16, 8, "complex128", "", "ComplexDoubleStorage"},
    {ElementType::kF8E4M3, 1, 1, "float8_e4m3fn", "F8_E4M3", ""},
    {ElementType::kF8E5M2, 1, 1, "float8_e5m2", "F8_E5M2", ""},
};
const Row& row(ElementType type) { return kRows[size_t(type)]; }

}  // namespace

uint32_t element_bytes(ElementType type) { return row(type).bytes; }
uint32_t scalar_bytes(ElementType type) { return row(type).scalar; }
const char* element_name(ElementType type) { return row(type).name; }
const char* safetensors_name(ElementType type) { return row(type).safetensors; }

bool from_safetensors(std::string_view name, ElementType* out) {
  for (const Row& r : kRows) {
    if (name.empty() || name != r.safetensors) continue;
    *out = r.type;
    return true;
  }
  return false;
}

bool from_torch(std::string_view name, ElementType* out, bool* quantized) {
  constexpr std::string_view kPrefix = "torch.";
  if (name.substr(0, kPrefix.size()) == kPrefix) name.remove_prefix(kPrefix.size());
  *quantized = true;
  constexpr struct {
    const char* storage;
    const char* name;
    ElementType type;
  } kQuantized[] = {
      {"QInt8Storage", "qint8", ElementType::kI8},
      {"QUInt8Storage", "quint8", ElementType::kU8},
      {"QInt32Storage", "qint32", ElementType::kI32},
  };
  for (const auto& q : kQuantized) {
    if (name != q.storage && name != q.name) continue;
    *out = q.type;
    return true;
  }
  *quantized = false;
  constexpr struct {
    const char* name;
    ElementType type;
  } kAliases[] = {
      {"float", ElementType::kF32},         {"double", ElementType::kF64},
      {"half", ElementType::kF16},          {"long", ElementType::kI64},
      {"int", ElementType::kI32},           {"short", ElementType::kI16},
      {"UntypedStorage", ElementType::kU8},
  };
  for (const auto& alias : kAliases) {
    if (name != alias.name) continue;
    *out = alias.type;
    return true;
  }
  for (const Row& r : kRows) {
    if (name.empty() || (name != r.torch_storage && name != r.name)) continue;
    *out = r.type;
    return true;
  }
  return false;
}

bool is_floating(ElementType type) {
  switch (type) {
    case ElementType::kF32:
    case ElementType::kF16:
    case ElementType::kBf16:
    case ElementType::kF64:
    case ElementType::kF8E4M3:
    case ElementType::kF8E5M2: return true;
    default: return false;
  }
}

}  // namespace ingot::checkpoint
