// SPDX-License-Identifier: Apache-2.0
// read_image.cpp - finds and reads the text of an image with three converted networks: detection at
// one size, direction and recognition at whatever width a line has (a symbolic dimension, bound
// when the session is made).
//
//   read_image DET.ingot CLS.ingot REC.ingot IMAGE.png [threads]
//
// Prints one line of text per line found, with its score, then memory and time. The characters come
// from the recognition file's own metadata ("character", as its source carried them).
#include <ingot/cpu.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ingot/ingot.hpp>
#include <string>
#include <vector>

#include "image.h"
#include "text_boxes.h"

namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

template <class T>
T need(ingot::Result<T> result, const std::string& what) {
  if (!result) {
    std::fprintf(stderr, "read_image: %s: %s\n", what.c_str(), result.error().text().c_str());
    std::exit(7);
  }
  return std::move(*result);
}
void need(ingot::Result<void> result, const std::string& what) {
  if (!result.ok()) {
    std::fprintf(stderr, "read_image: %s: %s\n", what.c_str(), result.error().text().c_str());
    std::exit(7);
  }
}

/// A model whose every symbolic dimension gets a number from `dims` (batch 1 when not named).
struct Network {
  ingot::Model model;
  int threads;
  uint64_t largest_arena = 0;

  ingot::Session session(int height, int width) {
    std::vector<ingot_binding> bindings;
    const ingot_model_summary summary = model.summary();
    const ingot_value_type x = need(model.input(0), "the network");
    for (uint32_t i = 0; i < summary.symbol_count; i++) {
      const ingot_symbol symbol = need(model.symbol(i), "the network");
      int64_t value = 1;
      if (x.dim_symbol[2] == static_cast<int32_t>(i)) value = height;
      if (x.dim_symbol[3] == static_cast<int32_t>(i)) value = width;
      bindings.push_back({symbol.name, value});
    }
    ingot_session_options options = ingot::session_options();
    options.bindings = bindings.data(), options.binding_count = bindings.size(),
    options.threads = threads;
    ingot::Session made = need(model.session(options), "session");
    largest_arena = std::max(largest_arena, made.requirements().arena_bytes);
    return made;
  }
};

/// One label a line, as the source carried them.
std::vector<std::string> labels(const ingot::Model& model) {
  uint64_t bytes = 0;
  if (ingot_model_metadata(model.get(), "character", nullptr, 0, &bytes, nullptr)) return {};
  std::string text(bytes, '\0');
  ingot_model_metadata(model.get(), "character", text.data(), bytes, &bytes, nullptr);
  std::vector<std::string> lines;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

struct Reading {
  std::string text;
  float score;
};

/// Connectionist temporal classification, greedy: the best label of each column, repeats and blanks
/// (0) dropped.
Reading decode(const float* probability, int64_t columns, int64_t labels,
               const std::vector<std::string>& characters) {
  Reading reading{"", 0};
  int64_t last = 0;
  int kept = 0;
  for (int64_t t = 0; t < columns; t++) {
    const float* p = probability + t * labels;
    int64_t best = 0;
    for (int64_t k = 1; k < labels; k++)
      if (p[k] > p[best]) best = k;
    if (best != last && best != 0) {
      reading.text += static_cast<size_t>(best) <= characters.size()
                          ? characters[static_cast<size_t>(best) - 1]
                          : " ";
      reading.score += p[best], kept++;
    }
    last = best;
  }
  if (kept) reading.score /= static_cast<float>(kept);
  return reading;
}

float side(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

/// The line upright, `height` pixels high.
Image line_image(const Image& image, const Quad& quad, int height) {
  const Point* q = quad.corner;
  const float w = std::max(side(q[0], q[1]), side(q[3], q[2])),
              h = std::max(side(q[0], q[3]), side(q[1], q[2]));
  Quad turned = quad;
  const bool tall = h >= 1.5f * w;  // vertical writing
  if (tall) turned = {{q[1], q[2], q[3], q[0]}};
  const float ratio = tall ? h / w : w / h;
  return cut_out(image, turned,
                 std::max(16, static_cast<int>(std::ceil(static_cast<float>(height) * ratio))),
                 height);
}

/// 180 degrees when the direction network is sure of it.
bool upside_down(Network& network, const Image& line) {
  ingot::Session session = network.session(48, 192);
  const Image fitted = resize(line, std::min(192, line.width), 48);
  to_planes(fitted, need(session.input<float>(0), "direction").data, 192);
  need(session.run(), "direction");
  const auto p = need(session.output<float>(0), "direction");
  return p[1] > 0.9f;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5)
    return std::fprintf(stderr,
                        "usage: read_image DET.ingot CLS.ingot REC.ingot IMAGE.png [threads]\n"),
           1;
  const int threads = argc > 5 ? std::atoi(argv[5]) : 0;
  const ingot_kernel_table* kernels = ingot_cpu_kernels(nullptr);
  Network detect{need(ingot::Model::open(argv[1], kernels), argv[1]), threads};
  Network direction{need(ingot::Model::open(argv[2], kernels), argv[2]), threads};
  Network recognize{need(ingot::Model::open(argv[3], kernels), argv[3]), threads};
  const std::vector<std::string> characters = labels(recognize.model);
  if (characters.empty())
    return std::fprintf(stderr, "read_image: %s: carries no characters\n", argv[3]), 5;
  const Image image = load_png(argv[4]);

  const auto begin = Clock::now();
  const ingot_value_type x = need(detect.model.input(0), argv[1]);
  const auto round32 = [](int n) { return std::max(32, (n + 16) / 32 * 32); };
  const int height = x.dims[2] > 0 ? static_cast<int>(x.dims[2]) : round32(image.height);
  const int width = x.dims[3] > 0 ? static_cast<int>(x.dims[3]) : round32(image.width);
  ingot::Session session = detect.session(height, width);
  to_planes(resize(image, width, height), need(session.input<float>(0), "detection").data, width);
  need(session.run(), "detection");
  std::vector<TextBox> boxes =
      find_text_boxes(need(session.output<float>(0), "detection").data, width, height);
  const double detect_ms = ms_since(begin);

  const auto begin_reading = Clock::now();
  const float sx = static_cast<float>(image.width) / static_cast<float>(width),
              sy = static_cast<float>(image.height) / static_cast<float>(height);
  for (TextBox& box : boxes) {
    for (Point& p : box.quad.corner) p.x *= sx, p.y *= sy;
    Image line = line_image(image, box.quad, 48);
    if (upside_down(direction, line)) line = turn_half(line);
    ingot::Session reader = recognize.session(48, line.width);
    to_planes(line, need(reader.input<float>(0), "recognition").data, line.width);
    need(reader.run(), "recognition");
    const ingot_tensor out = need(reader.output(0), "recognition");
    const Reading reading = decode(need(reader.output<float>(0), "recognition").data, out.dims[1],
                                   out.dims[2], characters);
    if (reading.score >= 0.5f)
      std::printf("%-32s  score %.3f\n", reading.text.c_str(), reading.score);
  }
  std::printf(
      "%zu lines; detection %.0f ms, direction and reading %.0f ms; arenas %.1f, %.1f, %.1f MB "
      "(weights included)\n",
      boxes.size(), detect_ms, ms_since(begin_reading),
      static_cast<double>(detect.largest_arena) / 1e6,
      static_cast<double>(direction.largest_arena) / 1e6,
      static_cast<double>(recognize.largest_arena) / 1e6);
  return boxes.empty() ? 6 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "read_image: %s\n", error.what());
  return 7;
}
