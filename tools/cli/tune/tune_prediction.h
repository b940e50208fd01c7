// SPDX-License-Identifier: Apache-2.0
// tools/cli/tune/tune_prediction.h - what was measured beside what the cost model predicts of a GPU
// (tools/diagnose/gpu_cost).
#pragma once
#include <string>
#include <vector>

#include "tools/cli/tune/tune_session.h"

namespace ingot::cli {

struct PredictionError {
  std::string gpu;  // of the table, whose clock and memory the prediction has
  std::vector<std::vector<double>> predicted_ns;     // of targets, of their variants
  double predicted_sum_ns = 0, measured_sum_ns = 0;  // of the cost model's variants
  double median = 0;     // of |predicted / measured - 1| over targets, the cost model's variant
  size_t within_25 = 0;  // targets whose error is at most 0.25
};

/// @pre every target was measured. @throws Failure
PredictionError compare_with_prediction(const Engine& engine, const GpuIdentity& gpu,
                                        const std::vector<TunedTarget>& targets);

}  // namespace ingot::cli
