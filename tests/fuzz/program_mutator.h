// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/program_mutator.h - changes to the fields of an .ingot file: each field of the schema
// is as likely as any other, however often it occurs. The generated reflection says where they lie.
// Uses vectors alone of the C++ library, which no MemorySanitizer sees through.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::fuzz {

/// xorshift64*.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {}
  uint64_t next() {
    state_ ^= state_ >> 12, state_ ^= state_ << 25, state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  uint64_t below(uint64_t n) { return (next() >> 11) % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

/// A field that holds a number, or the place of a table or a vector.
struct Site {
  uint32_t at;    // bytes from the start of the file
  uint8_t width;  // 1, 2, 4, 8
  enum Kind : uint8_t { kInteger, kFloat, kOffset } kind;
};
/// The sites of one field of the schema.
struct Field {
  const void* table;  // the type table that has it
  uint32_t index;
  const char* name;
  Site::Kind kind;
  std::vector<Site> sites;
};

class ProgramMutator {
 public:
  /// @pre a file that opens.
  explicit ProgramMutator(const std::vector<uint8_t>& file);
  const std::vector<Field>& fields() const { return fields_; }
  /// A changed copy with sound hashes, of the same size.
  void mutate(Random* random, std::vector<uint8_t>* out) const;

 private:
  struct Reach;
  void change_field(Random* random, std::vector<uint8_t>* bytes) const;
  void change_offset(Random* random, const Field& field, std::vector<uint8_t>* bytes) const;
  void change_bytes(Random* random, std::vector<uint8_t>* bytes) const;

  std::vector<uint8_t> file_;
  std::vector<Field> fields_;
  uint32_t program_ = 0, program_bytes_ = 0;
};

/// The same file with every number of its program in it, those at their defaults too, so that each
/// can be changed where it lies.
std::vector<uint8_t> with_all_fields(const std::vector<uint8_t>& file);

}  // namespace ingot::fuzz
