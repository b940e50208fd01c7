#include "picture.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

Picture load_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str()))
    throw std::runtime_error(path + ": " + image.message);
  image.format = PNG_FORMAT_RGB;
  Picture picture;
  if (image.width > 16384 || image.height > 16384) {
    png_image_free(&image);
    throw std::runtime_error(path + ": larger than 16384 x 16384 pixels");
  }
  picture.width = static_cast<int>(image.width), picture.height = static_cast<int>(image.height);
  picture.rgb.resize(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, picture.rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + image.message);
  return picture;
}

namespace {

void sample(const Picture& p, float x, float y, uint8_t* out) {
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

Picture blank(int width, int height) {
  Picture p;
  p.width = width, p.height = height;
  p.rgb.resize(static_cast<size_t>(width) * height * 3);
  return p;
}

}  // namespace

Picture resize(const Picture& picture, int width, int height) {
  Picture out = blank(width, height);
  const float sx = static_cast<float>(picture.width) / static_cast<float>(width);
  const float sy = static_cast<float>(picture.height) / static_cast<float>(height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      sample(picture, (static_cast<float>(x) + .5f) * sx - .5f,
             (static_cast<float>(y) + .5f) * sy - .5f,
             &out.rgb[(static_cast<size_t>(y) * width + x) * 3]);
  return out;
}

Picture cut_out(const Picture& picture, const Quad& quad, int width, int height) {
  Picture out = blank(width, height);
  const Point* q = quad.corner;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const float u = (static_cast<float>(x) + .5f) / static_cast<float>(width),
                  v = (static_cast<float>(y) + .5f) / static_cast<float>(height);
      const float px =
          (q[0].x * (1 - u) + q[1].x * u) * (1 - v) + (q[3].x * (1 - u) + q[2].x * u) * v;
      const float py =
          (q[0].y * (1 - u) + q[1].y * u) * (1 - v) + (q[3].y * (1 - u) + q[2].y * u) * v;
      sample(picture, px - .5f, py - .5f, &out.rgb[(static_cast<size_t>(y) * width + x) * 3]);
    }
  return out;
}

Picture turn_half(const Picture& picture) {
  Picture out = picture;
  const size_t n = out.rgb.size() / 3;
  for (size_t i = 0; i < n; i++) std::memcpy(&out.rgb[i * 3], &picture.rgb[(n - 1 - i) * 3], 3);
  return out;
}

void to_planes(const Picture& picture, float* planes, int padded_width) {
  const size_t plane = static_cast<size_t>(padded_width) * picture.height;
  std::fill(planes, planes + 3 * plane, 0.f);
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++)
      for (int c = 0; c < 3; c++)
        planes[static_cast<size_t>(2 - c) * plane + static_cast<size_t>(y) * padded_width + x] =
            static_cast<float>(picture.at(x, y)[c]) / 127.5f - 1.f;
}
