// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/gguf_blocks.cpp - layouts as the GGUF format defines them. d and m are half
// floats; nibbles come low half first.
#include "tools/checkpoint/flat/gguf_blocks.h"

#include <cmath>
#include <cstring>
#include <initializer_list>

#include "tools/checkpoint/flat/gguf_encode.h"

namespace ingot::checkpoint {
namespace {

float half(const uint8_t* at) {
  const uint32_t bits = uint32_t(at[0]) | uint32_t(at[1]) << 8;
  const int exponent = int(bits >> 10 & 31);
  const float mantissa = float(bits & 1023), sign = bits & 0x8000 ? -1.f : 1.f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  return exponent ? sign * std::ldexp(1024 + mantissa, exponent - 25)
                  : sign * std::ldexp(mantissa, -24);
}

/// Q4_0 [d][16 x 2 nibbles], (q - 8) d.
void q4_0(const uint8_t* b, float* y) {
  const float d = half(b);
  for (int i = 0; i < 16; i++) {
    y[i] = float(int(b[2 + i] & 15) - 8) * d;
    y[i + 16] = float(int(b[2 + i] >> 4) - 8) * d;
  }
}
/// Q4_1 [d][m][16 x 2 nibbles], q d + m.
void q4_1(const uint8_t* b, float* y) {
  const float d = half(b), m = half(b + 2);
  for (int i = 0; i < 16; i++) {
    y[i] = float(b[4 + i] & 15) * d + m;
    y[i + 16] = float(b[4 + i] >> 4) * d + m;
  }
}
uint32_t word(const uint8_t* at) {
  return uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 | uint32_t(at[3]) << 24;
}
/// Fifth bits of element i: bit i of a word.
int five(uint32_t high, int nibble, int i) { return nibble | int(high >> i & 1) << 4; }
void q5_0(const uint8_t* b, float* y) {
  const float d = half(b);
  const uint32_t high = word(b + 2);
  for (int i = 0; i < 16; i++) {
    y[i] = float(five(high, b[6 + i] & 15, i) - 16) * d;
    y[i + 16] = float(five(high, b[6 + i] >> 4, i + 16) - 16) * d;
  }
}
void q5_1(const uint8_t* b, float* y) {
  const float d = half(b), m = half(b + 2);
  const uint32_t high = word(b + 4);
  for (int i = 0; i < 16; i++) {
    y[i] = float(five(high, b[8 + i] & 15, i)) * d + m;
    y[i + 16] = float(five(high, b[8 + i] >> 4, i + 16)) * d + m;
  }
}
void q8_0(const uint8_t* b, float* y) {
  const float d = half(b);
  for (int i = 0; i < 32; i++) y[i] = float(int8_t(b[2 + i])) * d;
}

/// Q2_K [16 scales][64 x 4 crumbs][d][dmin]: sixteen groups of 16, scale in the low nibble, minimum
/// in the high one.
void q2_k(const uint8_t* b, float* y) {
  const float d = half(b + 80), least = half(b + 82);
  const uint8_t* q = b + 16;
  for (int group = 0; group < 16; group++) {
    const int outer = group / 8, shift = group % 8 / 2 * 2, start = outer * 32 + group % 2 * 16;
    const float scale = d * float(b[group] & 15), minimum = least * float(b[group] >> 4);
    for (int i = 0; i < 16; i++) *y++ = scale * float(q[start + i] >> shift & 3) - minimum;
  }
}

/// Q3_K [32 x 8 high bits][64 x 4 crumbs][12 bytes of 16 six-bit scales][d].
void q3_k(const uint8_t* b, float* y) {
  const float d = half(b + 108);
  const uint8_t *high = b, *q = b + 32, *s = b + 96;
  for (int group = 0; group < 16; group++) {
    const int low = group < 8 ? s[group] & 15 : s[group - 8] >> 4;
    const int scale = (low | (s[8 + group % 4] >> group / 4 * 2 & 3) << 4) - 32;
    const int outer = group / 8, level = group % 8 / 2, start = group % 2 * 16;
    const int bit = outer * 4 + level;
    for (int i = 0; i < 16; i++) {
      const int value =
          (q[outer * 32 + start + i] >> level * 2 & 3) - (high[start + i] >> bit & 1 ? 0 : 4);
      *y++ = d * float(scale) * float(value);
    }
  }
}

/// The j-th of eight six-bit scales and minimums in twelve bytes.
void scale_of(const uint8_t* s, int j, int* scale, int* minimum) {
  if (j < 4) {
    *scale = s[j] & 63;
    *minimum = s[j + 4] & 63;
  } else {
    *scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
    *minimum = s[j + 4] >> 4 | s[j] >> 6 << 4;
  }
}
/// Q4_K [d][dmin][12 bytes of scales][128 x 2 nibbles]: pairs of 32 share 32 bytes.
void q4_k(const uint8_t* b, float* y) {
  const float d = half(b), least = half(b + 2);
  for (int j = 0; j < 8; j++) {
    int scale, minimum;
    scale_of(b + 4, j, &scale, &minimum);
    const uint8_t* q = b + 16 + j / 2 * 32;
    for (int i = 0; i < 32; i++)
      *y++ = d * float(scale) * float(j % 2 ? q[i] >> 4 : q[i] & 15) - least * float(minimum);
  }
}
/// Q5_K [d][dmin][12 bytes of scales][32 x 8 high bits][128 x 2 nibbles].
void q5_k(const uint8_t* b, float* y) {
  const float d = half(b), least = half(b + 2);
  for (int j = 0; j < 8; j++) {
    int scale, minimum;
    scale_of(b + 4, j, &scale, &minimum);
    const uint8_t *high = b + 16, *q = b + 48 + j / 2 * 32;
    for (int i = 0; i < 32; i++) {
      const int value = (j % 2 ? q[i] >> 4 : q[i] & 15) | (high[i] >> j & 1) << 4;
      *y++ = d * float(scale) * float(value) - least * float(minimum);
    }
  }
}
/// Q6_K [128 x 2 nibbles][64 x 4 crumbs][16 scales, int8][d].
void q6_k(const uint8_t* b, float* y) {
  const float d = half(b + 208);
  for (int outer = 0; outer < 2; outer++) {
    const uint8_t *low = b + outer * 64, *high = b + 128 + outer * 32;
    for (int part = 0; part < 4; part++) {
      for (int i = 0; i < 32; i++) {
        const uint8_t byte = low[i + part % 2 * 32];
        const int value =
            ((part < 2 ? byte & 15 : byte >> 4) | (high[i] >> part * 2 & 3) << 4) - 32;
        *y++ = d * float(int8_t(b[192 + outer * 8 + part * 2 + i / 16])) * float(value);
      }
    }
  }
}

/// What nibbles of IQ4 types stand for.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};
/// Elements i and i + 16 of 32 share a byte.
void looked_up(const int8_t* values, float d, const uint8_t* q, float* y) {
  for (int i = 0; i < 16; i++) {
    y[i] = d * float(values[q[i] & 15]);
    y[i + 16] = d * float(values[q[i] >> 4]);
  }
}
/// IQ4_NL [d][16 x 2 nibbles].
void iq4_nl(const uint8_t* b, float* y) { looked_up(kIq4Values, half(b), b + 2, y); }
/// IQ4_XS [d][8 x 2 high bits of scales][8 x 4 low bits][8 x 16 x 2 nibbles], scale - 32.
void iq4_xs(const uint8_t* b, float* y) {
  const float d = half(b);
  const int high = b[2] | b[3] << 8;
  for (int j = 0; j < 8; j++) {
    const int scale = (b[4 + j / 2] >> j % 2 * 4 & 15) | (high >> 2 * j & 3) << 4;
    looked_up(kIq4Values, d * float(scale - 32), b + 8 + 16 * j, y + 32 * j);
  }
}
/// MXFP4 [e][16 x 2 nibbles], floats of 4 bits times 2^(e - 127): twice as large in the table.
void mxfp4(const uint8_t* b, float* y) {
  constexpr int8_t kValues[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  looked_up(kValues, std::ldexp(1.f, int(b[0]) - 128), b + 1, y);
}

/// The n-th of five numbers of three values in a byte, the first the most significant: byte * 3^n /
/// 256 is a fraction of one third, and less 1 it is what stands there.
float third(uint8_t byte, int n) {
  constexpr uint8_t kPowers[] = {1, 3, 9, 27, 81};
  return float(int(uint8_t(byte * kPowers[n]) * 3 >> 8) - 1);
}
/// TQ1_0 [48 bytes of five][4 of four][d]: of each n all bytes in turn, of 32 bytes, 16 and 4.
void tq1_0(const uint8_t* b, float* y) {
  const float d = half(b + 52);
  for (const int bytes : {32, 16, 4}) {
    for (int n = 0; n < (bytes == 4 ? 4 : 5); n++)
      for (int i = 0; i < bytes; i++) *y++ = third(b[i], n) * d;
    b += bytes;
  }
}
/// TQ2_0 [64 x 4 crumbs][d], q - 1: of 32 bytes all first crumbs, then the second ones.
void tq2_0(const uint8_t* b, float* y) {
  const float d = half(b + 64);
  for (int i = 0; i < 256; i++)
    *y++ = float(int(b[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1) * d;
}

constexpr GgufBlock kBlocks[] = {
    {2, "Q4_0", 32, 18, q4_0, encode_q4_0},    {3, "Q4_1", 32, 20, q4_1, encode_q4_1},
    {6, "Q5_0", 32, 22, q5_0, encode_q5_0},    {7, "Q5_1", 32, 24, q5_1, encode_q5_1},
    {8, "Q8_0", 32, 34, q8_0, encode_q8_0},    {10, "Q2_K", 256, 84, q2_k, nullptr},
    {11, "Q3_K", 256, 110, q3_k, nullptr},     {12, "Q4_K", 256, 144, q4_k, encode_q4_k},
    {13, "Q5_K", 256, 176, q5_k, encode_q5_k}, {14, "Q6_K", 256, 210, q6_k, encode_q6_k},
    {20, "IQ4_NL", 32, 18, iq4_nl, nullptr},   {23, "IQ4_XS", 256, 136, iq4_xs, nullptr},
    {34, "TQ1_0", 256, 54, tq1_0, nullptr},    {35, "TQ2_0", 256, 66, tq2_0, nullptr},
    {39, "MXFP4", 32, 17, mxfp4, nullptr},
};

}  // namespace

const GgufBlock* find_gguf_block(uint32_t type) {
  for (const GgufBlock& block : kBlocks)
    if (block.type == type) return &block;
  return nullptr;
}

void decode_gguf_blocks(const GgufBlock& block, const uint8_t* begin, uint64_t bytes, float* out) {
  for (uint64_t at = 0; at < bytes; at += block.bytes, out += block.elements)
    block.decode(begin + at, out);
}

}  // namespace ingot::checkpoint
