// SPDX-License-Identifier: Apache-2.0
// tools/graph/fourier_table.h - the constant operand of Fft, as runtime/op/fft.h has it.
#pragma once
#include <vector>

#include "runtime/op/fft.h"

namespace ingot::graph {

std::vector<double> fourier_table(const FftAttributes& attributes);

}  // namespace ingot::graph
