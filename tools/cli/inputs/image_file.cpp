#include "tools/cli/inputs/image_file.h"

#ifdef INGOT_HAVE_PNG
#include <png.h>
#endif
#ifdef INGOT_HAVE_JPEG
#include <jpeglib.h>

#include <csetjmp>
#include <cstdio>
#endif

#include <cerrno>
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

#ifdef INGOT_HAVE_PNG
Pixels read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> end(&image, png_image_free);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(host::open_input_stream(path),
                                                             std::fclose);
  if (!file) fail(Exit::kUnavailable, path + ": cannot be opened: " + strerror(errno));
  if (!png_image_begin_read_from_stdio(&image, file.get()))
    fail(Exit::kCorrupt, path + ": " + image.message);
  if (image.width > kMaxPixels || image.height > kMaxPixels)
    refuse_size(path, image.width, image.height);
  Pixels out;
  out.width = image.width, out.height = image.height;
  out.is_gray = !(image.format & PNG_FORMAT_FLAG_COLOR);
  image.format = PNG_FORMAT_RGBA;
  out.rgba.resize(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, out.rgba.data(), 0, nullptr))
    fail(Exit::kCorrupt, path + ": " + image.message);
  return out;
}
#endif

#ifdef INGOT_HAVE_JPEG
/// The library ends an error by a jump: between setjmp() and it lie no objects with destructors.
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

/// False with jpeg->message. *rgb is the caller's, resized once the size is known.
bool decode(Jpeg* jpeg, std::FILE* file, std::vector<uint8_t>* rgb) {
  if (setjmp(jpeg->back)) return false;
  jpeg_create_decompress(&jpeg->reader);
  jpeg_stdio_src(&jpeg->reader, file);
  jpeg_read_header(&jpeg->reader, TRUE);
  jpeg->reader.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg->reader);
  const size_t row = size_t(jpeg->reader.output_width) * 3;
  if (jpeg->reader.output_width > kMaxPixels || jpeg->reader.output_height > kMaxPixels)
    return true;
  rgb->resize(row * jpeg->reader.output_height);
  while (jpeg->reader.output_scanline < jpeg->reader.output_height) {
    JSAMPROW at = rgb->data() + jpeg->reader.output_scanline * row;
    jpeg_read_scanlines(&jpeg->reader, &at, 1);
  }
  jpeg_finish_decompress(&jpeg->reader);
  return true;
}

Pixels read_jpeg(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(host::open_input_stream(path),
                                                             std::fclose);
  if (!file) fail(Exit::kUnavailable, path + ": cannot be opened: " + strerror(errno));
  Jpeg jpeg{};
  jpeg.reader.err = jpeg_std_error(&jpeg.errors);
  jpeg.errors.error_exit = jump;
  jpeg.errors.output_message = note;
  jpeg.errors.emit_message = warn;
  std::vector<uint8_t> rgb;
  const bool is_whole = decode(&jpeg, file.get(), &rgb);
  Pixels out;
  out.width = jpeg.reader.output_width, out.height = jpeg.reader.output_height;
  out.is_gray = jpeg.reader.jpeg_color_space == JCS_GRAYSCALE;
  jpeg_destroy_decompress(&jpeg.reader);
  if (!is_whole) fail(Exit::kCorrupt, path + ": " + jpeg.message);
  if (rgb.empty()) refuse_size(path, uint64_t(out.width), uint64_t(out.height));
  out.rgba.resize(rgb.size() / 3 * 4);
  for (size_t i = 0; i < rgb.size() / 3; i++) {
    for (size_t c = 0; c < 3; c++) out.rgba[4 * i + c] = rgb[3 * i + c];
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
