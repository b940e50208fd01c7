// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/tune/tune_prediction.h"

#include <algorithm>
#include <cmath>

#include "tools/diagnose/gpu_cost/predict.h"

namespace ingot::cli {

PredictionError compare_with_prediction(const Engine& engine, const GpuIdentity& gpu,
                                        const std::vector<TunedTarget>& targets) {
  const gpu_cost::GpuModel model =
      gpu_cost::gpu_model_like(int(gpu.compute_capability), int(gpu.multiprocessors));
  const ProgramView view(engine.path(), engine.bindings());
  PredictionError out;
  out.gpu = model.name;
  std::vector<double> errors;
  for (const TunedTarget& target : targets) {
    out.predicted_ns.emplace_back();
    for (const TunedVariant& variant : target.variants)
      out.predicted_ns.back().push_back(gpu_cost::predict_variant(view, model, target.instruction,
                                                                  variant.variant,
                                                                  uint16_t(variant.parts))
                                            .ns);
    const double predicted = out.predicted_ns.back()[0],
                 measured = target.variants[0].times.median();
    out.predicted_sum_ns += predicted, out.measured_sum_ns += measured;
    errors.push_back(measured > 0 ? std::fabs(predicted / measured - 1) : HUGE_VAL);
    out.within_25 += errors.back() <= 0.25;
  }
  std::sort(errors.begin(), errors.end());
  if (!errors.empty()) out.median = errors[errors.size() / 2];
  return out;
}

}  // namespace ingot::cli
