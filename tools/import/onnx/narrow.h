// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/narrow.h - element types narrower than any that the graph has: integers of 2
// and 4 bits, floats of 4 and 8. They are storage: constants are widened while they are read, to
// i8, u8 or f32, and what is rounded to such a type is rounded to its numbers in f32.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::onnx {

struct NarrowType {
  int bits = 0;
  DType widened = DType::kInvalid;
  // of integers
  int64_t low = 0, high = 0;
  // of floats that can be rounded to: numbers of the mantissa behind the point, the smallest normal
  // exponent, the largest number; what is beyond where nothing saturates is infinite or no number
  int mantissa = 0, least_exponent = 0;
  float most = 0;
  bool has_infinity = false;
  bool is_float() const { return widened == DType::kF32; }
};
/// None of the types that the graph has, and of what is no number.
std::optional<NarrowType> narrow_type(int64_t element_type);

/// `count` elements, the first in the lowest bits. @pre bytes hold ceil(count * bits / 8)
std::vector<uint8_t> widened(int32_t element_type, const uint8_t* bytes, int64_t count);

}  // namespace ingot::onnx
