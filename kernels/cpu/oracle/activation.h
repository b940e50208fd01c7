// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/activation.h - what an epilogue makes of a sum, in double.
#pragma once
#include "runtime/op/scalar_functions.h"

namespace ingot::cpu::oracle {

using scalar::activate;

/// residual_first ? act(sum + residual) : act(sum) + residual.
inline double epilogue(const ActivationSpec& a, bool residual_first, double sum, double residual) {
  return residual_first ? activate(a, sum + residual) : activate(a, sum) + residual;
}

}  // namespace ingot::cpu::oracle
