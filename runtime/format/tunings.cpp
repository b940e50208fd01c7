// SPDX-License-Identifier: Apache-2.0
// runtime/format/tunings.cpp - reads the part of tunings.
#include "runtime/format/tunings.h"

#include <cstring>

#include "ingot_schema/tunings_generated.h"

namespace ingot {
namespace {

const fb::Tuning& tuning_at(Span<const uint8_t> part, uint32_t index) {
  return *fb::GetTunings(part.data)->tunings()->Get(index);
}

Status refuse(ErrorDetail* detail, const char* field, uint32_t tuning) {
  const Status status = fail(detail, Code::kMeaningInvalid, field);
  if (detail) detail->operand = int32_t(tuning);
  return status;
}

}  // namespace

Status validate_tunings(Span<const uint8_t> part, ErrorDetail* detail) {
  constexpr unsigned kDepth = 8, kTables = 1u << 20;
  if (part.size > kMaxTuningBytes)
    return fail(detail, Code::kLimitExceeded, "tunings", kMaxTuningBytes, part.size);
  flatbuffers::Verifier verifier(part.data, part.size, kDepth, kTables);
  if (!fb::VerifyTuningsBuffer(verifier)) return fail(detail, Code::kStructureInvalid, "tunings");
  for (uint32_t t = 0; t < tuning_count(part); t++) {
    const fb::Tuning& tuning = tuning_at(part, t);
    if (tuning.dims() && tuning.dims()->size() &&
        size_t(tuning.dims()->Data() - part.data) % 8 != 0)
      return refuse(detail, "tunings[].dims lie where a number may lie", t);
    const auto* instructions = tuning.instructions();
    for (uint32_t i = 1; instructions && i < instructions->size(); i++)
      if (instructions->Get(i)->instruction() <= instructions->Get(i - 1)->instruction())
        return refuse(detail, "tunings[].instructions ascend", t);
  }
  return {};
}

uint32_t tuning_count(Span<const uint8_t> part) {
  const auto* tunings = fb::GetTunings(part.data)->tunings();
  return tunings ? tunings->size() : 0;
}

int32_t find_tuning(Span<const uint8_t> part, const TuningKey& key) {
  for (uint32_t t = 0; t < tuning_count(part); t++) {
    const fb::Tuning& tuning = tuning_at(part, t);
    uint64_t dims = tuning_dims({});
    if (tuning.dims()) dims = tuning_dims({tuning.dims()->data(), tuning.dims()->size()});
    if (tuning.compute_capability() == key.compute_capability &&
        tuning.multiprocessors() == key.multiprocessors && tuning.precision() == key.precision &&
        dims == key.dims && std::strcmp(tuning.gpu()->c_str(), key.gpu) == 0)
      return int32_t(t);
  }
  return -1;
}

bool find_tuned(Span<const uint8_t> part, uint32_t index, uint32_t instruction,
                TunedInstruction* out) {
  const auto* instructions = tuning_at(part, index).instructions();
  uint32_t low = 0, high = instructions ? instructions->size() : 0;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const fb::TunedInstruction& found = *instructions->Get(middle);
    if (found.instruction() == instruction) {
      *out = {found.variant()->c_str(), found.parts(), found.nanoseconds(),
              found.model_nanoseconds()};
      return true;
    }
    if (found.instruction() < instruction)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

}  // namespace ingot
