// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/variant.cpp - looks the tuned variant up among those that the row offers.
#include "runtime/device/cuda/variant.h"

#include <string.h>

#include "runtime/format/tunings.h"

namespace ingot::cuda {
namespace {

void take_model(Chosen* out, VariantSource source, const char* why) {
  out->variant = nullptr;
  out->source = source;
  out->why = why;
}

}  // namespace

void choose(const VariantQuery& q, Chosen* out) {
  const GpuFacts& facts = gpu_facts(q.ordinal);
  const GpuTraits traits = traits_of(facts);
  out->count = list_gpu_variants(*q.row, *q.arguments, traits, q.precision, out->variants);
  if (out->count == 1) return take_model(out, VariantSource::kOnly, "there is one kernel variant");
  const Span<const uint8_t> part = q.tunings->part;
  if (!part.size) return take_model(out, VariantSource::kModel, "the file was not tuned");
  const TuningKey key = {facts.name, uint32_t(facts.sm), uint32_t(traits.multiprocessors),
                         uint8_t(q.precision), q.tunings->dims};
  const int32_t tuning = find_tuning(part, key);
  if (tuning < 0)
    return take_model(out, VariantSource::kModel,
                      "the file was tuned for another GPU or for other dimensions");
  TunedInstruction tuned;
  if (!find_tuned(part, uint32_t(tuning), q.instruction, &tuned))
    return take_model(out, VariantSource::kIgnored,
                      "the file's tuning for this GPU leaves this instruction out");
  for (uint32_t i = 0; i < out->count; i++) {
    const GpuVariant& variant = out->variants[i];
    if (tuned.parts != variant.parts || strcmp(tuned.variant, variant.name) != 0) continue;
    if (gpu_scratch(*q.row, *q.arguments, traits, q.precision, &variant) > q.scratch_bytes)
      return take_model(out, VariantSource::kIgnored,
                        "what the file's tuning names needs more scratch than the session has");
    out->variant = &variant;
    out->source = VariantSource::kTuned;
    out->why = "measured on this GPU";
    return;
  }
  take_model(out, VariantSource::kIgnored,
             "the file's tuning names a variant that there is none for these extents");
}

}  // namespace ingot::cuda
