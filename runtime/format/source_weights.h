// SPDX-License-Identifier: Apache-2.0
// runtime/format/source_weights.h - the weights of the source as the metadata part records them:
// names, places, devices.
// Owns     nothing: strings lead into the part.
// Threads  any.
// Errors   kStructureInvalid kLimitExceeded.
#pragma once
#include "runtime/base/status.h"
#include "runtime/format/program.h"

namespace ingot {

class SourceWeights {
 public:
  /// `part` is 8-byte aligned, validated here and must outlive this. A file that records none has
  /// size 0.
  static Status open(Span<const uint8_t> part, SourceWeights* out, ErrorDetail* detail);

  uint32_t size() const { return size_; }
  /// The constant that holds weight i; below 0: none, conversion changed it or nothing computes
  /// with it.
  int32_t value(uint32_t i) const;
  /// Where it was saved, in the words of its framework, or "".
  const char* device(uint32_t i) const;
  /// The keys of its path, joined by dots, into out[0..size), ended by 0. Returns the length
  /// without that 0.
  size_t name(uint32_t i, char* out, size_t size) const;
  /// Its dims as the source had them; false when there are more than kMaxRank, or a senseless one.
  bool dims(uint32_t i, uint8_t* rank, int64_t* dims) const;

 private:
  const void* rows_ = nullptr;  // the FlatBuffer's vector
  uint32_t size_ = 0;
};

}  // namespace ingot
