// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/write/tunings.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "ingot_schema/tunings_generated.h"
#include "runtime/format/tunings.h"
#include "tools/files/failure.h"

namespace ingot::convert {
namespace {

bool is_same_key(const TuningSpec& a, const TuningSpec& b) {
  return a.gpu == b.gpu && a.compute_capability == b.compute_capability &&
         a.multiprocessors == b.multiprocessors && a.precision == b.precision && a.dims == b.dims;
}

std::string text_of(const flatbuffers::String* text) { return text ? text->str() : ""; }

TuningSpec spec_of(const fb::Tuning& from) {
  TuningSpec to;
  to.gpu = text_of(from.gpu());
  to.compute_capability = from.compute_capability(), to.multiprocessors = from.multiprocessors();
  to.precision = from.precision(), to.driver = from.driver(),
  to.producer = text_of(from.producer());
  if (from.dims()) to.dims.assign(from.dims()->begin(), from.dims()->end());
  for (uint32_t i = 0; from.instructions() && i < from.instructions()->size(); i++) {
    const fb::TunedInstruction& one = *from.instructions()->Get(i);
    to.instructions.push_back({one.instruction(), text_of(one.variant()), one.parts(),
                               one.nanoseconds(), one.model_nanoseconds()});
  }
  return to;
}

}  // namespace

std::vector<uint8_t> encode_tunings(const std::vector<TuningSpec>& tunings) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Tuning>> rows;
  for (const TuningSpec& tuning : tunings) {
    std::vector<flatbuffers::Offset<fb::TunedInstruction>> instructions;
    for (const TunedInstructionSpec& one : tuning.instructions)
      instructions.push_back(fb::CreateTunedInstruction(
          builder, one.instruction, builder.CreateSharedString(one.variant), one.parts,
          one.nanoseconds, one.model_nanoseconds));
    const auto gpu = builder.CreateString(tuning.gpu),
               producer = builder.CreateString(tuning.producer);
    const auto dims = builder.CreateVector(tuning.dims);
    rows.push_back(fb::CreateTuning(builder, gpu, tuning.compute_capability, tuning.multiprocessors,
                                    tuning.precision, dims, builder.CreateVector(instructions),
                                    tuning.driver, producer));
  }
  fb::FinishTuningsBuffer(builder, fb::CreateTunings(builder, builder.CreateVector(rows)));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

std::vector<TuningSpec> decode_tunings(const std::vector<uint8_t>& part, const std::string& where) {
  std::vector<TuningSpec> tunings;
  if (part.empty()) return tunings;
  const size_t size = (part.size() + 15) / 16 * 16;
  std::vector<std::max_align_t> aligned(size / sizeof(std::max_align_t) + 1);  // of 16 bytes
  std::memcpy(aligned.data(), part.data(), part.size());
  const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(aligned.data()), part.size());
  ErrorDetail detail;
  if (!validate_tunings(bytes, &detail).ok())
    host::fail(host::Exit::kCorrupt, where + ": the tunings in it are damaged: " + detail.field);
  for (uint32_t t = 0; t < tuning_count(bytes); t++)
    tunings.push_back(spec_of(*fb::GetTunings(bytes.data)->tunings()->Get(t)));
  return tunings;
}

void put_tuning(std::vector<TuningSpec>* tunings, TuningSpec tuning) {
  const auto old = std::find_if(tunings->begin(), tunings->end(),
                                [&](const TuningSpec& t) { return is_same_key(t, tuning); });
  if (old != tunings->end())
    *old = std::move(tuning);
  else
    tunings->push_back(std::move(tuning));
}

}  // namespace ingot::convert
