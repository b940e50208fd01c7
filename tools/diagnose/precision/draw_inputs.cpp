// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/precision/draw_inputs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "tools/session/make_inputs.h"
#include "tools/session/random.h"

namespace ingot::precision {

using cli::Random;

namespace {

constexpr int kWaves = 6, kBoxes = 10;
constexpr int64_t kShortest = 8;  // of an axis along which numbers are related; others are channels

/// Between -1 and 1; no library's sine, whose last bit differs.
double triangle(double x) { return 4 * std::fabs(x - std::floor(x) - 0.5) - 1; }

/// A product of one function an axis.
std::vector<std::vector<double>> term_of(const std::vector<int64_t>& dims, bool is_box,
                                         Random* random) {
  std::vector<std::vector<double>> term;
  for (const int64_t extent : dims) {
    std::vector<double> axis(static_cast<size_t>(extent));
    if (extent < kShortest) {
      for (double& x : axis) x = random->between(is_box ? 0 : -1, 1);
    } else {
      const double waves = random->between(0.5, 8), phase = random->between(0, 1);
      const double width = random->between(0.03, 0.4), begin = random->between(-width / 2, 1);
      for (int64_t k = 0; k < extent; k++) {
        const double at = double(k) / double(extent);
        axis[size_t(k)] =
            is_box ? double(at >= begin && at < begin + width) : triangle(waves * at + phase);
      }
    }
    term.push_back(std::move(axis));
  }
  return term;
}

/// Adds `sign` times the term.
void add(const std::vector<std::vector<double>>& term, double sign, size_t axis, float** to) {
  if (axis == term.size()) {
    *(*to)++ += float(sign);
    return;
  }
  for (const double x : term[axis]) add(term, sign * x, axis + 1, to);
}

void draw_surface(host::Array* array, double low, double high, Random* random) {
  float* const numbers = array->as<float>();
  const size_t count = size_t(array->elements());
  std::fill(numbers, numbers + count, 0.0f);
  for (int k = 0; k < kWaves + kBoxes; k++) {
    const bool is_box = k >= kWaves;
    const double sign = is_box ? random->between(-2, 2) : random->between(0.2, 1);
    float* to = numbers;
    add(term_of(array->dims, is_box, random), sign, 0, &to);
  }
  const auto [least, most] = std::minmax_element(numbers, numbers + count);
  const double from = double(*least), span = std::max(double(*most) - from, 1e-30);
  for (size_t k = 0; k < count; k++)
    numbers[k] = float(low + (high - low) * ((double(numbers[k]) - from) / span));
}

/// A plane in the two longest axes of a tensor, alike in all others.
class Page {
 public:
  Page(const std::vector<int64_t>& dims, float ground) {
    const size_t across = longest(dims, dims.size()), down = longest(dims, across);
    int64_t stride = 1;
    for (size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
      if (d == across) width_ = dims[d], across_ = stride;
      if (d == down) height_ = dims[d], down_ = stride;
    }
    dots_.assign(size_t(width_ * height_), ground);
  }
  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  float at(int64_t element) const {
    return dots_[size_t(element / down_ % height_ * width_ + element / across_ % width_)];
  }
  void fill(int64_t left, int64_t top, int64_t width, int64_t height, float ink) {
    for (int64_t y = top; y < std::min(top + height, height_); y++)
      for (int64_t x = left; x < std::min(left + width, width_); x++)
        dots_[size_t(y * width_ + x)] = ink;
  }

