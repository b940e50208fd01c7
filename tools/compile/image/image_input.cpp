// SPDX-License-Identifier: Apache-2.0
// tools/compile/image/image_input.cpp - reads --image.
#include "tools/compile/image/image_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace ingot::convert {
namespace {

/// One argument while it is read; every refusal quotes it.
struct Reader {
  std::string argument;
  ImageInput option;

  [[noreturn]] void refuse(const std::string& why, host::Exit code = host::Exit::kUsage) const {
    graph::fail_conversion(code, "--image '" + argument + "': " + why);
  }

  double number(const std::string& key, const std::string& text) const {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || text.empty() || !std::isfinite(value))
      refuse(key + ": expected a number, found '" + text + "'");
    return value;
  }
  /// "0.5" or "0.485/0.456/0.406".
  std::vector<double> numbers(const std::string& key, const std::string& text) const {
    std::vector<double> all;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t slash = std::min(text.find('/', begin), text.size());
      all.push_back(number(key, text.substr(begin, slash - begin)));
      begin = slash + 1;
    }
    if (all.size() != 1 && all.size() != 3)
      refuse(key + ": expected one number or three with / between them, found " +
             std::to_string(all.size()));
    return all;
  }
  /// "1/255" or a number.
  double fraction(const std::string& key, const std::string& text) const {
    const size_t slash = text.find('/');
    if (slash == std::string::npos) return number(key, text);
    const double below = number(key, text.substr(slash + 1));
    if (below == 0) refuse(key + ": divides by zero");
    return number(key, text.substr(0, slash)) / below;
  }
  /// Reads a whole number at *at and moves behind it.
  uint32_t whole(const std::string& what, const std::string& text, size_t* at,
                 const std::string& form) const {
    uint32_t value = 0;
    const char *begin = text.data() + *at, *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(begin, end, value);
    if (error != std::errc()) refuse(what + ": expected " + form + ", found '" + text + "'");
    *at = size_t(rest - text.data());
    return value;
  }
  void expect(char c, const std::string& what, const std::string& text, size_t* at,
              const std::string& form) const {
    if (*at >= text.size() || text[*at] != c)
      refuse(what + ": expected " + form + ", found '" + text + "'");
    ++*at;
  }

  void read_frame(const std::string& text) {
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    std::vector<std::string> names;
    std::string list;
    for (int i = 0; i < kPixelFormatCount; i++) {
      names.push_back(pixel_format_name(PixelFormat(i)));
      list += (i ? ", " : "") + names.back();
      if (name == names.back()) option.attributes.format = PixelFormat(i);
    }
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse("pixel format '" + name + "' is not supported; there are " + list,
             host::Exit::kUnsupported);
    const std::string form = "FORMAT:WIDTHxHEIGHT, as nv12:1920x1080";
    if (colon == std::string::npos) refuse("the size of a frame is missing: expected " + form);
    ImageInputAttributes& a = option.attributes;
    size_t at = colon + 1;
    a.width = whole("size", text, &at, form);
    expect('x', "size", text, &at, form);
    a.height = whole("size", text, &at, form);
    if (at != text.size()) refuse("size: expected " + form + ", found '" + text + "'");
    const std::string limit = std::to_string(kMaxImageExtent);
    if (a.width == 0 || a.height == 0 || a.width > kMaxImageExtent || a.height > kMaxImageExtent)
      refuse("a frame has 1 to " + limit + " columns and rows");
    const PixelLayout layout = pixel_layout(a.format);
    for (int i = 0; i < layout.components; i++) {
      if (a.width % layout.at[i].across)
        refuse(name + " keeps chroma for two columns together, so the width is even; found " +
               std::to_string(a.width));
      if (a.height % layout.at[i].down)
        refuse(name + " keeps chroma for two rows together, so the height is even; found " +
               std::to_string(a.height));
    }
  }

  void read_region(const std::string& text) {
    const std::string form = "WIDTHxHEIGHT+LEFT+TOP";
    ImageArea& area = option.attributes.source;
    size_t at = 0;
    area.width = whole("region", text, &at, form);
    expect('x', "region", text, &at, form);
    area.height = whole("region", text, &at, form);
    expect('+', "region", text, &at, form);
    area.left = whole("region", text, &at, form);
    expect('+', "region", text, &at, form);
    area.top = whole("region", text, &at, form);
    if (at != text.size()) refuse("region: expected " + form + ", found '" + text + "'");
    const ImageInputAttributes& a = option.attributes;
    if (area.width == 0 || area.height == 0 || uint64_t(area.left) + area.width > a.width ||
        uint64_t(area.top) + area.height > a.height)
      refuse("region " + text + " is not inside the frame of " + std::to_string(a.width) + "x" +
             std::to_string(a.height));
  }

  void read_pitch(const std::string& text) {
    size_t at = 0;
    option.pitch = whole("pitch", text, &at, "bytes");
    const ImageInputAttributes& a = option.attributes;
    const int64_t least = plane_row_bytes(a.format, a.width, 0);
    if (at != text.size() || option.pitch < least)
      refuse("pitch: expected at least " + std::to_string(least) + " bytes, found '" + text + "'");
    if (a.format == PixelFormat::kI420 && option.pitch % 2)
      refuse("pitch: chroma rows of i420 are half as far apart, so it is even; found " + text);
  }

  void read_word(const std::string& word) {
    ImageInputAttributes& a = option.attributes;
    const size_t equals = word.find('=');
    const std::map<std::string, std::function<void()>> words = {
        {"stretch", [&] { option.fit = ImageFit::kStretch; }},
        {"letterbox", [&] { option.fit = ImageFit::kLetterbox; }},
        {"crop", [&] { option.fit = ImageFit::kCrop; }},
        {"bilinear", [&] { a.interpolation = PixelInterpolation::kBilinear; }},
        {"nearest", [&] { a.interpolation = PixelInterpolation::kNearest; }},
        {"area", [&] { a.interpolation = PixelInterpolation::kArea; }},
        {"bt601", [&] { a.matrix = ColorMatrix::kBt601; }},
        {"bt709", [&] { a.matrix = ColorMatrix::kBt709; }},
        {"limited", [&] { a.full_range = false; }},
        {"full", [&] { a.full_range = true; }},
        {"left", [&] { a.siting = ChromaSiting::kLeft; }},
        {"center", [&] { a.siting = ChromaSiting::kCenter; }},
        {"rgb", [&] { a.bgr = false; }},
        {"bgr", [&] { a.bgr = true; }},
        {"nchw", [&] { option.layout = "nchw"; }},
        {"nhwc", [&] { option.layout = "nhwc"; }},
        {"planes", [&] { option.planes = true; }},
    };
    const std::string key = word.substr(0, equals),
                      value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const std::map<std::string, std::function<void()>> settings = {
        {"pad", [&] { option.pad = numbers(key, value); }},
        {"mean", [&] { option.mean = numbers(key, value); }},
        {"std", [&] { option.deviation = numbers(key, value); }},
        {"scale", [&] { option.scale = fraction(key, value); }},
        {"region", [&] { read_region(value); }},
        {"pitch", [&] { read_pitch(value); }},
    };
    if (equals == std::string::npos && words.count(key)) return words.at(key)();
    if (equals != std::string::npos && settings.count(key)) return settings.at(key)();
    std::vector<std::string> known;
    for (const auto& [name, set] : words) known.push_back(name);
    for (const auto& [name, set] : settings) known.push_back(name + "=");
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    refuse("'" + word + "' is not known; expected one of " + list);
  }

  void check() const {
    for (const double p : option.pad)
      if (!(p >= 0 && p <= 255)) refuse("pad: a pixel is 0 to 255, found " + std::to_string(p));
    for (const double d : option.deviation)
      if (d == 0) refuse("std: divides by zero");
    if (option.planes && pixel_layout(option.attributes.format).planes == 1)
      refuse(std::string("planes: ") + pixel_format_name(option.attributes.format) +
             " has one plane; nv12, nv21 and i420 have more");
  }
};

}  // namespace

void add_image_input(ImageInputs& images, const std::string& argument) {
  Reader reader{argument, {}};
  const size_t equals = argument.find('='), colon = argument.find(':');
  if (equals == std::string::npos || equals == 0)
    reader.refuse(
        "expected NAME=FORMAT:WIDTHxHEIGHT and what to do with it, as "
        "image=nv12:1920x1080,letterbox");
  const std::string name = argument.substr(0, argument.rfind('=', colon));
  bool is_first = true;
  for (size_t begin = name.size() + 1; begin <= argument.size();) {
    const size_t comma = std::min(argument.find(',', begin), argument.size());
    const std::string word = argument.substr(begin, comma - begin);
    is_first ? reader.read_frame(word) : reader.read_word(word);
    is_first = false;
    begin = comma + 1;
  }
  reader.check();
  if (!images.emplace(name, reader.option).second) reader.refuse("'" + name + "' was given before");
}

}  // namespace ingot::convert
