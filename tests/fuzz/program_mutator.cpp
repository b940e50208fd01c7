// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/program_mutator.cpp - see program_mutator.h.
#include "tests/fuzz/program_mutator.h"

#include <flatbuffers/minireflect.h>

#include <algorithm>
#include <cstring>

#include "fuzz_schema/ingot_generated.h"
#include "tests/fuzz/mend_hashes.h"

namespace ingot::fuzz {
namespace {

using flatbuffers::ElementaryType;
using flatbuffers::TypeTable;

constexpr uint32_t kMaxElements = 256;  // of a vector that are sites

struct Part {
  uint64_t offset, bytes;
};
uint8_t* entry_of(std::vector<uint8_t>* file, uint32_t part) {
  return file->data() + kHeaderFixedBytes + part * kPartEntryBytes;
}
Part part_of(const std::vector<uint8_t>& file, uint32_t part) {
  const uint8_t* entry = file.data() + kHeaderFixedBytes + part * kPartEntryBytes;
  return {load_little<uint64_t>(entry + 8), load_little<uint64_t>(entry + 16)};
}

bool is_scalar(ElementaryType type) { return type < flatbuffers::ET_STRING; }

uint64_t load(const std::vector<uint8_t>& bytes, const Site& site) {
  uint64_t value = 0;
  memcpy(&value, bytes.data() + site.at, site.width);
  return value;
}
void store(std::vector<uint8_t>* bytes, const Site& site, uint64_t value) {
  memcpy(bytes->data() + site.at, &value, site.width);
}

uint64_t sign_extended(uint64_t value, int width) {
  return width == 8 ? value : uint64_t(int64_t(value << (64 - 8 * width)) >> (64 - 8 * width));
}

uint64_t changed_integer(Random* random, uint64_t value) {
  constexpr uint64_t kExtremes[] = {255,
                                    65535,
                                    uint64_t{1} << 31,
                                    uint64_t{1} << 40,
                                    INT64_MAX,
                                    uint64_t(INT64_MIN),
                                    INT32_MAX,
                                    uint64_t(int64_t{INT32_MIN}),
                                    ~uint64_t{0},
                                    1000003};
  switch (random->below(14)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return value + 1;
    case 3: return value - 1;
    case 4: return value * 2;
    case 5: return value / 2;
    case 6: return ~uint64_t{0};
    case 7:
    case 8: return random->below(20);
    case 9:
    case 10: return uint64_t(-1 - int64_t(random->below(12)));  // a Dim's expression
    case 11: return uint64_t{1} << random->below(24);
    case 12: return kExtremes[random->below(sizeof kExtremes / sizeof *kExtremes)];
    default: return value ^ uint64_t { 1 } << random->below(16);
  }
}

uint64_t changed_float(Random* random, int width, uint64_t value) {
  constexpr double kNumbers[] = {0, -0.0, 1, -1, 0.5, 1e-45, 1e-30, 1e30, 3.4e38, 100, -100};
  if (random->one_in(8)) return width == 8 ? 0x7ff8000000000000u : 0x7fc00000u;
  if (random->one_in(8)) return width == 8 ? 0x7ff0000000000000u : 0x7f800000u;
  if (random->one_in(4)) return value ^ uint64_t { 1 } << random->below(8 * uint64_t(width));
  const double number = kNumbers[random->below(sizeof kNumbers / sizeof *kNumbers)];
  const float narrow = float(number);
  uint64_t bits = 0;
  memcpy(&bits, width == 8 ? static_cast<const void*>(&number) : &narrow, size_t(width));
  return bits;
}

}  // namespace

/// Goes through a FlatBuffer and notes what can be changed.
struct ProgramMutator::Reach {
  const uint8_t* file;
  std::vector<Field>* fields;

