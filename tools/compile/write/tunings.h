// SPDX-License-Identifier: Apache-2.0
// tools/compile/write/tunings.h - the part of tunings (schema/tunings.fbs) as plain structs.
// Errors   decode: host::Failure kCorrupt for bytes that are not such a part.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::convert {

struct TunedInstructionSpec {
  uint32_t instruction = 0;
  std::string variant;
  uint32_t parts = 1;
  float nanoseconds = 0, model_nanoseconds = 0;
};
struct TuningSpec {
  std::string gpu;
  uint32_t compute_capability = 0, multiprocessors = 0;
  uint8_t precision = 0;
  std::vector<int64_t> dims;                       // of the free symbols
  std::vector<TunedInstructionSpec> instructions;  // ascending
  uint32_t driver = 0;
  std::string producer;
};

std::vector<uint8_t> encode_tunings(const std::vector<TuningSpec>& tunings);
/// No bytes: no tunings. `where` is named in the error.
std::vector<TuningSpec> decode_tunings(const std::vector<uint8_t>& part, const std::string& where);
/// In the place of one for the same GPU, precision and dims, or behind the others.
void put_tuning(std::vector<TuningSpec>* tunings, TuningSpec tuning);

}  // namespace ingot::convert
