// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/element_type.h - types of a checkpoint's elements: more than a program
// computes with.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

/// Quantized torch types are their integers here; Tensor::quantization tells them apart.
enum class ElementType : uint8_t {
  kF32,
  kF16,
  kBf16,
  kF64,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kC32,
  kC64,
  kC128,
  kF8E4M3,
  kF8E5M2,
};

uint32_t element_bytes(ElementType type);
/// Bytes that are swapped as one on a machine of the other byte order: half of a complex number.
uint32_t scalar_bytes(ElementType type);
/// "float32", as torch and numpy name it.
const char* element_name(ElementType type);
/// "F32", as safetensors spells it; "" for what that format has no spelling for.
const char* safetensors_name(ElementType type);
bool from_safetensors(std::string_view name, ElementType* out);
/// "FloatStorage", "float32" or "torch.float32"; quantized ones set *quantized.
bool from_torch(std::string_view name, ElementType* out, bool* quantized);
bool is_floating(ElementType type);

}  // namespace ingot::checkpoint
