// SPDX-License-Identifier: Apache-2.0
// tests/format/refuse_table.h - files that are sound as FlatBuffers and wrong in meaning, each one
// change away from a base that opens. tests/golden/refuse/ holds what this table makes (make_refuse
// regenerates it), a folder for each kind; the code is in the file's name.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/format/small_files.h"

namespace ingot::test {

using convert::ProgramSpec;
using Bytes = std::vector<uint8_t>;

/// Larger files are made by the tests only.
constexpr size_t kMaxCommittedBytes = 8192;

struct RefuseCase {
  std::string kind, base, name;
  Code code;
  std::function<Bytes()> make;
  std::string file_name() const;  // products/e27_conv2d_groups_zero.ingot
};
struct AcceptedBase {
  std::string name;
  std::function<convert::FileSpec()> make;
};

/// Changes are functions by address: a std::function for each of 600 took GCC half a minute.
class RefuseTable {
 public:
  using Finish = std::function<convert::FileSpec(convert::FileSpec)>;
  /// What is done to each base before a case changes it.
  explicit RefuseTable(Finish finish = nullptr) : finish_(std::move(finish)) {}
  /// The folder of what follows.
  void kind(const std::string& name) { kind_ = name; }
  /// What follows changes this file. It must open itself.
  void base(const char* name, convert::FileSpec (*make)());
  /// A changed spec; refused with kMeaningInvalid unless another code is named.
  void spec(const char* name, void (*change)(ProgramSpec&), Code code = Code::kMeaningInvalid) {
    spec_of(name, change, code);
  }
  /// The same by a function that holds something.
  void spec_of(const char* name, std::function<void(ProgramSpec&)> change,
               Code code = Code::kMeaningInvalid);
  /// Changed attributes of instruction 0 of the main program.
  template <class A>
  void attributes(const char* name, void (*change)(A&)) {
    spec_of(name, [change](ProgramSpec& p) {
      change(std::get<A>(p.subprograms[0].instructions[0].attributes));
    });
  }
  /// Changed dims of one value; a constant gets bytes that fit.
  void dims(const char* name, size_t value, std::initializer_list<Dim> dims);
  void dtype(const char* name, size_t value, DType dtype);
  /// Changed bytes of the finished file; hashes are brought up to date afterwards.
  void bytes(const char* name, void (*change)(Bytes&), Code code = Code::kMeaningInvalid);
  /// The same with hashes left as they are.
  void stale(const char* name, void (*change)(Bytes&), Code code);

  std::vector<RefuseCase> cases;
  std::vector<AcceptedBase> bases;

 private:
  Finish finish_;
  std::string kind_;
};

/// One instruction: values are its inputs, then its outputs; ports by kind. Flash alignment.
convert::FileSpec one_instruction(convert::Attributes attributes,
                                  std::vector<convert::ValueSpec> inputs,
                                  std::vector<convert::ValueSpec> outputs);

/// A field of a table in the finished file; it must be there.
enum class ValueField { kPacking, kKind, kSegment, kSegmentOffset };
void set_value_field(Bytes* bytes, uint32_t value, ValueField field, uint64_t to);
void set_dim(Bytes* bytes, uint32_t value, uint32_t dim, int64_t to);
/// Lets `dims` begin four bytes later, where its entries are not aligned.
void shift_dims(Bytes* bytes, uint32_t value);
void set_operator(Bytes* bytes, uint32_t instruction, uint8_t to);

void add_product_cases(RefuseTable* table);         // convolutions, products, pooling, recurrent
void add_map_cases(RefuseTable* table);             // elementwise, reductions, norms, sorting
void add_movement_cases(RefuseTable* table);        // gather, slice, pad, resize and the like
void add_value_cases(RefuseTable* table);           // values, constants, ports, states, dims
void add_alias_cases(RefuseTable* table);           // views, in place, order of reads and writes
void add_data_dependent_cases(RefuseTable* table);  // sizes that the data decides
void add_image_cases(RefuseTable* table);           // frames of a camera
void add_quantized_cases(RefuseTable* table);       // operators of bytes
void add_control_cases(RefuseTable* table);         // subprograms and If
void add_file_cases(RefuseTable* table);            // header, parts, features, limits
const RefuseTable& refuse_table();
/// The same with each base finished so.
RefuseTable refuse_table_of(RefuseTable::Finish finish);

}  // namespace ingot::test
