// runtime/device/cuda/choice.cpp - looks the tuned way up among those that the row offers.
#include "runtime/device/cuda/choice.h"

#include <string.h>

#include "runtime/format/tunings.h"

namespace ingot::cuda {
namespace {

void take_model(Chosen* out, ChoiceSource source, const char* why) {
  out->choice = nullptr;
  out->source = source;
  out->why = why;
}

}  // namespace

void choose(const ChoiceQuery& q, Chosen* out) {
  const GpuFacts& facts = gpu_facts(q.ordinal);
  const GpuTraits traits = traits_of(facts);
  out->count = list_gpu_choices(*q.row, *q.arguments, traits, q.precision, out->choices);
  if (out->count == 1) return take_model(out, ChoiceSource::kOnly, "there is one way");
  const Span<const uint8_t> part = q.tunings->part;
  if (!part.size) return take_model(out, ChoiceSource::kModel, "the file was not tuned");
  const TuningKey key = {facts.name, uint32_t(facts.sm), uint32_t(traits.multiprocessors),
                         uint8_t(q.precision), q.tunings->dims};
  const int32_t tuning = find_tuning(part, key);
  if (tuning < 0)
    return take_model(out, ChoiceSource::kModel,
                      "the file was tuned for another GPU or for other dimensions");
  TunedInstruction tuned;
  if (!find_tuned(part, uint32_t(tuning), q.instruction, &tuned))
    return take_model(out, ChoiceSource::kIgnored,
                      "the file's tuning for this GPU leaves this instruction out");
  for (uint32_t i = 0; i < out->count; i++) {
    const GpuChoice& choice = out->choices[i];
    if (tuned.parts != choice.parts || strcmp(tuned.choice, choice.name) != 0) continue;
    if (gpu_scratch(*q.row, *q.arguments, traits, q.precision, &choice) > q.scratch_bytes)
      return take_model(out, ChoiceSource::kIgnored,
                        "what the file's tuning names needs more scratch than the session has");
    out->choice = &choice;
    out->source = ChoiceSource::kTuned;
    out->why = "measured on this GPU";
    return;
  }
  take_model(out, ChoiceSource::kIgnored,
             "the file's tuning names a way that there is none for these extents");
}

}  // namespace ingot::cuda
