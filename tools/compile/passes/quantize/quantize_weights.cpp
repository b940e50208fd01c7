// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/quantize/quantize_weights.h"

#include <cmath>
#include <limits>

#include "runtime/op/linear.h"
#include "tools/compile/passes/quantize/block_weights.h"

namespace ingot::passes {
namespace {

constexpr int64_t kWorthIt = 1024;  // weights; below that scales and padding eat what is saved

double decibels(double signal, double noise) {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

struct Loss {
  double signal = 0, noise = 0;
};
Loss loss_of(const Constant& weights, const Constant& expanded) {
  Loss loss;
  for (int64_t i = 0; i < weights.elements(); i++) {
    const double w = double(weights.as<float>()[i]), error = double(expanded.as<float>()[i]) - w;
    loss.signal += w * w, loss.noise += error * error;
  }
  return loss;
}

class Quantization {
 public:
  Quantization(Model& model, const WeightQuantization& how) : model_(model), how_(how) {}

  WeightQuantizationReport run() {
    report_.worst_signal_to_noise = std::numeric_limits<double>::infinity();
    for (Graph* graph : graphs_inside_out(model_.graph)) {
      Editor e(model_, *graph);
      for (Node* node : e.nodes()) quantize(e, *node);
      e.commit();
    }
    report_.signal_to_noise = decibels(all_.signal, all_.noise);
    return report_;
  }

 private:
  void quantize(Editor& e, Node& node) {
    report_.others +=
        node.op == op::Conv2d || node.op == op::ConvTranspose2d || node.op == op::Recurrent;
    if (node.op != op::Linear || node.inputs.size() > size_t(linear_weights::kScales)) return;
    const Constant given = *e.constant(node.inputs[1]);
    const std::string name = e.value(node.inputs[1]).name;
    const auto keeps = [&](const std::string& each) { return how_.keeps && how_.keeps(each); };
    const bool by_weights = keeps(name), by_node = keeps(node.name);  // both count as used
    const bool is_kept = by_weights || by_node;
    bool is_finite = given.dtype == DType::kF32 && given.elements() >= kWorthIt;
    for (int64_t i = 0; is_finite && i < given.elements(); i++)
      is_finite = std::isfinite(given.as<float>()[i]);
    if (is_kept || !is_finite) {
      report_.kept++;
      return;
    }
    const BlockWeights made = quantize_block_weights(given, how_.bits, how_.block);
    const Loss loss = loss_of(given, expanded(made));
    const double own = decibels(loss.signal, loss.noise);
    if (own < report_.worst_signal_to_noise)
      report_.worst_signal_to_noise = own, report_.worst = node.name.empty() ? name : node.name;
    all_.signal += loss.signal, all_.noise += loss.noise;
    report_.linears++;
    report_.bytes_before += uint64_t(given.elements()) * 4;
    report_.bytes_after += uint64_t(given.elements() * how_.bits / 8) + made.scales.size() * 4;
    std::vector<ValueId> inputs = node.inputs;
    set_block_weights(e, made, name, &inputs, &node.attributes);
    e.set_inputs(node, std::move(inputs));
    e.drop_unread_constants();
  }

  Model& model_;
  const WeightQuantization& how_;
  WeightQuantizationReport report_;
  Loss all_;
};

}  // namespace

WeightQuantizationReport quantize_weights(Model& model, const WeightQuantization& how) {
  return Quantization(model, how).run();
}

}  // namespace ingot::passes
