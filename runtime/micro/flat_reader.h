// SPDX-License-Identifier: Apache-2.0
// runtime/micro/flat_reader.h - reads a FlatBuffer where it lies. Every access is held against the
// end of the bytes, so that nothing has to be verified before and nothing is kept in RAM.
// Owns     nothing.
// Threads  one at a time.
#pragma once
#include <cstdint>

namespace ingot::micro {

/// Elements of a vector: `at` is the first one's position.
struct FlatVector {
  uint32_t at = 0, count = 0;
};

/// Positions are bytes from the start. A read outside gives 0 and is remembered in broken().
class FlatReader {
 public:
  FlatReader(const uint8_t* bytes, uint32_t size) : bytes_(bytes), size_(size) {}

  bool broken() const { return broken_; }
  const uint8_t* bytes() const { return bytes_; }

  uint8_t load8(uint32_t at);
  uint32_t load32(uint32_t at);
  uint64_t load64(uint32_t at);

  /// Where field `index` of a table lies, counted as the schema does; 0: it is absent.
  uint32_t field(uint32_t table, uint32_t index);
  uint8_t byte(uint32_t table, uint32_t index, uint8_t absent = 0);
  uint32_t word(uint32_t table, uint32_t index, uint32_t absent = 0);
  int64_t number(uint32_t table, uint32_t index);  // of 64 bits; 0 when absent
  /// What an offset leads to: a table, or 0 when the field is absent.
  uint32_t table(uint32_t table, uint32_t index);
  /// Empty when absent. Elements of offsets have 4 bytes.
  FlatVector vector(uint32_t table, uint32_t index, uint32_t element_bytes);
  /// Element `i` of a vector of tables. @pre i < vector.count
  uint32_t element(const FlatVector& vector, uint32_t i);

 private:
  bool holds(uint32_t at, uint32_t count);
  void find_fields(uint32_t table);

  const uint8_t* bytes_;
  uint32_t size_;
  // of the last table whose fields were asked for: where their offsets lie, and how many are there
  uint32_t table_ = 0, fields_ = 0, field_count_ = 0;
  bool broken_ = false;
};

}  // namespace ingot::micro
