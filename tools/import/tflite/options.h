// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/options.h - the options of an operator, read by name out of a table whose
// fields have numbers. What a newer TFLite adds is seen too: nothing that is there goes unread.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tflite_generated.h"

namespace ingot::tflite {

enum class FieldType : uint8_t {
  kByte,
  kBool,
  kInt,
  kLong,
  kFloat,
  kInts,
  kLongs,
  kFloats,
  kText,
  kTable
};
struct OptionField {
  std::string name;
  FieldType type = FieldType::kInt;
  double otherwise = 0;
};
/// One kind of options: its number in the union, its fields in the order of their numbers.
struct OptionTable {
  int kind = 0;
  bool second = false;  // of the union that TFLite began when the first was full
  std::string name;
  std::vector<OptionField> fields;
};
const std::vector<OptionTable>& option_tables();
/// Null for a number that is not known.
const OptionTable* find_options(int kind, bool second);

class Options {
 public:
  /// Without a table every field has its default. The file must outlive this.
  Options(const OptionTable* kind, const fb::Opaque* table, const uint8_t* file, uint64_t size)
      : kind_(kind), table_(table), end_(file + size) {}

  // Asking makes a field known. A damaged one throws graph::ConversionError(kCorrupt), and so does
  // a name that this kind of options does not have.
  int64_t integer(const std::string& name);
  double number(const std::string& name);
  std::vector<int64_t> integers(const std::string& name);
  std::vector<double> numbers(const std::string& name);
  std::string text(const std::string& name);
  bool has(const std::string& name);           // stands in the table
  bool offers(const std::string& name) const;  // options of this kind have it

  struct Unread {
    std::string name, value;
  };
  /// Fields that nobody asked for and that say something else than their default; of numbers that
  /// are not known, whatever is not zero.
  std::vector<Unread> unread() const;
  const OptionTable* kind() const { return kind_; }

 private:
  struct Place {
    const OptionField* field = nullptr;
    const uint8_t* at = nullptr;  // null: default
  };
  Place find(const std::string& name);
  const uint8_t* field_at(size_t number, size_t bytes) const;
  const uint8_t* vector_at(const uint8_t* field, size_t bytes, uint32_t* count) const;
  int64_t read_integer(const OptionField& field, const uint8_t* at) const;

  const OptionTable* kind_;
  const fb::Opaque* table_;
  const uint8_t* end_;
  std::set<std::string> known_;
};

}  // namespace ingot::tflite
