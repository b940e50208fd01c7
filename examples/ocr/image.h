// SPDX-License-Identifier: Apache-2.0
// image.h - an RGB image in memory: PNG in (libpng), bilinear sampling, upright cut-outs of
// turned rectangles.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // height x width x 3
  const uint8_t* at(int x, int y) const { return &rgb[(static_cast<size_t>(y) * width + x) * 3]; }
};

struct Point {
  float x, y;
};
/// Corners in reading order: top left, top right, bottom right, bottom left.
struct Quad {
  Point corner[4];
};

/// Throws std::runtime_error with one line that says what is wrong.
Image load_png(const std::string& path);
Image resize(const Image& image, int width, int height);
/// The quad's content, upright, `width` x `height` pixels; outside the image the nearest pixel is
/// taken.
Image cut_out(const Image& image, const Quad& quad, int width, int height);
Image turn_half(const Image& image);
/// Planes in the order blue, green, red, each value v/127.5 - 1, as the OCR networks were trained.
void to_planes(const Image& image, float* planes, int padded_width);
