// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/inputs/frames.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "runtime/op/image_input.h"
#include "tools/cli/inputs/image_file.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/file_kind.h"
#include "tools/files/input_file.h"
#include "tools/files/refuse_pipe.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using host::fail;

/// The layout of a port that takes a frame, or a plane of one, begins with the pixel format: "nv12
/// 1920x1080".
bool is_frame(const ingot_value_type& port) {
  const std::string layout = port.layout, format = layout.substr(0, layout.find(' '));
  for (int i = 0; i < kPixelFormatCount; i++)
    if (format == pixel_format_name(PixelFormat(i))) return port.rank == 3;
  return false;
}

std::string format_of(const ingot_value_type& port) {
  const std::string layout = port.layout;
  return layout.substr(0, layout.find(' '));
}

/// Which of R, G, B, A each byte of a pixel is; empty for formats that are no such bytes.
std::vector<size_t> channels_of(const std::string& format) {
  if (format == "rgb") return {0, 1, 2};
  if (format == "bgr") return {2, 1, 0};
  if (format == "rgba") return {0, 1, 2, 3};
  if (format == "bgra") return {2, 1, 0, 3};
  if (format == "gray") return {0};
  return {};
}

constexpr size_t kStartBytes = 64 * 1024;

/// Whether the file has the length of whole frames of the only input.
bool has_size_of_frames(const Engine& engine, const std::string& path) {
  const ingot_value_type port = engine.input(0);
  if (!is_frame(port)) return false;
  std::error_code failed;
  const uintmax_t bytes = std::filesystem::file_size(path, failed),
                  each = uintmax_t(port.dims[1] * port.dims[2]);
  return !failed && bytes >= each && bytes % each == 0;
}

std::string size_text(int64_t width, int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

/// The pixels of an image file as a frame of the network's only input.
std::vector<Array> frame_of(const Engine& engine, const std::string& path, ImageKind kind) {
  const std::string what = path + ": is an image, ";
  const ingot_value_type port = engine.input(0);
  if (engine.summary().input_count != 1)
    fail(Exit::kMismatch, what + "and " + engine.path() + " has " +
                              std::to_string(engine.summary().input_count) +
                              " inputs; give all of them by name in an .npz");
  const Pixels pixels = read_image_file(path, kind);
  const std::string size = size_text(pixels.width, pixels.height), name = port.name;
  if (!is_frame(port))
    fail(Exit::kMismatch, what + "and input '" + name + "' of " + engine.path() + " takes " +
                              engine.type_text(port) + "; convert it with --image " + name +
                              "=rgb:" + size + ",... to give it images");
  const std::string format = format_of(port);
  const std::vector<size_t> channels = channels_of(format);
  if (channels.empty())
    fail(Exit::kMismatch, what + "and " + engine.path() + " takes " + format +
                              " frames; convert it with --image " + name + "=rgb:" + size +
                              ",..., or convert the image (ffmpeg -i " + path +
                              " -f rawvideo -pix_fmt FORMAT frame.raw)");
  if (port.layout != format + " " + size)
    fail(Exit::kMismatch, what + "of " + size + " pixels, and " + engine.path() + " takes " +
                              port.layout + "; resize the image, or convert with --image " + name +
                              "=" + format + ":" + size + ",...");
  if (format == "gray" && !pixels.is_gray)
    fail(Exit::kMismatch, what + "with colours, and " + engine.path() +
                              " takes gray frames; convert it with --image " + name +
                              "=rgb:" + size + ",..., which makes the gray itself");
  if (port.dims[0] > 1)
    fail(Exit::kMismatch, what + "and " + engine.path() + " takes " + std::to_string(port.dims[0]) +
                              " frames at once; give their bytes one behind another, or an .npz");
  Array array;
  array.name = name;
  array.dtype = DType::kU8;
  array.dims = {1, port.dims[1], port.dims[2]};
  array.bytes.resize(size_t(array.elements()));
  for (size_t row = 0; row < size_t(pixels.height); row++)
    for (size_t column = 0; column < size_t(pixels.width); column++)
      for (size_t c = 0; c < channels.size(); c++)
        array.bytes[row * size_t(port.dims[2]) + column * channels.size() + c] =
            pixels.rgba[(row * size_t(pixels.width) + column) * 4 + channels[c]];
  return {array};
}

std::vector<Array> split_frames(const Engine& engine, const std::string& path,
                                std::vector<uint8_t> bytes) {
  std::string expected;
  uint64_t each = 0;
  const uint32_t count = engine.summary().input_count;
  for (uint32_t i = 0; i < count; i++) {
    const ingot_value_type port = engine.input(i);
    each += uint64_t(port.dims[1]) * uint64_t(port.dims[2]);
    expected += std::string(i ? ", " : "") + port.layout + ": " + grouped(uint64_t(port.dims[1])) +
                " rows of " + grouped(uint64_t(port.dims[2])) + " bytes";
  }
  const int64_t stated = engine.input(0).dims[0];
  const uint64_t frames =
      stated > 0 ? uint64_t(stated) : std::max<uint64_t>(bytes.size() / each, 1);
  if (bytes.size() != frames * each || (count > 1 && frames > 1))
    fail(Exit::kMismatch, path + ": has " + grouped(bytes.size()) + " bytes, expected " +
                              grouped(frames * each) + " (" + std::to_string(frames) + " of " +
                              expected + "), or an .npz");
  std::vector<Array> arrays;
  size_t at = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ingot_value_type port = engine.input(i);
    Array array;
    array.name = port.name;
    array.dtype = DType::kU8;
    array.dims = {int64_t(frames), port.dims[1], port.dims[2]};
    const size_t length = size_t(array.elements());
    array.bytes.assign(bytes.begin() + int64_t(at), bytes.begin() + int64_t(at + length));
    at += length;
    arrays.push_back(std::move(array));
  }
  return arrays;
}

