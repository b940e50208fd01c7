// SPDX-License-Identifier: Apache-2.0
// tests/support/raw_inputs.h - a model, and inputs for it from raw files: DIR/NAME.bin ('/' and ':'
// in NAME written as '_').
#pragma once
#include <ingot/ingot.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace ingot::raw {

inline int fail(const char* what, const ingot_error& error) {
  char text[512];
  ingot_error_text(&error, text, sizeof text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

inline bool read_all(const std::string& path, void* to, uint64_t bytes) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) return false;
  const size_t got = bytes ? std::fread(to, 1, bytes, f) : 0;
  const bool more = std::fgetc(f) != EOF;
  std::fclose(f);
  return got == bytes && !more;
}

/// Calls add(bytes, count) for each element in order; every NaN of f32 as one pattern, since NaN
/// equals NaN.
template <class Add>
void each_element(const ingot_tensor& t, Add add) {
  const size_t width = ingot_dtype_bytes(t.dtype);
  const int64_t row = t.rank ? t.dims[t.rank - 1] : 1;
  int64_t rows = 1;
  for (int i = 0; i + 1 < t.rank; i++) rows *= t.dims[i];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < row; i++) {
      const uint8_t* p =
          static_cast<const uint8_t*>(t.data) + static_cast<size_t>(r * t.row_stride + i) * width;
      uint32_t bits;
      if (t.dtype == INGOT_F32 && (std::memcpy(&bits, p, 4), (bits & 0x7fffffffu) > 0x7f800000u)) {
        bits = 0x7fc00000u;
        p = reinterpret_cast<const uint8_t*>(&bits);
      }
      add(p, width);
    }
}

inline uint64_t hash_of(const ingot_tensor& t) {
  uint64_t hash = 14695981039346656037u;
  each_element(t, [&](const uint8_t* p, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 1099511628211u;
  });
  return hash;
}

struct Opened {
  ingot_model* model = nullptr;
  ingot_model_summary summary{};
  std::vector<ingot_value_type> inputs;
  std::vector<ingot_binding> bindings;
  ingot_session_options options{};
  ~Opened() { ingot_model_destroy(model); }
};

/// Binds every symbol that stands alone in an input's dimensions to what the shapes on the command
/// line say.
inline bool bind_from_shapes(Opened* o, int count, char** shapes) {
  for (int i = 0; i < count; i++) {
    const char* equals = std::strrchr(shapes[i], '=');
    if (!equals) return std::fprintf(stderr, "%s: expected NAME=1x2x3\n", shapes[i]), false;
    const int32_t index = ingot_model_find_input(
        o->model, std::string(shapes[i], static_cast<size_t>(equals - shapes[i])).c_str());
    if (index < 0) return std::fprintf(stderr, "%s: no such input\n", shapes[i]), false;
    const ingot_value_type& type = o->inputs[static_cast<size_t>(index)];
    const char* at = equals + 1;
    for (int d = 0; d < type.rank; d++) {
      char* end = nullptr;
      const long long n = std::strtoll(at, &end, 10);
      at = *end == 'x' ? end + 1 : end;
      if (type.dim_symbol[d] < 0) continue;
      ingot_symbol symbol{};
      ingot_model_symbol(o->model, static_cast<uint32_t>(type.dim_symbol[d]), &symbol);
      const auto same = [&](const ingot_binding& b) {
        return std::strcmp(b.name, symbol.name) == 0;
      };
      if (std::none_of(o->bindings.begin(), o->bindings.end(), same))
        o->bindings.push_back({symbol.name, n});
    }
  }
  return true;
}

/// Small numbers, the same ones every time; of whole numbers and bools 0 and 1.
inline void make_numbers(const ingot_tensor& t) {
  uint8_t* const bytes = static_cast<uint8_t*>(t.data);
  const size_t width = ingot_dtype_bytes(t.dtype);
  std::memset(bytes, 0, t.bytes);
  for (size_t i = 0; i < t.bytes / width; i++) {
    const float number = float(int(i * 37 % 64) - 32) / 16;
    if (t.dtype == INGOT_F32)
      std::memcpy(bytes + i * width, &number, sizeof number);
    else
      bytes[i * width] = uint8_t(i % 2);
  }
}

/// `items`: each file has one, and is repeated. `dir` "-": numbers made here.
inline bool fill_inputs(const Opened& o, ingot_session* session, const std::string& dir,
                        uint64_t items = 1) {
  for (uint32_t i = 0; i < o.summary.input_count; i++) {
    ingot_tensor t{};
    ingot_session_input(session, i, &t);
    if (dir == "-") {
      make_numbers(t);
      continue;
    }
    std::string name = o.inputs[i].name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '/' || c == ':'; }, '_');
    const std::string path = dir + "/" + name + ".bin";
    const uint64_t bytes = t.bytes / items;
    if (bytes * items != t.bytes || !read_all(path, t.data, bytes)) {
      std::fprintf(stderr, "%s: expected exactly %" PRIu64 " bytes\n", path.c_str(), bytes);
      return false;
    }
    for (uint64_t n = 1; n < items; n++)
      std::memcpy(static_cast<uint8_t*>(t.data) + n * bytes, t.data, bytes);
  }
  return true;
}

/// Opens a file and binds what `shapes` say, "NAME=1x2x3". Returns an exit code.
inline int open_raw(const char* path, const ingot_kernel_table* kernels, ingot_map map, int count,
                    char** shapes, Opened* o) {
  ingot_error error{};
  ingot_open_options open{};
  open.size = sizeof open, open.kernels = kernels, open.map = map;
  if (ingot_model_open(path, &open, &o->model, &error)) return fail(path, error);
  o->summary.size = sizeof o->summary;
  ingot_model_summarize(o->model, &o->summary);
  o->inputs.resize(o->summary.input_count);
  for (uint32_t i = 0; i < o->summary.input_count; i++)
    ingot_model_input(o->model, i, &o->inputs[i]);
  if (!bind_from_shapes(o, count, shapes)) return 1;
  o->options.size = sizeof o->options;
  o->options.bindings = o->bindings.data(), o->options.binding_count = o->bindings.size();
  return 0;
}

}  // namespace ingot::raw
