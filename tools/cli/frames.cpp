#include "tools/cli/frames.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "runtime/op/picture.h"
#include "tools/cli/terminal.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using host::fail;

/// The layout of a port that takes a frame, or a plane of one, begins with the pixel format: "nv12 1920x1080".
bool is_frame(const ingot_value_type& port) {
  const std::string layout = port.layout, format = layout.substr(0, layout.find(' '));
  for (int i = 0; i < kPixelFormatCount; i++)
    if (format == pixel_format_name(PixelFormat(i))) return port.rank == 3;
  return false;
}

std::vector<Array> split_frames(const Engine& engine, const std::string& path, std::vector<uint8_t> bytes) {
  std::string expected;
  uint64_t each = 0;
  const uint32_t count = engine.summary().input_count;
  for (uint32_t i = 0; i < count; i++) {
    const ingot_value_type port = engine.input(i);
    each += uint64_t(port.dims[1]) * uint64_t(port.dims[2]);
    expected += std::string(i ? ", " : "") + port.layout + ": " + grouped(uint64_t(port.dims[1])) + " rows of " +
                grouped(uint64_t(port.dims[2])) + " bytes";
  }
  const int64_t stated = engine.input(0).dims[0];
  const uint64_t frames = stated > 0 ? uint64_t(stated) : std::max<uint64_t>(bytes.size() / each, 1);
  if (bytes.size() != frames * each || (count > 1 && frames > 1))
    fail(Exit::kMismatch, path + ": has " + grouped(bytes.size()) + " bytes, expected " + grouped(frames * each) +
                              " (" + std::to_string(frames) + " of " + expected + "), or an .npz");
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

}  // namespace

std::vector<Array> read_inputs(const Engine& engine, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[6] = {};
  file.read(magic, sizeof magic);
  const std::string start(magic, size_t(file.gcount()));
  bool frames = start.size() == sizeof magic && start.rfind("PK\3\4", 0) != 0 && start != "\x93NUMPY";
  for (uint32_t i = 0; i < engine.summary().input_count; i++) frames = frames && is_frame(engine.input(i));
  if (!frames || engine.summary().input_count == 0) return host::read_npz(path);
  file.seekg(0);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return split_frames(engine, path, std::move(bytes));
}

}  // namespace ingot::cli
