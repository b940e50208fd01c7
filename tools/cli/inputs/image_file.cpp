// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/inputs/image_file.h"

#ifdef INGOT_HAVE_PNG
#include <png.h>
#endif
#ifdef INGOT_HAVE_JPEG
#include <jerror.h>
#include <jpeglib.h>

#include <cstdio>
#endif

#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

constexpr uint32_t kMaxPixels = 16384;  // in a row or a column, as of a frame

[[maybe_unused, noreturn]] void refuse_size(const std::string& path, uint64_t width,
                                            uint64_t height) {
  fail(Exit::kMismatch, path + ": is " + std::to_string(width) + "x" + std::to_string(height) +
                            " pixels, expected 1 to 16384 columns and rows");
}

[[maybe_unused, noreturn]] void refuse_kind(const std::string& path, const char* kind,
                                            const char* package) {
  fail(Exit::kUnsupported, path + ": this build of ingot does not read " + kind + ": install " +
                               package + " and build it again, or give the frame's bytes alone");
}

using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
[[maybe_unused]] Stream open_image(const std::string& path) {
  Stream file(host::open_input_stream(path), std::fclose);
  if (!file) fail(Exit::kUnavailable, path + ": cannot be opened: " + strerror(errno));
  return file;
}

// Both libraries end an error by a jump: between setjmp() and it lie no objects with destructors.

#ifdef INGOT_HAVE_PNG
struct Png {
  png_structp reader = nullptr;
  png_infop information = nullptr;
  std::jmp_buf back;
  char message[256] = "";
  uint32_t width = 0, height = 0;
  bool is_gray = false;
};
[[noreturn]] void end_png(png_structp reader, png_const_charp message) {
  Png* png = static_cast<Png*>(png_get_error_ptr(reader));
  std::snprintf(png->message, sizeof png->message, "%s", message);
  std::longjmp(png->back, 1);
}
void ignore_warning(png_structp, png_const_charp) {}

/// False with png->message. Samples as stored: no gamma, no profile; of 16 bits the upper 8.
bool decode(Png* png, std::FILE* file, std::vector<uint8_t>* rgba, std::vector<uint8_t*>* rows) {
  if (setjmp(png->back)) return false;
  png->reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, png, end_png, ignore_warning);
  if (png->reader) png->information = png_create_info_struct(png->reader);
  if (!png->information) return false;
  png_set_benign_errors(png->reader, 1);
  png_set_user_limits(png->reader, 0x7fffffff, 0x7fffffff);
  png_init_io(png->reader, file);
  png_read_info(png->reader, png->information);
  png->width = png_get_image_width(png->reader, png->information);
  png->height = png_get_image_height(png->reader, png->information);
  png->is_gray = !(png_get_color_type(png->reader, png->information) & PNG_COLOR_MASK_COLOR);
  if (png->width > kMaxPixels || png->height > kMaxPixels) return true;
  png_set_expand(png->reader);  // palettes, 1 to 4 bits, a transparent color
  png_set_strip_16(png->reader);
  png_set_gray_to_rgb(png->reader);
  png_set_add_alpha(png->reader, 255, PNG_FILLER_AFTER);
  png_set_interlace_handling(png->reader);
  png_read_update_info(png->reader, png->information);
  if (png_get_rowbytes(png->reader, png->information) != size_t(png->width) * 4)
    png_error(png->reader, "its rows are not of four channels");
  rgba->resize(size_t(png->width) * png->height * 4);
  rows->resize(png->height);
  for (size_t y = 0; y < png->height; y++) (*rows)[y] = rgba->data() + y * png->width * 4;
  png_read_image(png->reader, rows->data());
  png_read_end(png->reader, nullptr);
  return true;
}

