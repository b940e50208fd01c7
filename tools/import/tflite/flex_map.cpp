// SPDX-License-Identifier: Apache-2.0
#include "tools/import/tflite/flex_map.h"

#include <cstring>

#include "tools/files/work_budget.h"

namespace ingot::tflite {
namespace {

constexpr uint64_t kMaxKeys = 1024;
// Kinds of values. Those of 6, 7 and 8 lie elsewhere.
constexpr int kInteger = 1, kUnsigned = 2, kFloating = 3, kMap = 9, kVector = 10,
              kIntegerVector = 11, kUnsignedVector = 12, kBoolean = 26;
constexpr uint64_t kMaxElements = 1 << 20;

struct FlexBytes {
  const uint8_t* data;
  uint64_t size;

  /// `width` bytes at `at`, the lowest first.
  std::optional<uint64_t> whole(uint64_t at, uint64_t width) const {
    if (at > size || width > size - at) return std::nullopt;
    uint64_t out = 0;
    for (uint64_t i = 0; i < width; i++) out |= uint64_t(data[at + i]) << (8 * i);
    return out;
  }
  /// What is said at `at` lies so many bytes before it.
  std::optional<uint64_t> target(uint64_t at, uint64_t width) const {
    const auto back = whole(at, width);
    if (!back || *back > at) return std::nullopt;
    return at - *back;
  }
  std::optional<std::string> key(uint64_t at) const {
    const void* end = at < size ? std::memchr(data + at, 0, size - at) : nullptr;
    if (!end) return std::nullopt;
    host::charge_work(size - at);
    return std::string(reinterpret_cast<const char*>(data) + at, static_cast<const char*>(end));
  }
};

std::optional<double> number_of(int kind, uint64_t bits, uint64_t width) {
  if (kind == kUnsigned || kind == kBoolean) return double(bits);
  if (kind == kInteger) {
    const int unused = int(64 - 8 * width);
    return double(int64_t(bits << unused) >> unused);
  }
  if (kind != kFloating) return std::nullopt;
  if (width == 8) {
    double out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
  }
  if (width != 4) return std::nullopt;
  const uint32_t low = uint32_t(bits);
  float out;
  std::memcpy(&out, &low, sizeof out);
  return double(out);
}

}  // namespace

std::optional<FlexMap> FlexMap::read(const uint8_t* bytes, size_t size) {
  // At the end: where the map is, its packed type, and the width of the first.
  const FlexBytes all{bytes, size};
  if (size < 3) return std::nullopt;
  const uint64_t root_width = bytes[size - 1];
  if (root_width > 8 || size - 2 < root_width) return std::nullopt;
  const int root = bytes[size - 2];
  const auto map = all.target(size - 2 - root_width, root_width);
  const uint64_t width = uint64_t{1} << (root & 3);
  if (root >> 2 != kMap || root_width == 0 || !map || *map < 3 * width) return std::nullopt;
  const auto count = all.whole(*map - width, width), key_width = all.whole(*map - 2 * width, width),
             keys = all.target(*map - 3 * width, width);
  if (!count || *count > kMaxKeys || !keys || !key_width || *key_width < 1 || *key_width > 8)
    return std::nullopt;
  FlexMap out;
  out.bytes_ = bytes;
  out.size_ = size;
  for (uint64_t i = 0; i < *count; i++) {
    const auto name_at = all.target(*keys + i * *key_width, *key_width);
    const auto name = name_at ? all.key(*name_at) : std::nullopt;
    const auto packed = all.whole(*map + *count * width + i, 1);
    const uint64_t at = *map + i * width;
    if (!name || !packed) return std::nullopt;
    int kind = int(*packed >> 2);
    auto bits = all.whole(at, width);
    uint64_t its_width = width;
    if (kind >= 6 && kind <= 8) {
      its_width = uint64_t{1} << (*packed & 3);
      const auto where = all.target(at, width);
      bits = where ? all.whole(*where, its_width) : std::nullopt;
      kind -= 5;
    }
    if (!bits) return std::nullopt;
    if (kind >= kVector && kind <= kUnsignedVector) {
      const auto where = all.target(at, width);
      if (!where) return std::nullopt;
      out.vectors_[*name] = {kind, *where, uint64_t{1} << (*packed & 3)};
    }
    out.values_[*name] = number_of(kind, *bits, its_width);
  }
  return out;
}

std::optional<double> FlexMap::number(const std::string& key) {
  read_.insert(key);
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : found->second;
}
std::optional<std::vector<int64_t>> FlexMap::integers(const std::string& key) {
  read_.insert(key);
  const auto found = vectors_.find(key);
  if (found == vectors_.end()) return std::nullopt;
  const FlexBytes all{bytes_, size_};
  const auto& [kind, at, width] = found->second;
  const auto count = at < width ? std::nullopt : all.whole(at - width, width);
  if (!count || *count > kMaxElements) return std::nullopt;
  host::charge_work(*count);
  std::vector<int64_t> out;
  for (uint64_t i = 0; i < *count; i++) {
    const auto bits = all.whole(at + i * width, width);
    int its_kind = kind == kUnsignedVector ? kUnsigned : kInteger;
    if (kind == kVector) {  // the kind of each stands behind them
      const auto packed = all.whole(at + *count * width + i, 1);
      if (!packed) return std::nullopt;
      its_kind = int(*packed >> 2);
    }
    const auto number = bits ? number_of(its_kind, *bits, width) : std::nullopt;
    if (!number || *number != double(int64_t(*number))) return std::nullopt;
    out.push_back(int64_t(*number));
  }
  return out;
}
std::vector<std::string> FlexMap::unread() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : values_)
    if (!read_.count(key)) out.push_back(key);
  return out;
}

}  // namespace ingot::tflite
