// tools/compile/passes/fuse/fold_nhwc.cpp - a frame becomes a picture in the order that the network
// works in, at no cost.
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {

uint32_t fold_nhwc_layout(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* turned : e.nodes()) {
    if (turned->dead || turned->op != "Transpose" ||
        turned->integers("perm") != Integers{0, 2, 3, 1})
      continue;
    Node* picture = e.producer_if(turned->inputs[0], "Picture");
    if (!picture || picture->text("layout", "nhwc") != "nchw" || !e.read_once(turned->inputs[0]))
      continue;
    const ValueId y = turned->outputs[0];
    e.kill(*turned);
    picture->attributes["layout"] = std::string("nhwc");
    e.set_outputs(*picture, {y});
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