Pixels read_png(const std::string& path) {
  const Stream file = open_image(path);
  Png png;
  Pixels out;
  std::vector<uint8_t*> rows;
  const bool is_whole = decode(&png, file.get(), &out.rgba, &rows);
  png_destroy_read_struct(&png.reader, &png.information, nullptr);
  if (!is_whole) fail(Exit::kCorrupt, path + ": " + png.message);
  if (out.rgba.empty()) refuse_size(path, png.width, png.height);
  out.width = png.width, out.height = png.height, out.is_gray = png.is_gray;
  return out;
}
#endif

#ifdef INGOT_HAVE_JPEG
struct Jpeg {
  jpeg_error_mgr errors;  // first: the library hands out its address
  jpeg_decompress_struct reader;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};
void note(j_common_ptr common) {
  Jpeg* jpeg = reinterpret_cast<Jpeg*>(common->err);
  common->err->format_message(common, jpeg->message);
}
[[noreturn]] void jump(j_common_ptr common) {
  note(common);
  std::longjmp(reinterpret_cast<Jpeg*>(common->err)->back, 1);
}
/// Warnings are bytes that are missing or damaged, which the library would fill in.
void warn(j_common_ptr common, int level) {
  if (level < 0) jump(common);
}

/// False with jpeg->message. R, G, B, or four inks where the file has those.
bool decode(Jpeg* jpeg, std::FILE* file, std::vector<uint8_t>* samples) {
  if (setjmp(jpeg->back)) return false;
  jpeg_create_decompress(&jpeg->reader);
  jpeg_stdio_src(&jpeg->reader, file);
  jpeg_read_header(&jpeg->reader, TRUE);
  const bool has_inks =
      jpeg->reader.jpeg_color_space == JCS_CMYK || jpeg->reader.jpeg_color_space == JCS_YCCK;
  jpeg->reader.out_color_space = has_inks ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&jpeg->reader);
  const size_t row = size_t(jpeg->reader.output_width) * size_t(jpeg->reader.output_components);
  if (jpeg->reader.output_width > kMaxPixels || jpeg->reader.output_height > kMaxPixels)
    return true;
  samples->resize(row * jpeg->reader.output_height);
  while (jpeg->reader.output_scanline < jpeg->reader.output_height) {
    JSAMPROW at = samples->data() + jpeg->reader.output_scanline * row;
    jpeg_read_scanlines(&jpeg->reader, &at, 1);
  }
  jpeg_finish_decompress(&jpeg->reader);
  return true;
}

/// Sound files that the library cannot read: 12 bits, arithmetic coding in some builds, lossless,
/// two or more than four channels.
bool is_unsupported(int error) {
  return error == JERR_BAD_PRECISION || error == JERR_ARITH_NOTIMPL ||
         error == JERR_SOF_UNSUPPORTED || error == JERR_CONVERSION_NOTIMPL ||
         error == JERR_COMPONENT_COUNT || error == JERR_FRACT_SAMPLE_NOTIMPL;
}

/// a * b / 255, rounded.
unsigned product_of_bytes(unsigned a, unsigned b) { return (a * b * 2 + 255) / 510; }

Pixels read_jpeg(const std::string& path) {
  const Stream file = open_image(path);
  Jpeg jpeg{};
  jpeg.reader.err = jpeg_std_error(&jpeg.errors);
  jpeg.errors.error_exit = jump;
  jpeg.errors.output_message = note;
  jpeg.errors.emit_message = warn;
  std::vector<uint8_t> samples;
  const bool is_whole = decode(&jpeg, file.get(), &samples);
  Pixels out;
  out.width = jpeg.reader.output_width, out.height = jpeg.reader.output_height;
  out.is_gray = jpeg.reader.jpeg_color_space == JCS_GRAYSCALE;
  const size_t channels = jpeg.reader.out_color_space == JCS_CMYK ? 4 : 3;
  jpeg_destroy_decompress(&jpeg.reader);
  if (!is_whole)
    fail(is_unsupported(jpeg.errors.msg_code) ? Exit::kUnsupported : Exit::kCorrupt,
         path + ": " + jpeg.message);
  if (samples.empty()) refuse_size(path, uint64_t(out.width), uint64_t(out.height));
  const size_t count = samples.size() / channels;
  out.rgba.resize(count * 4);
  for (size_t i = 0; i < count; i++) {
    const uint8_t* from = &samples[i * channels];
    // Inks are stored inverted, as Adobe's programs do and every reader takes them.
    for (size_t c = 0; c < 3; c++)
      out.rgba[4 * i + c] =
          channels == 3 ? from[c] : uint8_t(from[3] - product_of_bytes(255u - from[c], from[3]));
    out.rgba[4 * i + 3] = 255;
  }
  return out;
}
#endif

}  // namespace

