// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/row_independence.h - whether rows of a batch are computed apart from each other.
#pragma once
#include "tools/serve/core/batch_session.h"

namespace ingot::serve {

/// For all trial runs: a model that takes longer, or that never ends, is served without joining.
constexpr uint64_t kTrialNs = 2000000000;

/// Computes two made items alone and together: true where every bit is the same.
/// @pre ports.max_rows() > 1
bool rows_are_independent(const ModelPorts& ports, BatchSession* session);

}  // namespace ingot::serve
