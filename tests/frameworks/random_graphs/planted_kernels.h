// SPDX-License-Identifier: Apache-2.0
// planted_kernels.h - kernels whose last element is that before it, as where a tail is forgotten.
#pragma once
#include <string>
#include <vector>

#include "runtime/op/contract.h"

namespace ingot::planted {

const std::vector<std::string>& kernel_bugs();
/// The best table here with all rows whose names begin so made wrong; null: there is none.
const KernelTable* wrong_table(const std::string& kernel);

}  // namespace ingot::planted
