// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/tune/tune_session.h"

#include <algorithm>

namespace ingot::cli {
namespace {

/// What the back end says, as any other failure of the library.
template <class Ask>
auto asked(const Engine& engine, Ask ask) {
  try {
    return ask();
  } catch (const GpuFault& fault) {
    Error error;
    static_cast<ingot_error&>(error) = fault.error;
    fail_with(engine.path(), error);
  }
}

}  // namespace

std::vector<TunedTarget> find_targets(Engine& engine) {
  std::vector<TunedTarget> targets;
  for (uint32_t i = 0; i < engine.summary().instruction_count; i++) {
    TunedTarget target;
    for (TimedVariant& variant : variants_of(engine.session().get(), i))
      target.variants.push_back({std::move(variant), {}});
    if (target.variants.empty()) continue;
    ingot_instruction instruction{};
    ingot_model_instruction(engine.model().get(), i, &instruction);
    target.instruction = i, target.op = instruction.op, target.name = instruction.name;
    targets.push_back(std::move(target));
  }
  return targets;
}

void measure_targets(Engine& engine, double seconds, std::vector<TunedTarget>* targets,
                     const std::function<void(size_t)>& show) {
  uint64_t scratch = 0;
  for (const TunedTarget& target : *targets)
    for (const TunedVariant& variant : target.variants)
      scratch = std::max(scratch, variant.scratch_bytes);
  asked(engine, [&] {
    VariantTimer timer(engine.session().get(), scratch);
    const uint64_t end = ingot_clock_ns() + uint64_t(seconds * 1e9);
    for (size_t i = 0; i < targets->size(); i++) {
      TunedTarget& target = (*targets)[i];
      show(i);
      const uint64_t now = ingot_clock_ns(), left = end > now ? end - now : 0;
      SearchLimits limits;
      limits.until_ns = now + left / (targets->size() - i);
      timer.begin(target.instruction);
      std::vector<VariantTimes> times;
      target.chosen = find_quickest(
          target.variants.size(), [&](size_t variant) { return timer.sample(variant); },
          ingot_clock_ns, limits, &times);
      for (size_t variant = 0; variant < times.size(); variant++)
        target.variants[variant].times = std::move(times[variant]);
    }
  });
}

}  // namespace ingot::cli
