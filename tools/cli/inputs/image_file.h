// SPDX-License-Identifier: Apache-2.0
// tools/cli/inputs/image_file.h - images as people have them, PNG and JPEG, as pixels. libpng and
// libjpeg read them; a build without one refuses its files by the name of the package that is
// missing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

enum class ImageKind { kNone, kPng, kJpeg };
/// By the first bytes of a file, at least 4.
ImageKind image_kind(const std::string& start);
/// Whether more than those bytes says so: a PNG's whole signature; a JPEG's segments up to its
/// scan, or to the end of `start`.
bool goes_on_as_image(const std::string& start);
/// "a GIF image" and the like, for what is surely neither a PNG or JPEG nor the bytes of a frame;
/// "" for anything else.
std::string other_format(const std::string& start, uint64_t file_bytes);

/// Rows of R, G, B, A without gaps; A is 255 where the file has none. Samples as stored: no gamma,
/// no color profile, nothing turned (EXIF) or resized; the upper 8 bits of 16; inks of a JPEG
/// (CMYK, YCCK) become R, G, B. docs/images.md has the table.
struct Pixels {
  int64_t width = 0, height = 0;
  bool is_gray = false;  // R, G and B are the same everywhere, by the file's own word
  std::vector<uint8_t> rgba;
};
/// @throws Failure for what is no whole image of at most 16384 x 16384 pixels, or of a kind that
/// this build does not read.
Pixels read_image_file(const std::string& path, ImageKind kind);

}  // namespace ingot::cli
