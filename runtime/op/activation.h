// runtime/op/activation.h - the activation that a producer applies while it stores.
#pragma once
#include <cstdint>

namespace ingot {

/// Same numbers as ingot.fb.Activation.
enum class Activation : uint8_t {
  kNone = 0,
  kRelu = 1,
  kRelu6 = 2,
  kClip = 3,
  kLeakyRelu = 4,
  kSigmoid = 5,
  kTanh = 6,
  kSilu = 7,
  kHardSwish = 8,
  kHardSigmoid = 9,
  kGelu = 10,
  kGeluTanh = 11,
  kElu = 12,
  kSoftplus = 13,
  kMish = 14,
  kPrelu = 15,
  kReluAffine = 16,
  kHardSwishAffine = 17
};
constexpr int kActivationCount = 18;

/// y = act(x). clip: min(max(x, alpha), beta). leaky_relu, elu: slope alpha. hard_sigmoid:
/// min(max(alpha x + beta, 0), 1). hard_swish: x * min(max(x / 6 + 1/2, 0), 1), alpha and beta
/// unused. relu_affine, hard_swish_affine: alpha * act(x) + beta, rounded once.
/// prelu is not allowed in an epilogue (use Elementwise).
struct ActivationSpec {
  Activation kind = Activation::kNone;
  float alpha = 0;
  float beta = 0;
};

}  // namespace ingot
