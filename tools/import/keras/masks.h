// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/masks.h - masks of steps: which steps of a sequence hold something. Embedding
// (mask_zero) and Masking make them, most layers hand them on, some leave the other steps out.
#pragma once
#include <string>
#include <vector>

#include "tools/import/aten/arithmetic.h"

namespace ingot::keras {

using graph::kAbsent;
using graph::ValueId;

/// A value and its mask, bool [batch, steps], or kAbsent.
struct Masked {
  ValueId value = kAbsent, mask = kAbsent;
};

/// What Keras does with a mask that comes with a layer's first input.
enum class MaskUse {
  kIgnores,   // what comes behind sees none
  kHandsOn,   // its output has the mask
  kComputes,  // its result depends on it
};
MaskUse mask_use(const std::string& kind);

/// The steps of sequences [batch, steps, ...], those that the mask holds first, as a recurrent
/// layer with lengths takes them.
class HeldSteps {
 public:
  /// `mask`: bool [batch, steps]
  HeldSteps(aten::Builder& b, ValueId mask);
  ValueId lengths() const { return lengths_.cast(DType::kI32).id; }  // [batch]
  /// [batch, steps, width], each sequence's held steps moved to its beginning.
  ValueId packed(ValueId x) const;
  /// Undoes packed() in a result: a step that is left out has the result of the last held one
  /// before it, zeros before the first and, with `zeros`, everywhere.
  ValueId spread(ValueId packed, bool zeros) const;

 private:
  aten::Term rows(ValueId x, const aten::Term& places) const;
  aten::Term mask_, last_, order_, lengths_;
};

}  // namespace ingot::keras
