// SPDX-License-Identifier: Apache-2.0
// tools/session/precision_record.h - what conversion found out about `--precision`, as entries of a
// file's metadata.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::cli {

struct PrecisionRecord {
  struct Loss {
    std::string precision;          // kMixed: bf16 with some products exact
    double error = 0, allowed = 0;  // parts of the output's largest number
    std::string output;
  };
  std::string asked, written;  // "fp16"
  // "drawn", "golden", "samples"; "off": nothing was checked as the user wants it; "": nothing
  // could be, see `why`
  std::string inputs;
  uint64_t runs = 0;
  std::vector<Loss> losses;  // in the order in which they were tried
  // of those that bf16 would round, in a file where some stay exact
  uint64_t exact_products = 0, products = 0;
  std::string why;

  bool holds() const { return asked == written; }
};

const char* precision_name(uint8_t precision);
inline constexpr const char* kMixed = "mixed";

using MetadataEntries = std::vector<std::pair<std::string, std::string>>;
void put_precision_record(const PrecisionRecord& record, MetadataEntries* entries);
/// Nothing where the file has none: it is exact, or older.
std::optional<PrecisionRecord> precision_record(const MetadataEntries& entries);

/// "fp16 is off by 0.04 of the largest number of output 'y' (8 random inputs, 0.01 allowed)".
/// @pre there are losses
std::string text_of(const PrecisionRecord& record);

}  // namespace ingot::cli
