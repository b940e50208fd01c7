// SPDX-License-Identifier: Apache-2.0
// read_digits.cpp - reads the strip of digits that stands beside it, with the small network trained
// by train.py.
//
//   read_digits DIGITS.ingot DIGITS.png
#include <ingot/cpu.h>
#include <png.h>

#include <algorithm>
#include <cstdio>
#include <ingot/ingot.hpp>
#include <string>
#include <vector>

namespace {

int fail(const char* what, const ingot::Error& error) {
  std::fprintf(stderr, "read_digits: %s: %s\n", what, error.text().c_str());
  return 7;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: read_digits DIGITS.ingot DIGITS.png\n"), 1;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, argv[2]))
    return std::fprintf(stderr, "read_digits: %s: %s\n", argv[2], image.message), 7;
  image.format = PNG_FORMAT_GRAY;
  if (image.height != 28 || image.width % 28 != 0 || image.width > 28 * 64)
    return std::fprintf(stderr, "read_digits: %s: %ux%u, expected n x 28 by 28\n", argv[2],
                        image.width, image.height),
           5;
  std::vector<png_byte> gray(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, gray.data(), 0, nullptr))
    return std::fprintf(stderr, "read_digits: %s: %s\n", argv[2], image.message), 7;
  const size_t count = image.width / 28;

  auto model = ingot::Model::open(argv[1], ingot_cpu_kernels(nullptr));
  if (!model) return fail(argv[1], model.error());
  const ingot_binding batch{"n", static_cast<int64_t>(count)};
  ingot_session_options options = ingot::session_options();
  options.bindings = &batch, options.binding_count = 1;
  auto session = model->session(options);
  if (!session) return fail("session", session.error());
  const auto image_input = session->input<float>("image");
  if (!image_input) return fail(argv[1], image_input.error());
  for (size_t d = 0; d < count; d++)
    for (size_t y = 0; y < 28; y++)
      for (size_t x = 0; x < 28; x++)
        (*image_input)[(d * 28 + y) * 28 + x] =
            static_cast<float>(gray[y * image.width + d * 28 + x]) / 255.f;
  if (auto run = session->run(); !run) return fail("run", run.error());
  const auto p = session->output<float>("digit");
  if (!p) return fail(argv[1], p.error());
  std::string text;
  float least = 1;
  for (size_t d = 0; d < count; d++) {
    const float* best = std::max_element(p->data + d * 10, p->data + d * 10 + 10);
    text += static_cast<char>('0' + (best - (p->data + d * 10)));
    least = std::min(least, *best);
  }
  std::printf("%s  (least certain %.3f; arena %.2f MB, weights included)\n", text.c_str(),
              static_cast<double>(least),
              static_cast<double>(session->requirements().arena_bytes) / 1e6);
  return 0;
}