 private:
  static size_t longest(const std::vector<int64_t>& dims, size_t other_than) {
    size_t found = dims.size();
    for (size_t d = 0; d < dims.size(); d++)
      if (d != other_than && (found == dims.size() || dims[d] >= dims[found])) found = d;
    return found;
  }
  int64_t width_ = 1, height_ = 1, across_ = 1, down_ = 1;
  std::vector<float> dots_;
};

/// Two upright strokes and two level ones.
void draw_letter(Page* page, int64_t left, int64_t top, int64_t width, int64_t height, float ink,
                 Random* random) {
  const int64_t thick = std::max<int64_t>(1, height / 8);
  for (int stroke = 0; stroke < 4; stroke++) {
    if (stroke % 2)
      page->fill(left, top + int64_t(random->between(0, 1) * double(height)), width, thick, ink);
    else
      page->fill(left + int64_t(random->between(0, 1) * double(width)), top, thick, height, ink);
  }
}

/// Lines of letters on an even ground.
void draw_page(host::Array* array, double ground, double ink, Random* random) {
  Page page(array->dims, float(ground));
  const auto part_of = [&](int64_t whole, double low, double high, int64_t least) {
    return std::max(least, int64_t(double(whole) * random->between(low, high)));
  };
  for (int64_t top = page.height() / 16; top < page.height();) {
    const int64_t height = part_of(page.height(), 0.04, 0.12, 3);
    const int64_t end = part_of(page.width(), 0.5, 0.98, 1);
    for (int64_t left = part_of(page.width(), 0.02, 0.3, 0); left < end;) {
      const int64_t width = part_of(height, 0.3, 0.9, 2);
      draw_letter(&page, left, top, width, height, float(ink), random);
      left += width + part_of(height, 0.1, 0.7, 1);
    }
    top += height + part_of(height, 0.3, 1.5, 1);
  }
  for (int64_t k = 0; k < array->elements(); k++) array->as<float>()[k] = page.at(k);
}

/// Tones with a little noise: without it, a spectrum has bins that are nothing but roundings.
void draw_signal(host::Array* array, double low, double high, Random* random) {
  constexpr int kTones = 5;
  constexpr double kNoise = 0.1;
  const int64_t count = array->elements(),
                length = *std::max_element(array->dims.begin(), array->dims.end());
  std::vector<double> sum(static_cast<size_t>(count));
  for (double& x : sum) x = random->between(-kNoise, kNoise);
  for (int tone = 0; tone < kTones; tone++) {
    const double waves = std::exp2(random->between(1, std::log2(double(length) / 4)));
    const double phase = random->between(0, 1), loud = random->between(0.1, 1);
    for (int64_t k = 0; k < count; k++)
      sum[size_t(k)] += loud * triangle(waves * double(k) / double(length) + phase);
  }
  const double most = kTones + kNoise;
  for (int64_t k = 0; k < count; k++)
    array->as<float>()[k] = float(low + (high - low) * (0.5 + 0.5 * sum[size_t(k)] / most));
}

void draw_noise(host::Array* array, double low, double high, Random* random) {
  for (int64_t k = 0; k < array->elements(); k++)
    array->as<float>()[k] = float(random->between(low, high));
}

struct Kind {
  void (*draw)(host::Array* array, double low, double high, Random* random);
  double low, high;
};
constexpr Kind kOfImages[] = {{draw_page, 1, 0},     {draw_page, 2, -2},  {draw_noise, 0, 1},
                              {draw_surface, -2, 2}, {draw_noise, -1, 1}, {draw_surface, 0, 1},
                              {draw_page, -2, 2}};
constexpr Kind kOfSignals[] = {
    {draw_signal, -1, 1}, {draw_noise, 0, 1}, {draw_signal, -0.1, 0.1}, {draw_noise, -1, 1}};

/// Masks: true at first along the last axis, then false, so that whatever they mean some are seen.
void draw_mask(host::Array* array, Random* random) {
  const int64_t length = array->dims.back();
  const int64_t most = std::max<int64_t>(1, int64_t(double(length) * random->between(0.3, 0.9)));
  for (int64_t k = 0; k < array->elements(); k++) array->bytes[size_t(k)] = k % length < most;
}

/// Numbers are related along two axes.
bool is_image(const std::vector<int64_t>& dims) {
  return std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d >= kShortest; }) >= 2;
}

const Kind& kind_of(const std::vector<int64_t>& dims, uint64_t draw) {
  return is_image(dims) ? kOfImages[draw % std::size(kOfImages)]
                        : kOfSignals[draw % std::size(kOfSignals)];
}

}  // namespace

host::Array draw_input(const cli::Engine& engine, uint32_t i, const ingot_tensor& like,
                       uint64_t draw) {
  host::Array array = cli::make_input(engine, i, like, draw);
  if (array.elements() == 0) return array;
  Random random{draw * 1000003 + i};
  if (array.dtype == DType::kBool && array.elements() > 1) draw_mask(&array, &random);
  if (array.dtype != DType::kF32) return array;
  const Kind& kind = kind_of(array.dims, draw);
  kind.draw(&array, kind.low, kind.high, &random);
  return array;
}

}  // namespace ingot::precision
