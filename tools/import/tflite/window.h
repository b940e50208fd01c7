// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/window.h - windows over images of bytes, as core form has them.
#pragma once
#include "tools/import/tflite/call.h"

namespace ingot::tflite {

/// Along one direction.
struct Taps {
  int64_t kernel = 1, stride = 1, dilation = 1;
};
/// kernel_h ... pad_right for an image [N, H, W, C]. @throws Refused where SAME needs an extent
/// that is symbolic; ConversionError(kCorrupt) for numbers out of range.
aten::Attributes window_attributes(Call& call, const graph::Dims& image, const Taps& height,
                                   const Taps& width);

}  // namespace ingot::tflite