  std::vector<Site>* sites_of(const TypeTable* table, uint32_t index, Site::Kind kind) const {
    for (Field& field : *fields)
      if (field.table == table && field.index == index && field.kind == kind) return &field.sites;
    fields->push_back({table, index, table->names ? table->names[index] : "", kind, {}});
    return &fields->back().sites;
  }
  void note(const TypeTable* table, uint32_t index, const uint8_t* at, uint8_t width,
            Site::Kind kind) const {
    sites_of(table, index, kind)->push_back({uint32_t(at - file), width, kind});
  }
  void scalar(const TypeTable* table, uint32_t index, const uint8_t* at,
              ElementaryType type) const {
    const bool is_float = type == flatbuffers::ET_FLOAT || type == flatbuffers::ET_DOUBLE;
    note(table, index, at, uint8_t(flatbuffers::InlineSize(type, nullptr)),
         is_float ? Site::kFloat : Site::kInteger);
  }
  static const uint8_t* follow(const uint8_t* at) {
    return at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
  }

  void vector(const TypeTable* table, uint32_t index, const uint8_t* at, ElementaryType type,
              const TypeTable* of) const {
    note(table, index, at, 4, Site::kOffset);
    const uint8_t* start = follow(at);
    const uint32_t count = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(start);
    note(table, index, start, 4, Site::kInteger);  // its length
    const size_t width = flatbuffers::InlineSize(type, of);
    for (uint32_t i = 0; i < count && i < kMaxElements; i++) {
      const uint8_t* element = start + 4 + i * width;
      if (is_scalar(type)) {
        scalar(table, index, element, type);
      } else if (type == flatbuffers::ET_SEQUENCE && of->st == flatbuffers::ST_STRUCT) {
        object(of, element);
      } else {
        note(table, index, element, 4, Site::kOffset);
        if (type == flatbuffers::ET_SEQUENCE) object(of, follow(element));
      }
    }
  }
  void object(const TypeTable* table, const uint8_t* at) const {
    const uint8_t* before = nullptr;
    for (uint32_t i = 0; i < table->num_elems; i++) {
      const flatbuffers::TypeCode code = table->type_codes[i];
      const auto type = ElementaryType(code.base_type);
      const TypeTable* of =
          code.sequence_ref >= 0 ? table->type_refs[code.sequence_ref]() : nullptr;
      const uint8_t* field = table->st == flatbuffers::ST_STRUCT
                                 ? at + table->values[i]
                                 : reinterpret_cast<const flatbuffers::Table*>(at)->GetAddressOf(
                                       flatbuffers::FieldIndexToOffset(flatbuffers::voffset_t(i)));
      const uint8_t* type_field = before;
      before = field;
      if (!field) continue;
      if (code.is_repeating) {
        vector(table, i, field, type, of);
      } else if (is_scalar(type)) {
        scalar(table, i, field, type);
      } else if (type == flatbuffers::ET_STRING) {
        note(table, i, field, 4, Site::kOffset);
      } else if (of->st == flatbuffers::ST_STRUCT) {
        object(of, field);
      } else if (of->st == flatbuffers::ST_TABLE) {
        note(table, i, field, 4, Site::kOffset);
        object(of, follow(field));
      } else if (of->st == flatbuffers::ST_UNION && type_field && *type_field < of->num_elems) {
        note(table, i, field, 4, Site::kOffset);
        const flatbuffers::TypeCode member = of->type_codes[*type_field];
        if (member.sequence_ref >= 0) object(of->type_refs[member.sequence_ref](), follow(field));
      }
    }
  }
};

ProgramMutator::ProgramMutator(const std::vector<uint8_t>& file) : file_(file) {
  const Part program = part_of(file_, 0);
  program_ = uint32_t(program.offset), program_bytes_ = uint32_t(program.bytes);
  const uint8_t* buffer = file_.data() + program_;
  const Reach reach = {file_.data(), &fields_};
  reach.object(fb::ProgramTypeTable(), Reach::follow(buffer));
}

void ProgramMutator::change_offset(Random* random, const Field& field,
                                   std::vector<uint8_t>* bytes) const {
  const Site& one = field.sites[random->below(field.sites.size())];
  const Site& other = field.sites[random->below(field.sites.size())];
  const uint64_t to_one = one.at + load(file_, one), to_other = other.at + load(file_, other);
  if (to_other > one.at) store(bytes, one, to_other - one.at);
  if (random->one_in(2) && to_one > other.at) store(bytes, other, to_one - other.at);  // exchanged
}

void ProgramMutator::change_field(Random* random, std::vector<uint8_t>* bytes) const {
  const Field& field = fields_[random->below(fields_.size())];
  if (field.kind == Site::kOffset) return change_offset(random, field, bytes);
  const Site& site = field.sites[random->below(field.sites.size())];
  const uint64_t value = sign_extended(load(*bytes, site), site.width);
  // what another one of the same field has, or (a dimension, an index) any field
  if (random->one_in(3)) {
    const Field& from = random->one_in(3) ? fields_[random->below(fields_.size())] : field;
    const Site& other = from.sites[random->below(from.sites.size())];
    return store(bytes, site, sign_extended(load(file_, other), other.width));
  }
  store(bytes, site,
        field.kind == Site::kFloat ? changed_float(random, site.width, value)
                                   : changed_integer(random, value));
}

void ProgramMutator::change_bytes(Random* random, std::vector<uint8_t>* bytes) const {
  // Header and part table, program, or any part: constants, golden, metadata.
  const uint64_t where = random->below(4);
  const uint64_t begin = where == 1 ? program_ : 0;
  const uint64_t end = where == 0   ? kHeaderFixedBytes + 4 * kPartEntryBytes
                       : where == 1 ? program_ + program_bytes_
                                    : 0;
  const uint64_t last = end == 0 || end > bytes->size() ? bytes->size() : end;
  uint8_t& byte = (*bytes)[begin + random->below(last - begin)];
  byte = random->one_in(2) ? uint8_t(random->next() >> 32) : uint8_t(byte ^ 1u << random->below(8));
}

void ProgramMutator::mutate(Random* random, std::vector<uint8_t>* out) const {
  out->assign(file_.begin(), file_.end());
  do {
    if (random->one_in(8))
      change_bytes(random, out);
    else
      change_field(random, out);
  } while (random->one_in(2));
  mend(out->data(), out->size());
}

std::vector<uint8_t> with_all_fields(const std::vector<uint8_t>& file) {
  const Part program = part_of(file, 0);
  fb::ProgramT unpacked;
  fb::GetProgram(file.data() + program.offset)->UnPackTo(&unpacked);
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  fb::FinishProgramBuffer(builder, fb::CreateProgram(builder, &unpacked));
  std::vector<uint8_t> out(file.begin(),
                           file.begin() + int64_t(load_little<uint32_t>(file.data() + 12)));
  constexpr uint64_t kSegment = 64;  // in place of a page, whose zeros would be most of a mutant
  const uint64_t alignment = std::min<uint64_t>(load_little<uint32_t>(file.data() + 24), kSegment);
  store_little<uint32_t>(out.data() + 24, uint32_t(alignment));
  const uint32_t parts = load_little<uint32_t>(file.data() + 28);
  for (uint32_t i = 0; i < parts; i++) {
    const Part from = part_of(file, i);
    const bool is_weights =
        load_little<uint32_t>(entry_of(&out, i)) == uint32_t(PartKind::kWeights);
    const uint64_t step = is_weights ? alignment : 16;
    out.resize((out.size() + step - 1) / step * step);
    const uint8_t* data = i == 0 ? builder.GetBufferPointer() : file.data() + from.offset;
    const uint64_t bytes = i == 0 ? builder.GetSize() : from.bytes;
    store_little<uint64_t>(entry_of(&out, i) + 8, out.size());
    store_little<uint64_t>(entry_of(&out, i) + 16, bytes);
    out.insert(out.end(), data, data + bytes);
  }
  mend(out.data(), out.size());
  return out;
}

}  // namespace ingot::fuzz
