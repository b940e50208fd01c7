// SPDX-License-Identifier: Apache-2.0
// Pixels of PNG and JPEG files of every kind, against what Pillow reads in them
// (tests/cli/make_images.py).
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/scratch.h"
#include "tools/cli/inputs/image_file.h"
#include "tools/files/failure.h"

using namespace ingot;
using test::read_file;
namespace fs = std::filesystem;

namespace {}  // namespace

TEST_CASE("image files: samples as stored, whatever the kind of file") {
  int count = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(INGOT_SOURCE_DIR) / "tests/cli/data/images")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".rgb") continue;
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const bool is_png = extension == ".png";
    cli::Pixels pixels;
    try {
      pixels = cli::read_image_file(entry.path().string(),
                                    is_png ? cli::ImageKind::kPng : cli::ImageKind::kJpeg);
    } catch (const host::Failure& failure) {
      const std::string what = failure.what();
      if (what.find("build it again") == std::string::npos) FAIL_CHECK(what);
      MESSAGE("[skip] " << what);
      continue;
    }
    const std::string expected =
        read_file(entry.path().parent_path() /
                  (entry.path().stem().string() + "_" + extension.substr(1) + ".rgb"));
    REQUIRE(pixels.rgba.size() == expected.size() / 3 * 4);
    int worst = 0;
    for (size_t i = 0; i < expected.size(); i++)
      worst = std::max(worst,
                       std::abs(int(pixels.rgba[i / 3 * 4 + i % 3]) - int(uint8_t(expected[i]))));
    // other versions of the JPEG library round its transform and its chroma otherwise
    CHECK(worst <= (is_png ? 0 : 3));
    CHECK(pixels.is_gray == (name.rfind("gray", 0) == 0));
    count++;
  }
  CHECK(count >= 1);
}

TEST_CASE("image files: alpha and a transparent color are kept for frames that have alpha") {
  const std::string folder = INGOT_SOURCE_DIR "/tests/cli/data/images/";
  try {
    const cli::Pixels rgba = cli::read_image_file(folder + "rgba.png", cli::ImageKind::kPng);
    CHECK(rgba.rgba[3] == 255);
    CHECK(rgba.rgba[4 * 15 + 3] == 0);
    const cli::Pixels palette =
        cli::read_image_file(folder + "palette_transparent.png", cli::ImageKind::kPng);
    for (size_t i = 0; i < 16; i++) CHECK(palette.rgba[4 * i + 3] == 10 * i);
    const cli::Pixels color =
        cli::read_image_file(folder + "rgb_transparent.png", cli::ImageKind::kPng);
    CHECK(color.rgba[4 * (2 * 16 + 3) + 3] == 0);
    CHECK(color.rgba[3] == 255);
  } catch (const host::Failure& failure) {
    const std::string what = failure.what();
    CHECK(what.find("build it again") != std::string::npos);
    MESSAGE("[skip] " << what);
  }
}
