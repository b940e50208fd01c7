// SPDX-License-Identifier: Apache-2.0
// tools/files/npz/npy.h - one array of numpy, read with its own parser: no pickle, every size
// checked before it is believed.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/op/tensor.h"

namespace ingot::host {

/// An array in C order and native byte order. Text (a unicode array with one element) has dtype
/// kInvalid and is_text set.
struct Array {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
  bool is_text = false;
  std::string text;  // UTF-8

  int64_t elements() const;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

/// "f32 [1,3,224,224]".
std::string describe(const Array& array);
std::string dims_text(const std::vector<int64_t>& dims);
/// "f32", "bool".
const char* array_dtype_name(DType dtype);

/// Fills `out` with up to `count` bytes and returns how many; 0 at the end. May throw Failure.
using ByteSource = std::function<size_t(void* out, size_t count)>;

/// What stands before an array's bytes.
struct NpyHeader {
  std::string descr;     // numpy's spelling of the element type, "<f4"
  bool fortran = false;  // column-major
  std::vector<int64_t> dims;
  uint64_t bytes = 0;  // of the header, magic included
};
/// Reads the header alone; the source stands at the array's first byte afterwards. Sizes are as
/// stated, not yet validated. @throws Failure kCorrupt, kUnsupported (structured arrays, a newer
/// format).
NpyHeader read_npy_header(const ByteSource& source, const std::string& where);

/// One .npy stream, read from its first row to its last, as many at a time as are wanted: what is
/// in memory is what was asked for.
class NpyReader {
 public:
  /// Reads the header. `where` opens every error. @throws Failure as read_npy().
  NpyReader(ByteSource source, std::string where);
  /// Element type and dims, without bytes.
  const Array& type() const { return type_; }
  uint64_t total_bytes() const { return total_bytes_; }
  /// Whether next() can give less than all: not of scalars, texts and column-major arrays.
  bool has_rows() const;
  /// The next `rows` of the first dimension. @pre has_rows(), so many are left
  Array next(int64_t rows);
  /// What is left; behind it the stream has to end.
  Array rest();

 private:
  Array read(std::vector<int64_t> dims, uint64_t bytes);

  ByteSource source_;
  std::string where_;
  Array type_;
  bool fortran_ = false, swap_ = false;
  uint64_t element_bytes_ = 0, total_bytes_ = 0;
  int64_t given_ = 0;  // rows
};

/// Reads one .npy stream. `where` opens every error. At most `limit_bytes` of content are accepted
/// (zip bombs). bf16 has no numpy type: it is read and written as raw 2-byte elements ('V2'), as
/// ml_dtypes stores it. @throws Failure kCorrupt, kUnsafe (object arrays), kUnsupported (complex,
/// structured, strings in arrays).
Array read_npy(const ByteSource& source, const std::string& where, uint64_t limit_bytes);

/// The header that goes before the bytes of `array`, format 1.0 (2.0 when long), padded to 64
/// bytes; always little endian, C order.
std::string npy_header(const Array& array);

}  // namespace ingot::host
