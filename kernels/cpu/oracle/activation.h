// kernels/cpu/oracle/activation.h - y = act(x) in double, as runtime/op/activation.h states it.
#pragma once
#include <cmath>

#include "runtime/op/activation.h"

namespace ingot::cpu::oracle {

inline double activate(const ActivationSpec& a, double x) {
  const double alpha = double(a.alpha), beta = double(a.beta);
  switch (a.kind) {
    case Activation::kNone:
    case Activation::kPrelu: return x;
    case Activation::kRelu: return x < 0 ? 0 : x;
    case Activation::kRelu6: return x < 0 ? 0 : x > 6 ? 6 : x;
    case Activation::kClip: {
      const double low = x < alpha ? alpha : x;
      return low > beta ? beta : low;
    }
    case Activation::kLeakyRelu: return x < 0 ? alpha * x : x;
    case Activation::kSigmoid: return 1 / (1 + std::exp(-x));
    case Activation::kTanh: return std::tanh(x);
    case Activation::kSilu: return x / (1 + std::exp(-x));
    case Activation::kHardSwish: return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1);
    case Activation::kHardSigmoid: return std::fmin(std::fmax(alpha * x + beta, 0), 1);
    case Activation::kGelu: return 0.5 * x * std::erfc(-x * 0.70710678118654752440);
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::kElu: return x < 0 ? alpha * std::expm1(x) : x;
    case Activation::kSoftplus: return x > 30 ? x : std::log1p(std::exp(x));
    case Activation::kMish: return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x)));
    case Activation::kReluAffine: return alpha * (x < 0 ? 0 : x) + beta;
    case Activation::kHardSwishAffine:
      return alpha * x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1) + beta;
  }
  return x;
}

/// The epilogue: residual_first ? act(sum + residual) : act(sum) + residual.
inline double epilogue(const ActivationSpec& a, bool residual_first, double sum, double residual) {
  return residual_first ? activate(a, sum + residual) : activate(a, sum) + residual;
}

}  // namespace ingot::cpu::oracle