bool begins_as_arrays(const std::string& start) {
  return start.rfind("PK\3\4", 0) == 0 || start.rfind("PK\5\6", 0) == 0 ||
         start.rfind("\x93NUMPY", 0) == 0;
}

}  // namespace

bool holds_arrays(const std::string& path) {
  host::refuse_pipe(path);
  host::InputStream file(path);
  std::string start(kStartBytes, '\0');
  file.read(start.data(), std::streamsize(start.size()));
  start.resize(size_t(file.gcount()));
  return begins_as_arrays(start);
}

std::vector<Array> read_inputs(const Engine& engine, const std::string& path) {
  host::refuse_pipe(path);
  host::InputStream file(path);
  std::string start(kStartBytes, '\0');
  file.read(start.data(), std::streamsize(start.size()));
  start.resize(size_t(file.gcount()));
  const uint32_t inputs = engine.summary().input_count;
  const ImageKind kind = image_kind(start);
  // Bytes alone may begin as an image does. What goes on as one is one, whatever its length.
  if (kind != ImageKind::kNone && inputs &&
      (goes_on_as_image(start) || !has_size_of_frames(engine, path)))
    return frame_of(engine, path, kind);
  bool takes_frames = inputs > 0;
  for (uint32_t i = 0; i < inputs; i++) takes_frames = takes_frames && is_frame(engine.input(i));
  if (!file.is_open() || start.empty() || !takes_frames || begins_as_arrays(start))
    return host::read_npz(path);
  if (const std::string other = other_format(start, host::file_bytes(path)); !other.empty())
    fail(Exit::kUnsupported, path + ": is " + other +
                                 ", expected a PNG, a JPEG, the bytes of frames alone, or an .npz" +
                                 "; convert it, or put bytes that only begin so into an .npz");
  file.clear();
  file.seekg(0);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)),
                             std::istreambuf_iterator<char>());
  return split_frames(engine, path, std::move(bytes));
}

}  // namespace ingot::cli
