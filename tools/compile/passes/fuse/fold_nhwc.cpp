// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/fuse/fold_nhwc.cpp - a frame becomes an image in the order that the network
// works in, at no cost.
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {

uint32_t fold_nhwc_layout(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* turned : e.nodes()) {
    if (turned->dead || turned->op != op::Transpose ||
        turned->integers(attr::perm) != Integers{0, 2, 3, 1})
      continue;
    Node* image = e.producer_if(turned->inputs[0], op::ImageInput);
    if (!image || image->text(attr::layout, "nhwc") != "nchw" || !e.read_once(turned->inputs[0]))
      continue;
    const ValueId y = turned->outputs[0];
    e.kill(*turned);
    image->attributes[attr::layout] = std::string("nhwc");
    e.set_outputs(*image, {y});
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
