// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/quantize/int8_operands.h - what products of bytes take: weights of i8 with
// the outputs in front, images with channels last, windows.
#pragma once
#include "tools/compile/passes/quantize/int8_graph.h"

namespace ingot::passes::quantize {

/// A node's window as the schema spells it.
Attributes window(const Node& node);
/// Groups and method of a convolution: `each` channels of x go into one of the outputs.
void set_groups(int64_t groups, int64_t outputs, int64_t each, Attributes* attributes);
/// The pads of the node give its output's dims.
bool windows_fit(const Editor& e, const Node& node);

/// [N, C, W] or [N, C, H, W] as [N, H, W, C].
Dims image_dims(const Dims& dims);
ValueId image_of(Editor& e, ValueId x, const Node& node);
/// And back to the dims of what `node` makes.
ValueId from_image(Editor& e, ValueId image, const Node& node);
/// Zero point and limits of the output, rounding to the nearest.
void limit(const Output& to, Attributes* attributes);

}  // namespace ingot::passes::quantize
