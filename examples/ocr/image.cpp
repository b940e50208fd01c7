// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

Image load_png(const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&png, path.c_str()))
    throw std::runtime_error(path + ": " + png.message);
  png.format = PNG_FORMAT_RGB;
  Image image;
  if (png.width > 16384 || png.height > 16384) {
    png_image_free(&png);
    throw std::runtime_error(path + ": larger than 16384 x 16384 pixels");
  }
  image.width = static_cast<int>(png.width), image.height = static_cast<int>(png.height);
  image.rgb.resize(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, image.rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + png.message);
  return image;
}

namespace {

void sample(const Image& p, float x, float y, uint8_t* out) {
  x = std::clamp(x, 0.f, static_cast<float>(p.width - 1)),
  y = std::clamp(y, 0.f, static_cast<float>(p.height - 1));
  const int x0 = static_cast<int>(x), y0 = static_cast<int>(y);
  const int x1 = std::min(x0 + 1, p.width - 1), y1 = std::min(y0 + 1, p.height - 1);
  const float fx = x - static_cast<float>(x0), fy = y - static_cast<float>(y0);
  for (int c = 0; c < 3; c++) {
    const float top =
        static_cast<float>(p.at(x0, y0)[c]) * (1 - fx) + static_cast<float>(p.at(x1, y0)[c]) * fx;
    const float low =
        static_cast<float>(p.at(x0, y1)[c]) * (1 - fx) + static_cast<float>(p.at(x1, y1)[c]) * fx;
    out[c] = static_cast<uint8_t>(std::lround(top * (1 - fy) + low * fy));
  }
}

Image blank(int width, int height) {
  Image p;
  p.width = width, p.height = height;
  p.rgb.resize(static_cast<size_t>(width) * height * 3);
  return p;
}

}  // namespace

Image resize(const Image& image, int width, int height) {
  Image out = blank(width, height);
  const float sx = static_cast<float>(image.width) / static_cast<float>(width);
  const float sy = static_cast<float>(image.height) / static_cast<float>(height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      sample(image, (static_cast<float>(x) + .5f) * sx - .5f,
             (static_cast<float>(y) + .5f) * sy - .5f,
             &out.rgb[(static_cast<size_t>(y) * width + x) * 3]);
  return out;
}

Image cut_out(const Image& image, const Quad& quad, int width, int height) {
  Image out = blank(width, height);
  const Point* q = quad.corner;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const float u = (static_cast<float>(x) + .5f) / static_cast<float>(width),
                  v = (static_cast<float>(y) + .5f) / static_cast<float>(height);
      const float px =
          (q[0].x * (1 - u) + q[1].x * u) * (1 - v) + (q[3].x * (1 - u) + q[2].x * u) * v;
      const float py =
          (q[0].y * (1 - u) + q[1].y * u) * (1 - v) + (q[3].y * (1 - u) + q[2].y * u) * v;
      sample(image, px - .5f, py - .5f, &out.rgb[(static_cast<size_t>(y) * width + x) * 3]);
    }
  return out;
}

Image turn_half(const Image& image) {
  Image out = image;
  const size_t n = out.rgb.size() / 3;
  for (size_t i = 0; i < n; i++) std::memcpy(&out.rgb[i * 3], &image.rgb[(n - 1 - i) * 3], 3);
  return out;
}

void to_planes(const Image& image, float* planes, int padded_width) {
  const size_t plane = static_cast<size_t>(padded_width) * image.height;
  std::fill(planes, planes + 3 * plane, 0.f);
  for (int y = 0; y < image.height; y++)
    for (int x = 0; x < image.width; x++)
      for (int c = 0; c < 3; c++)
        planes[static_cast<size_t>(2 - c) * plane + static_cast<size_t>(y) * padded_width + x] =
            static_cast<float>(image.at(x, y)[c]) / 127.5f - 1.f;
}
