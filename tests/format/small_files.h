// SPDX-License-Identifier: Apache-2.0
// tests/format/small_files.h - small files in memory, and one call that opens.
#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "runtime/format/format.h"
#include "tests/format/contracts.h"
#include "tools/compile/write/file_writer.h"

namespace ingot::test {

/// Memory of exactly the size asked for, so that a sanitizer sees one byte too many.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t bytes)
      : bytes_(static_cast<uint8_t*>(::operator new(bytes, std::align_val_t(16)))) {}
  uint8_t* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { ::operator delete(bytes, std::align_val_t(16)); }
  };
  std::unique_ptr<uint8_t, Free> bytes_;
};

/// What opening a file gave; owns the memory that `program` and `bound` lead into.
struct Opened {
  Status status;
  ErrorDetail detail;
  FileView file;
  ProgramDef program;
  BoundProgram bound;
  std::vector<AlignedBytes> memory;
};

struct OpenWith {
  bool as_memory = false;  // used where it lies, else through a reader
  bool hashes = false;
  std::vector<int64_t> symbol_values;  // empty: low bound of every symbol
  bool bind = true;
};

/// measure, read, open, bind; stops at the first failure.
Opened open_bytes(const std::vector<uint8_t>& bytes, const OpenWith& how = {});
Opened open_source(const Source& source, const OpenWith& how = {});

/// Replaces the program's bytes and brings hashes up to date, so that only validation stands
/// between them and the reader.
void rehash(std::vector<uint8_t>* bytes);

convert::ConstantBytes pattern_bytes(uint64_t count, uint8_t seed = 1);
convert::ValueSpec activation(const std::string& name, std::vector<Dim> dims,
                              DType dtype = DType::kF32);
convert::ValueSpec input(const std::string& name, std::vector<Dim> dims, DType dtype = DType::kF32);
convert::ValueSpec output(const std::string& name, std::vector<Dim> dims,
                          DType dtype = DType::kF32);
convert::ValueSpec constant(const std::string& name, std::vector<Dim> dims,
                            Packing packing = Packing::kDense, DType dtype = DType::kF32);
convert::ValueSpec view_of(convert::ValueSpec value, int32_t of, Dim offset = 0,
                           Dim row_stride = 0);
convert::ValueSpec in_place_of(convert::ValueSpec value, int32_t of);
/// One elementwise step.
ElementwiseAttributes step(ElementwiseOp op, uint8_t a = 0, uint8_t b = 1);

/// x -> conv 3x3 + relu (in place) -> linear over the channels -> y; two weights of equal bytes.
/// Flash alignment.
convert::FileSpec small_network();
/// Batch symbolic: x [N, 8] -> Slice, Concat in place through views, an If with both branches -> y.
convert::FileSpec branching_network();
/// Adds a port for every value of kind input or output, named as the value.
void add_ports(convert::FileSpec* spec);

}  // namespace ingot::test
