// SPDX-License-Identifier: Apache-2.0
// tools/compile/write/storage.h - in which type the weights of a converted program lie in the file:
// f32, or rounded to f16 or bf16 and widened again when a session is made, so that kernels see f32
// whatever was chosen (D43). Only f32 constants are ever stored smaller: indices, shapes, masks of
// bools and initial states stay as they are, as do weights transformed for Winograd and what would
// take as many bytes either way (16 numbers and fewer, by the alignment of constants).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/compile/write/program_builder.h"
#include "tools/graph/graph.h"

namespace ingot::convert {

struct StorageOptions {
  DType dtype = DType::kF32;  // kF32, kF16, kBF16
  bool chosen = false;        // by the user
  // by value of the program: those alone; empty: all
  std::vector<bool> constants;
  // patterns over names of constants and of source weights; * stands for anything
  std::vector<std::string> keep_fp32;
  bool allow_overflow = false;
  // weights of linear layers alone, activations in f32: 8, 4 or 0 bits; how many of a row have one
  // scale, 0: all of them
  int64_t weight_bits = 0, weight_block = 0;
};

/// "fp32", "fp16", "bf16", "w8", or "w4" in blocks of 32, "w4:64" of 64. @throws
/// ConversionError(kUsage)
void set_storage(StorageOptions& options, const std::string& argument);

/// What storing one constant costs. Relative errors are |stored - value| / |value| over what is
/// finite and not zero.
struct StorageLoss {
  int32_t value = -1;
  std::string name;
  uint64_t elements = 0;         // of the packing, without the zeros that fill it up
  double largest = 0, mean = 0;  // relative errors
  uint64_t to_zero = 0;          // numbers that became zero
  // numbers that lost bits because they are below the smallest normal one, zero apart
  uint64_t subnormal = 0;
  uint64_t overflowed = 0;  // that became infinite
  double overflow = 0;      // the largest of those
};

struct StorageReport {
  DType dtype = DType::kF32;
  bool of_products = false;          // that are computed in that type
  std::vector<StorageLoss> tensors;  // stored as dtype, in the file's order
  uint64_t kept = 0, small = 0,
           winograd =
               // constants that stay f32: by pattern, by size, by what Winograd's transform makes
           // of rounding
           0;
  uint64_t bytes_before = 0, bytes_after = 0;
  uint64_t widened_bytes() const { return 2 * bytes_after; }
  /// One sentence; "" where nothing is stored smaller.
  std::string summary() const;
};

/// Names of source weights by constant.
using WeightNames = std::map<int32_t, std::vector<std::string>>;

/// Marks the constants of `program` that are stored as options.dtype, and measures what that costs.
/// `names` is asked once; it may be empty. @throws ConversionError(kUnsupported) naming every
/// constant with a number that would become infinite, unless allow_overflow;
/// ConversionError(kMismatch) for a pattern that nothing matches.
StorageReport store_constants(const StorageOptions& options, uint32_t segment_alignment,
                              const std::function<WeightNames(const ProgramSpec&)>& names,
                              ProgramSpec* program);

/// NaN and infinite elements of the f32 constants that a model's nodes read, counted: one sentence,
/// or "". Scalars, and tensors of zeros, ones and infinities, are bounds and masks.
std::string say_not_finite(const graph::Model& model);

/// f32 numbers rounded to nearest even, and back.
std::vector<uint8_t> narrow_floats(DType to, const std::vector<uint8_t>& floats);
std::vector<uint8_t> widen_halves(DType from, const uint8_t* halves, uint64_t bytes);

}  // namespace ingot::convert
