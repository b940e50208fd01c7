// picture.h - an RGB picture in memory: PNG in (libpng), bilinear sampling, upright cut-outs of
// turned rectangles.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

struct Picture {
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
Picture load_png(const std::string& path);
Picture resize(const Picture& picture, int width, int height);
/// The quad's content, upright, `width` x `height` pixels; outside the picture the nearest pixel is
/// taken.
Picture cut_out(const Picture& picture, const Quad& quad, int width, int height);
Picture turn_half(const Picture& picture);
/// Planes in the order blue, green, red, each value v/127.5 - 1, as the OCR networks were trained.
void to_planes(const Picture& picture, float* planes, int padded_width);
