// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/gpu_cost_report.h - predicted times of a GPU that is not here, as JSON and as
// tables.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/diagnose/gpu_cost/predict.h"

namespace ingot::cli {

/// The GPU that "cuda:sm_90" or "cuda:h200" names; null: `device` is one of this machine's.
/// @throws Failure kUsage for a name that is in no table, with all that are
const gpu_cost::GpuModel* predicted_gpu(const std::string& device);

nlohmann::ordered_json gpu_cost_json(const gpu_cost::ProgramCost& cost, const ProgramView& view);
void print_gpu_cost(const nlohmann::ordered_json& report, bool all);

}  // namespace ingot::cli
