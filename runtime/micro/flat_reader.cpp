// SPDX-License-Identifier: Apache-2.0
// runtime/micro/flat_reader.cpp - see flat_reader.h. Positions wrap like uint32_t does; what
// wrapped is outside, or inside and harmless.
#include "runtime/micro/flat_reader.h"

#include "runtime/base/byte_order.h"

namespace ingot::micro {

bool FlatReader::holds(uint32_t at, uint32_t count) {
  if (at <= size_ && size_ - at >= count) return true;
  broken_ = true;
  return false;
}

uint8_t FlatReader::load8(uint32_t at) { return holds(at, 1) ? bytes_[at] : 0; }
uint32_t FlatReader::load32(uint32_t at) {
  return holds(at, 4) ? load_little<uint32_t>(bytes_ + at) : 0;
}
uint64_t FlatReader::load64(uint32_t at) {
  return holds(at, 8) ? load_little<uint64_t>(bytes_ + at) : 0;
}

/// A vtable: its bytes, those of the table, then 16 bits for each field.
void FlatReader::find_fields(uint32_t table) {
  const uint32_t vtable = table - load32(table);
  table_ = table, fields_ = vtable + 4, field_count_ = 0;
  if (!holds(vtable, 4)) return;
  const uint32_t bytes = load_little<uint16_t>(bytes_ + vtable);
  if (bytes > 4 && holds(vtable, bytes)) field_count_ = (bytes - 4) / 2;
}
uint32_t FlatReader::field(uint32_t table, uint32_t index) {
  if (table != table_ || table == 0) find_fields(table);
  if (index >= field_count_) return 0;
  const uint32_t offset = load_little<uint16_t>(bytes_ + fields_ + 2 * index);
  return offset ? table + offset : 0;
}

uint8_t FlatReader::byte(uint32_t table, uint32_t index, uint8_t absent) {
  const uint32_t at = field(table, index);
  return at ? load8(at) : absent;
}
uint32_t FlatReader::word(uint32_t table, uint32_t index, uint32_t absent) {
  const uint32_t at = field(table, index);
  return at ? load32(at) : absent;
}
int64_t FlatReader::number(uint32_t table, uint32_t index) {
  const uint32_t at = field(table, index);
  return at ? int64_t(load64(at)) : 0;
}

uint32_t FlatReader::table(uint32_t table, uint32_t index) {
  const uint32_t at = field(table, index);
  return at ? at + load32(at) : 0;
}

FlatVector FlatReader::vector(uint32_t table_at, uint32_t index, uint32_t element_bytes) {
  const uint32_t at = table(table_at, index);
  if (!at) return {};
  const uint32_t count = load32(at);
  if (!holds(at, 4) || count > (size_ - at - 4) / element_bytes) {
    broken_ = true;
    return {};
  }
  return {at + 4, count};
}

uint32_t FlatReader::element(const FlatVector& vector, uint32_t i) {
  const uint32_t at = vector.at + 4 * i;
  return at + load32(at);
}

}  // namespace ingot::micro
