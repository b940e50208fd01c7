// SPDX-License-Identifier: Apache-2.0
// runtime/api/quantization_api.cpp - what the integers of a port stand for, out of the metadata:
// "scale 0.00392156886 zero_point -128 bits 3f70101020000000" under "ingot.quantization.NAME",
// where `bits` is the scale as an f64.
#include <cstring>

#include "runtime/api/text_line.h"
#include "runtime/api/translate.h"

using namespace ingot;
using namespace ingot::api;

namespace {

constexpr size_t kMaxText = 160, kMaxKey = 1024;

/// Behind `word` and a space; null where it is not there.
const char* behind(const char* text, const char* word) {
  const char* const at = std::strstr(text, word);
  return at ? at + std::strlen(word) : nullptr;
}

bool read_zero_point(const char* at, int32_t* out) {
  const bool is_negative = *at == '-';
  if (is_negative) at++;
  int64_t value = 0;
  int digits = 0;
  for (; *at >= '0' && *at <= '9' && digits < 10; at++, digits++) value = value * 10 + (*at - '0');
  if (is_negative) value = -value;
  *out = int32_t(value);
  return digits > 0 && value >= INT32_MIN && value <= INT32_MAX;
}

bool read_scale(const char* at, double* out) {
  uint64_t bits = 0;
  for (int i = 0; i < 16; i++) {
    const char c = at[i];
    const bool is_digit = c >= '0' && c <= '9', is_letter = c >= 'a' && c <= 'f';
    if (!is_digit && !is_letter) return false;
    bits = bits << 4 | uint64_t(is_digit ? c - '0' : c - 'a' + 10);
  }
  std::memcpy(out, &bits, sizeof bits);
  return *out > 0 && *out <= 3.5e38;
}

}  // namespace

extern "C" ingot_code ingot_model_quantization(const ingot_model* model, const char* port,
                                               ingot_quantization* out_quantization,
                                               ingot_error* error) {
  if (!model || !port || !out_quantization)
    return refuse_argument("model, port or out_quantization is null", error);
  if (ingot_model_find_input(model, port) < 0 && ingot_model_find_output(model, port) < 0) {
    const ingot_code code = refuse_argument("port: no input or output has this name", error);
    if (error) std::strncpy(error->name, port, sizeof error->name - 1);
    return code;
  }
  char key[kMaxKey], text[kMaxText + 1] = {};
  if (TextLine(key, sizeof key).add("ingot.quantization.").add(port).end() >= sizeof key)
    return refuse_argument("port: no name is as long", error, INGOT_NOT_FOUND);
  uint64_t bytes = 0;
  const ingot_code code = ingot_model_metadata(model, key, text, kMaxText, &bytes, error);
  if (code == INGOT_NOT_FOUND && error) {
    error->field = "quantization: the file records none for this port";
    std::memset(error->name, 0, sizeof error->name);
    std::strncpy(error->name, port, sizeof error->name - 1);
  }
  if (code) return code;
  const char* const zero_point = behind(text, "zero_point ");
  const char* const bits = behind(text, " bits ");
  ingot_quantization found = {};
  if (!zero_point || !bits || !read_zero_point(zero_point, &found.zero_point) ||
      !read_scale(bits, &found.scale))
    return refuse_argument("metadata: ingot.quantization of a port is not sound", error,
                           INGOT_STRUCTURE_INVALID);
  return write_sized(found, out_quantization)
             ? ingot_code{INGOT_OK}
             : refuse_argument(
                   "quantization.size: not set, or a field that this library does not know is not "
                   "0",
                   error);
}
