// SPDX-License-Identifier: Apache-2.0
// runtime/op/tensor.h - what a tensor is: element type, dimensions, row stride, packing. No memory,
// no kernels.
#pragma once
#include <cstdint>

namespace ingot {

/// Same numbers as ingot.fb.DType and ingot_dtype.
enum class DType : uint8_t {
  kInvalid = 0,
  kF32 = 1,
  kF16 = 2,
  kBF16 = 3,
  kF64 = 4,
  kI8 = 5,
  kU8 = 6,
  kI16 = 7,
  kU16 = 8,
  kI32 = 9,
  kU32 = 10,
  kI64 = 11,
  kU64 = 12,
  kBool = 13
};
/// Same numbers as ingot.fb.Packing, which says what each means.
enum class Packing : uint8_t {
  kDense = 0,
  kPanels16 = 1,
  kWinogradF43 = 2,
  kDepthwise16 = 3,
  kVector16 = 4,
  kPanels16x4 = 5,
  kBlocks32 = 6
};

constexpr int kMaxRank = 8;
constexpr int kPanel = 16;           // output channels in a weight panel, lanes in a reduction
constexpr int kWinogradPlanes = 36;  // products of F(4x4, 3x3)

/// Bytes of one element; 0 for kInvalid.
constexpr int dtype_bytes(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kF64:
    case DType::kI64:
    case DType::kU64: return 8;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool: return 1;
    case DType::kInvalid: return 0;
  }
  return 0;
}
const char* dtype_name(DType t);

/// A dimension or a stride in elements: 32 bits where it is kept, because a session keeps a type
/// for every operand; 64 bits in arithmetic. A number that does not fit becomes -1, which
/// storage_bytes() refuses.
class Extent {
 public:
  constexpr Extent() = default;
  constexpr Extent(int64_t n) : n_(n >= 0 && n <= INT32_MAX ? int32_t(n) : -1) {}
  constexpr operator int64_t() const { return n_; }

 private:
  int32_t n_ = 0;
};

/// Type of an operand. Element (i0, .., ir-1) of a dense packing lies at ((i0 * d1 + i1) * d2 +
/// ...) * row_stride + ir-1: all dimensions but the last are dense over rows, and rows may be
/// further apart than they are long (a view into a wider tensor, as when a concat is written in
/// place).
struct TensorType {
  DType dtype = DType::kInvalid;  // kInvalid: an absent optional operand
  Packing packing = Packing::kDense;
  uint8_t rank = 0;
  Extent dims[kMaxRank] = {};  // >= 0
  Extent row_stride = 0;       // elements, >= dims[rank-1]; 1 for scalars

  bool present() const { return dtype != DType::kInvalid; }
  /// Elements; the product was validated not to overflow before any kernel sees it.
  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    return n;
  }
  int64_t row_length() const { return rank ? int64_t{dims[rank - 1]} : 1; }
  int64_t rows() const {
    int64_t n = 1;
    for (int i = 0; i + 1 < rank; i++) n *= dims[i];
    return n;
  }
  bool is_dense() const { return row_stride == row_length() || rows() <= 1; }
};

/// A tensor with its memory. Kernels read inputs and write outputs through it and own nothing.
struct TensorView : TensorType {
  void* data = nullptr;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// Bytes from the first to one past the last element, packing included; false on overflow or a
/// negative dimension.
[[nodiscard]] bool storage_bytes(const TensorType& type, uint64_t* out);

/// Same rank and dims.
bool same_dims(const TensorType& a, const TensorType& b);

}  // namespace ingot
