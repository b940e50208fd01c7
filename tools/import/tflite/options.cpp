// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/options.cpp - fields by number, each checked to lie in the file before it is
// read. That the table's own list of places lies in it, the verifier has checked.
#include "tools/import/tflite/options.h"

#include <algorithm>
#include <cstring>

#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"

namespace ingot::tflite {
namespace {

constexpr size_t kFirstPlace = 4;  // behind the sizes of the list and of the table

/// Damaged files need not be aligned.
template <class T>
T read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
const uint8_t* start(const fb::Opaque* table) { return reinterpret_cast<const uint8_t*>(table); }
const uint8_t* places(const fb::Opaque* table) {
  return start(table) - read<flatbuffers::soffset_t>(start(table));
}
size_t field_count(const fb::Opaque* table) {
  const size_t bytes = read<flatbuffers::voffset_t>(places(table));
  return bytes < kFirstPlace ? 0 : (bytes - kFirstPlace) / 2;
}
size_t place(const fb::Opaque* table, size_t number) {
  return number < field_count(table)
             ? read<flatbuffers::voffset_t>(places(table) + kFirstPlace + 2 * number)
             : 0;
}
size_t bytes_of(FieldType type) {
  switch (type) {
    case FieldType::kByte:
    case FieldType::kBool: return 1;
    case FieldType::kLong: return 8;
    default: return 4;
  }
}
[[noreturn]] void corrupt(const std::string& why) { graph::fail_corrupt(why); }

}  // namespace

const uint8_t* Options::field_at(size_t number, size_t bytes) const {
  const size_t offset = table_ ? place(table_, number) : 0;
  if (offset == 0) return nullptr;
  if (offset + bytes > size_t(end_ - start(table_))) corrupt("its options lie outside of the file");
  return start(table_) + offset;
}

/// The elements of what the field at `field` points to.
const uint8_t* Options::vector_at(const uint8_t* field, size_t bytes, uint32_t* count) const {
  const size_t room = size_t(end_ - field), to = read<flatbuffers::uoffset_t>(field);
  if (to > room || room - to < 4) corrupt("its options point outside of the file");
  *count = read<uint32_t>(field + to);
  if (uint64_t(*count) * bytes > room - to - 4) corrupt("its options point outside of the file");
  host::charge_metadata(uint64_t{8} * *count);
  return field + to + 4;
}

Options::Place Options::find(const std::string& name) {
  if (!kind_) corrupt("has no options of its kind");
  known_.insert(name);
  for (size_t i = 0; i < kind_->fields.size(); i++)
    if (kind_->fields[i].name == name)
      return {&kind_->fields[i], field_at(i, bytes_of(kind_->fields[i].type))};
  corrupt("has " + kind_->name + ", which have no '" + name + "'");
}

int64_t Options::read_integer(const OptionField& field, const uint8_t* at) const {
  if (!at) return int64_t(field.otherwise);
  switch (field.type) {
    case FieldType::kByte: return read<int8_t>(at);
    case FieldType::kBool: return read<uint8_t>(at) != 0;
    case FieldType::kLong: return read<int64_t>(at);
    default: return read<int32_t>(at);
  }
}

int64_t Options::integer(const std::string& name) {
  const Place found = find(name);
  return read_integer(*found.field, found.at);
}
double Options::number(const std::string& name) {
  const Place found = find(name);
  return found.at ? double(read<float>(found.at)) : found.field->otherwise;
}
bool Options::has(const std::string& name) { return find(name).at != nullptr; }
bool Options::offers(const std::string& name) const {
  return kind_ && std::any_of(kind_->fields.begin(), kind_->fields.end(),
                              [&](const OptionField& field) { return field.name == name; });
}

std::vector<int64_t> Options::integers(const std::string& name) {
  const Place found = find(name);
  std::vector<int64_t> out;
  if (!found.at) return out;
  const bool wide = found.field->type == FieldType::kLongs;
  uint32_t count = 0;
  const uint8_t* at = vector_at(found.at, wide ? 8 : 4, &count);
  for (uint32_t i = 0; i < count; i++)
    out.push_back(wide ? read<int64_t>(at + size_t{8} * i) : read<int32_t>(at + size_t{4} * i));
  return out;
}
std::vector<double> Options::numbers(const std::string& name) {
  const Place found = find(name);
  std::vector<double> out;
  if (!found.at) return out;
  uint32_t count = 0;
  const uint8_t* at = vector_at(found.at, 4, &count);
  for (uint32_t i = 0; i < count; i++) out.push_back(double(read<float>(at + size_t{4} * i)));
  return out;
}
std::string Options::text(const std::string& name) {
  const Place found = find(name);
  if (!found.at) return "";
  uint32_t count = 0;
  const uint8_t* at = vector_at(found.at, 1, &count);
  return std::string(reinterpret_cast<const char*>(at), count);
}

std::vector<Options::Unread> Options::unread() const {
  std::vector<Unread> out;
  if (!table_) return out;
  const size_t count = field_count(table_);
  for (size_t i = 0; i < count; i++) {
    const size_t offset = place(table_, i);
    if (offset == 0) continue;
    if (kind_ && i < kind_->fields.size()) {
      const OptionField& field = kind_->fields[i];
      if (known_.count(field.name)) continue;
      const uint8_t* at = field_at(i, bytes_of(field.type));
      if (field.type == FieldType::kFloat) {
        if (double(read<float>(at)) != field.otherwise)
          out.push_back({field.name, std::to_string(read<float>(at))});
      } else if (field.type >= FieldType::kInts) {
        out.push_back({field.name, "given"});
      } else if (read_integer(field, at) != int64_t(field.otherwise)) {
        out.push_back({field.name, std::to_string(read_integer(field, at))});
      }
      continue;
    }
    // Of a field that is not known neither type nor size is: it ends where the next begins.
    size_t next = read<flatbuffers::voffset_t>(places(table_) + 2);
    for (size_t k = 0; k < count; k++) {
      const size_t other = place(table_, k);
      if (other > offset) next = std::min(next, other);
    }
    const size_t bytes = next > offset ? next - offset : 1;
    const uint8_t* at = field_at(i, bytes);
    if (std::any_of(at, at + bytes, [](uint8_t byte) { return byte != 0; }))
      out.push_back({"field " + std::to_string(i), "given"});
  }
  return out;
}

}  // namespace ingot::tflite