ImageKind image_kind(const std::string& start) {
  if (start.rfind("\x89PNG", 0) == 0) return ImageKind::kPng;
  return start.rfind("\xff\xd8\xff", 0) == 0 ? ImageKind::kJpeg : ImageKind::kNone;
}

bool goes_on_as_image(const std::string& start) {
  constexpr const char* kPng = "\x89PNG\r\n\x1a\n";
  if (start.rfind(kPng, 0) == 0) return true;
  if (image_kind(start) != ImageKind::kJpeg) return false;
  const auto byte = [&](size_t at) { return size_t(uint8_t(start[at])); };
  bool has_segment = false;
  size_t at = 2;
  while (at + 4 <= start.size()) {
    if (byte(at) != 0xff) return false;
    const size_t marker = byte(at + 1);
    if (marker == 0xff) {  // fills
      at++;
      continue;
    }
    // none that stands in front of a scan
    if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd9)) return false;
    const size_t length = byte(at + 2) << 8 | byte(at + 3);
    if (length < 2) return false;
    if (marker == 0xda) return has_segment;
    has_segment = true;
    at += 2 + length;
  }
  return has_segment;
}

std::string other_format(const std::string& start, uint64_t file_bytes) {
  const auto has = [&](size_t at, const char* text) {
    return start.compare(at, std::strlen(text), text) == 0;
  };
  const auto number = [&](size_t at, bool big_end) {
    uint64_t n = 0;
    for (size_t i = 0; i < 4; i++)
      n |= uint64_t(uint8_t(start[at + i])) << 8 * (big_end ? 3 - i : i);
    return n;
  };
  const auto is_inside = [&](uint64_t at) { return at >= 8 && at < file_bytes; };
  if (has(0, "version https://git-lfs")) return "a git-LFS pointer, not the file itself";
  if (has(0, "<!DOCTYPE html") || has(0, "<!doctype html") || has(0, "<html")) return "a web page";
  if (start.size() < 12) return "";
  if (has(0, "GIF87a") || has(0, "GIF89a")) return "a GIF image";
  if (has(0, "RIFF") && has(8, "WEBP")) return "a WebP image";
  if (has(0, "RIFF") && has(8, "WAVE")) return "WAV audio";
  if (has(4, "ftyp")) return "an ISO media file (HEIF, AVIF, MP4)";
  if (has(0, "BM") && number(2, false) == file_bytes) return "a BMP image";
  if (start.compare(0, 4, std::string("II*\0", 4)) == 0 && is_inside(number(4, false)))
    return "a TIFF image";
  if (start.compare(0, 4, std::string("MM\0*", 4)) == 0 && is_inside(number(4, true)))
    return "a TIFF image";
  if (has(0, "%PDF-")) return "a PDF document";
  return "";
}

Pixels read_image_file(const std::string& path, ImageKind kind) {
#ifdef INGOT_HAVE_PNG
  if (kind == ImageKind::kPng) return read_png(path);
#else
  if (kind == ImageKind::kPng) refuse_kind(path, "PNG", "libpng-dev");
#endif
#ifdef INGOT_HAVE_JPEG
  return read_jpeg(path);
#else
  refuse_kind(path, "JPEG", "libjpeg-dev");
#endif
}

}  // namespace ingot::cli
