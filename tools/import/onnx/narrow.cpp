// SPDX-License-Identifier: Apache-2.0
#include "tools/import/onnx/narrow.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace ingot::onnx {
namespace {

// Numbers of TensorProto.DataType.
constexpr int32_t kE4M3 = 17, kE4M3Fnuz = 18, kE5M2 = 19, kE5M2Fnuz = 20, kUint4 = 21, kInt4 = 22,
                  kE2M1 = 23, kE8M0 = 24, kUint2 = 25, kInt2 = 26;

constexpr NarrowType integers(int bits, bool is_signed) {
  const int64_t count = int64_t{1} << bits;
  return {bits,
          is_signed ? DType::kI8 : DType::kU8,
          is_signed ? -count / 2 : 0,
          is_signed ? count / 2 - 1 : count - 1,
          0,
          0,
          0,
          false};
}
constexpr NarrowType floats(int bits, int mantissa, int least, float most, bool has_infinity) {
  return {bits, DType::kF32, 0, 0, mantissa, least, most, has_infinity};
}

/// A float of `mantissa` bits behind a sign and an exponent whose smallest normal one is `least`.
float float_of(const NarrowType& type, uint8_t code) {
  const int magnitude = code & ((1 << (type.bits - 1)) - 1), exponent = magnitude >> type.mantissa,
            fraction = magnitude & ((1 << type.mantissa) - 1);
  const int whole = exponent ? fraction + (1 << type.mantissa) : fraction;
  const int power = type.least_exponent - type.mantissa + (exponent ? exponent - 1 : 0);
  const float size = std::ldexp(float(whole), power);
  return code >> (type.bits - 1) ? -size : size;
}
float special_or_float(int32_t element_type, const NarrowType& type, uint8_t code) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN(),
                  kInfinite = std::numeric_limits<float>::infinity();
  const uint8_t magnitude = code & 0x7F;
  switch (element_type) {
    case kE4M3:
      if (magnitude == 0x7F) return kNone;
      break;
    case kE5M2:
      if (magnitude > 0x7C) return kNone;
      if (magnitude == 0x7C) return code >> 7 ? -kInfinite : kInfinite;
      break;
    case kE4M3Fnuz:
    case kE5M2Fnuz:
      if (code == 0x80) return kNone;
      break;
    case kE8M0: return code == 0xFF ? kNone : std::ldexp(1.0f, int(code) - 127);
    default: break;
  }
  return float_of(type, code);
}

}  // namespace

std::optional<NarrowType> narrow_type(int64_t element_type) {
  switch (element_type) {
    case kE4M3: return floats(8, 3, -6, 448, false);
    case kE4M3Fnuz: return floats(8, 3, -7, 240, false);
    case kE5M2: return floats(8, 2, -14, 57344, true);
    case kE5M2Fnuz: return floats(8, 2, -15, 57344, false);
    case kE2M1: return floats(4, 1, 0, 6, false);
    case kE8M0: return floats(8, 0, 0, 0, false);
    case kUint4: return integers(4, false);
    case kInt4: return integers(4, true);
    case kUint2: return integers(2, false);
    case kInt2: return integers(2, true);
    default: return std::nullopt;
  }
}

std::vector<uint8_t> widened(int32_t element_type, const uint8_t* bytes, int64_t count) {
  const NarrowType type = *narrow_type(element_type);
  const int64_t each = 8 / type.bits;
  std::vector<uint8_t> out(size_t(count) * (type.is_float() ? sizeof(float) : 1));
  for (int64_t i = 0; i < count; i++) {
    const uint8_t code =
        uint8_t(bytes[i / each] >> (i % each * type.bits) & ((1 << type.bits) - 1));
    if (type.is_float()) {
      const float number = special_or_float(element_type, type, code);
      std::memcpy(out.data() + size_t(i) * sizeof number, &number, sizeof number);
    } else {
      const int64_t number = int64_t(code) > type.high ? int64_t(code) - 2 * (type.high + 1) : code;
      out[size_t(i)] = uint8_t(number);
    }
  }
  return out;
}

}  // namespace ingot::onnx
