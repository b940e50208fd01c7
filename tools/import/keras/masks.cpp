// SPDX-License-Identifier: Apache-2.0
#include "tools/import/keras/masks.h"

#include <map>

#include "tools/files/word_list.h"

namespace ingot::keras {

using aten::Term;
using graph::Dim;
using graph::Dims;

MaskUse mask_use(const std::string& kind) {
  static const std::map<std::string, MaskUse> kUses = [] {
    std::map<std::string, MaskUse> uses;
    for (const std::string& name : host::word_list(
             "Activation ActivityRegularization AlphaDropout BatchNormalization Dense Dropout ELU "
             "GaussianDropout GaussianNoise GroupNormalization Identity LayerNormalization "
             "LeakyReLU Normalization PReLU ReLU Rescaling SpatialDropout1D SpatialDropout2D "
             "SpatialDropout3D ThresholdedReLU UnitNormalization"))
      uses[name] = MaskUse::kHandsOn;
    for (const std::string& name : host::word_list(
             "Add AdditiveAttention Attention Average Bidirectional Concatenate ConvLSTM1D "
             "ConvLSTM2D ConvLSTM3D CuDNNLSTM GRU GlobalAveragePooling1D GroupQueryAttention "
             "GroupedQueryAttention LSTM Masking Maximum Minimum MultiHeadAttention Multiply RNN "
             "SimpleRNN Softmax Subtract TimeDistributed"))
      uses[name] = MaskUse::kComputes;
    return uses;
  }();
  const auto found = kUses.find(kind);
  return found == kUses.end() ? MaskUse::kIgnores : found->second;
}

HeldSteps::HeldSteps(aten::Builder& b, ValueId mask)
    : mask_{&b, mask}, last_(mask_), order_(mask_), lengths_(mask_) {
  const Dims dims = mask_.dims();
  const Term held = mask_.cast(DType::kI64),
             step = mask_.of(b.counting(dims[1])).reshape({Dim(1), dims[1]});
  const Term so_far =
      call(op::CumSum, held,
           {{attr::axis, int64_t(1)}, {attr::exclusive, int64_t(0)}, {attr::reverse, int64_t(0)}});
  const Term count = held.reduce(op::ReduceSum, {1}, true);
  lengths_ = count.reshape({dims[0]});
  last_ = so_far - 1.0;
  const Term place = where(mask_, last_, count + step - so_far);
  order_ = scattered(step.number(0).expand(dims), place, step.expand(dims), 1);
}

/// x [batch, steps, width] at places [batch, steps] of its steps.
Term HeldSteps::rows(ValueId x, const Term& places) const {
  aten::Builder& b = *mask_.b;
  const Dims dims = b.dims(x);
  const Term first =
      (mask_.of(b.counting(dims[0])) * mask_.of(b.extent(dims[1]))).reshape({dims[0], Dim(1)});
  return gathered(mask_.of(b.reshape(x, {dims[0] * dims[1], dims[2]})), places + first, 0);
}
ValueId HeldSteps::packed(ValueId x) const { return rows(x, order_).id; }
ValueId HeldSteps::spread(ValueId packed, bool zeros) const {
  const Dims dims = mask_.dims();
  const Term made = rows(packed, larger(last_, 0)), has = zeros ? mask_ : last_ >= 0.0;
  return where(has.reshape({dims[0], dims[1], Dim(1)}), made, 0).id;
}

}  // namespace ingot::keras
