// SPDX-License-Identifier: Apache-2.0
// runtime/op/tensor.cpp - sizes of tensors, every product checked.
#include "runtime/op/tensor.h"

#include "runtime/base/checked_math.h"

namespace ingot {
namespace {

/// base * the product of dims[first, last); false on overflow or a negative dimension.
bool multiply_dims(const TensorType& type, int first, int last, uint64_t base, uint64_t* out) {
  bool empty = false, fits = true;
  for (int i = first; i < last; i++) {
    if (type.dims[i] < 0) return false;
    empty = empty || type.dims[i] == 0;
    fits = fits && checked_mul<uint64_t>(base, uint64_t(type.dims[i]), &base);
  }
  *out = empty ? 0 : base;
  return fits || empty;
}

/// All pad the first dimension: to a panel, or to the 32 outputs of blocks.
bool packed_elements(const TensorType& t, uint64_t* out) {
  const bool in_blocks = t.packing == Packing::kBlocks32;  // rows of bytes
  uint64_t padded = 0;
  if (t.rank < 1 || t.dims[0] < 0 ||
      !checked_align(uint64_t(t.dims[0]), in_blocks ? 32 : kPanel, &padded))
    return false;
  switch (t.packing) {
    case Packing::kPanels16:
    case Packing::kDepthwise16:
    case Packing::kBlocks32:
      return (!in_blocks || t.rank == 2) && multiply_dims(t, 1, t.rank, padded, out);
    case Packing::kWinogradF43:
      return t.rank == 4 && t.dims[1] == 3 && t.dims[2] == 3 &&
             checked_mul<uint64_t>(padded, kWinogradPlanes, &padded) &&
             multiply_dims(t, 3, 4, padded, out);
    case Packing::kVector16: *out = padded; return t.rank == 1;
    case Packing::kPanels16x4: {  // a run for each kernel row, of whole groups of 4
      if (t.rank != 2 && t.rank != 4) return false;
      uint64_t run = 0;
      return multiply_dims(t, t.rank / 2, t.rank, 1, &run) && checked_align(run, 4, &run) &&
             checked_mul(padded, run, &padded) && multiply_dims(t, 1, t.rank / 2, padded, out);
    }
    default: break;  // dense
  }
  return false;
}

}  // namespace

const char* dtype_name(DType t) {
  static constexpr const char* kNames[] = {"invalid", "f32", "f16", "bf16", "f64", "i8",  "u8",
                                           "i16",     "u16", "i32", "u32",  "i64", "u64", "bool"};
  return int(t) < int(sizeof(kNames) / sizeof(kNames[0])) ? kNames[int(t)] : "unknown";
}

bool storage_bytes(const TensorType& type, uint64_t* out) {
  if (type.rank > kMaxRank) return false;
  uint64_t elements = 0;
  if (type.packing != Packing::kDense) {
    if (!packed_elements(type, &elements)) return false;
  } else {
    uint64_t rows = 1;
    const int64_t length = type.row_length();
    if (length < 0 || !multiply_dims(type, 0, type.rank - 1, 1, &rows)) return false;
    if (rows != 0 && length != 0) {  // the last row ends with its last element
      if (rows > 1 && type.row_stride < length) return false;
      if (!checked_mul<uint64_t>(rows - 1, uint64_t(type.row_stride), &elements)) return false;
      if (!checked_add<uint64_t>(elements, uint64_t(length), &elements)) return false;
    }
  }
  if (!checked_mul<uint64_t>(elements, uint64_t(dtype_bytes(type.dtype)), out)) return false;
  return *out <= uint64_t(INT64_MAX);
}

bool same_dims(const TensorType& a, const TensorType& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; i++)
    if (a.dims[i] != b.dims[i]) return false;
  return true;
}

}  // namespace ingot
