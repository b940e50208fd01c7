// An activation goes into the store of the convolution or Linear before it.
#include <map>

#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

const std::map<Op, const char*> kActivationNames = {{Op::kRelu, "relu"},
                                                    {Op::kClip, "clip"},
                                                    {Op::kLeakyRelu, "leaky_relu"},
                                                    {Op::kSigmoid, "sigmoid"},
                                                    {Op::kTanh, "tanh"},
                                                    {Op::kSilu, "silu"},
                                                    {Op::kHardSwish, "hard_swish"},
                                                    {Op::kHardSigmoid, "hard_sigmoid"},
                                                    {Op::kGelu, "gelu"},
                                                    {Op::kGeluTanh, "gelu_tanh"},
                                                    {Op::kElu, "elu"},
                                                    {Op::kSoftplus, "softplus"},
                                                    {Op::kMish, "mish"}};

}  // namespace

uint32_t fold_activation(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || !is_unary(*node) || node->text("compute", "f32") != "f32") continue;
    Step step = *only_step(*node);
    auto kind = kActivationNames.find(step.op);
    Node* maker = e.producer(node->inputs[0]);
    if (kind == kActivationNames.end() || !maker || !e.read_once(node->inputs[0])) continue;
    if ((maker->op != "Conv2d" && maker->op != "Linear" && maker->op != "ConvTranspose2d") ||
        maker->has("activation"))
      continue;
    if (e.value(node->outputs[0]).dtype != DType::kF32) continue;
    bool six = step.op == Op::kClip && step.alpha == 0 && step.beta == 6;
    maker->attributes["activation"] = std::string(six ? "relu6" : kind->second);
    if (!six && (step.alpha != 0 || step.beta != 0)) {
      maker->attributes["activation_alpha"] = step.alpha;
      maker->attributes["activation_beta"] = step.beta;
    }
    if (maker->inputs.size() > 3 && maker->inputs[3] >= 0)
      maker->attributes["residual_first"] = int64_t(1);
    ValueId out = node->outputs[0];
    e.kill(*node);
    e.set_outputs(*maker, {out});
    e.merge_sources(*maker, *node);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
