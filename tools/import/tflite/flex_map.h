// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/flex_map.h - options of a custom operator: a map of FlexBuffers, whose bytes
// say by themselves what they are. Everything in them that points somewhere is checked.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ingot::tflite {

class FlexMap {
 public:
  /// None where the bytes are no map, or lead outside of themselves. They must outlive it.
  static std::optional<FlexMap> read(const uint8_t* bytes, size_t size);

  bool has(const std::string& key) const { return values_.count(key) > 0; }
  /// Integers, floats and booleans; none where there is no such key, or it is no number.
  std::optional<double> number(const std::string& key);
  /// The elements of a vector; none where there is no such key, or it is no vector of integers.
  std::optional<std::vector<int64_t>> integers(const std::string& key);
  /// Keys that were not asked for.
  std::vector<std::string> unread() const;

 private:
  struct Vector {
    int kind = 0;
    uint64_t at = 0, width = 0;
  };
  const uint8_t* bytes_ = nullptr;
  uint64_t size_ = 0;
  std::map<std::string, std::optional<double>> values_;
  std::map<std::string, Vector> vectors_;
  std::set<std::string> read_;
};

}  // namespace ingot::tflite
