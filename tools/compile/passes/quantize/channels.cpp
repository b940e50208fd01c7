// SPDX-License-Identifier: Apache-2.0
// Functions that differ from channel to channel: sums and products with constants, normalization,
// PRelu. They are convolutions of one pixel and one channel each: exact products of bytes, a bias,
// a multiplier of each channel, rounded once.
#include <algorithm>
#include <cmath>

#include "runtime/op/requantize.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/compile/passes/quantize/int8_operands.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes::quantize {
namespace {

constexpr size_t kMaxNodes = 8;
// Of every product, so that biases lie on 64 steps between two of x.
constexpr int8_t kWeight = 64;

using ChannelNumbers = std::vector<double>;

/// times * x + plus, of each channel.
struct Affine {
  ChannelNumbers times, plus;
};

/// Of a constant that has one number for each element of `axis` of what has `rank` dimensions, or
/// one for all. `axis` is found where it is -1.
std::optional<ChannelNumbers> numbers_along(const Int8Graph& g, ValueId id, size_t rank,
                                            int64_t* axis) {
  ChannelNumbers all;
  std::vector<int64_t> dims;
  if (const Constant* constant = g.e.constant(id)) {
    if (constant->dtype != DType::kF32) return std::nullopt;
    all = graph::read_numbers(*constant);
    dims = constant->dims;
  } else if (const auto found = g.quantized_constant(id)) {
    if (!found->perm.empty() || found->scales.size() != 1) return std::nullopt;
    for (const double each : graph::read_numbers(*found->integers))
      all.push_back(double(float(each - double(found->zeros[0])) * found->scales[0]));
    dims = found->integers->dims;
  } else {
    return std::nullopt;
  }
  if (dims.size() > rank) return std::nullopt;
  dims.insert(dims.begin(), rank - dims.size(), 1);
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] == 1) continue;
    if (*axis >= 0 && *axis != int64_t(i)) return std::nullopt;
    *axis = int64_t(i);
  }
  return all;
}

/// What stands between bytes and a value, as one function of each channel.
class ChannelFunction {
 public:
  ChannelFunction(const Int8Graph& g, ValueId x) : g_(g), rank_(g.e.rank(x)) {
    is_found_ = rank_ > 0 && walk(x);
    if (axis_ < 0) axis_ = rank_ == 3 || rank_ == 4 ? 1 : int64_t(rank_) - 1;  // one number for all
  }
  bool is_found() const { return is_found_; }
  ValueId leaf() const { return leaf_; }
  int64_t axis() const { return axis_; }
  const Node* slopes() const { return slopes_; }  // a PRelu at the end, or null
  /// For `channels` of them, before the PRelu.
  Affine affine(int64_t channels) const {
    Affine all{ChannelNumbers(size_t(channels), 1), ChannelNumbers(size_t(channels), 0)};
    for (size_t i = steps_.size(); i-- > 0;)
      for (size_t c = 0; c < size_t(channels); c++) {
        const double times = at(steps_[i].times, c, 1), plus = at(steps_[i].plus, c, 0);
        all.times[c] = all.times[c] * times;
        all.plus[c] = all.plus[c] * times + plus;
      }
    return all;
  }
  static double at(const ChannelNumbers& all, size_t c, double none) {
    return all.empty() ? none : all[all.size() > 1 ? c : 0];
  }

 private:
  bool walk(ValueId x) {
    for (size_t i = 0; i < kMaxNodes; i++) {
      host::charge_work(1);
      if (i > 0 && g_.quant_params(x)) {
        leaf_ = x;
        return true;
      }
      const Node* const node = g_.e.producer(x);
      if (!node || node->outputs.size() != 1 || !g_.e.read_once(x)) return false;
      if (node->op == op::PRelu && i == 0) {
        if (!numbers_along(g_, node->inputs[1], rank_, &axis_)) return false;
        slopes_ = node;
        x = node->inputs[0];
      } else if (node->op == op::BatchNormalization) {
        if (!normalize(*node)) return false;
        x = node->inputs[0];
      } else if (!combine(*node, &x)) {
        return false;
      }
      if (!same(g_.e.dims(x), g_.e.dims(node->outputs[0]))) return false;
    }
    return false;
  }
  bool combine(const Node& node, ValueId* x) {
    const bool product = node.op == op::Mul || node.op == op::Div,
               sum = node.op == op::Add || node.op == op::Sub;
    if ((!product && !sum) || node.inputs.size() != 2) return false;
    const bool turns_round = node.op == op::Mul || node.op == op::Add;
    for (size_t i = turns_round ? 0 : 1; i < 2; i++) {
      const auto numbers = numbers_along(g_, node.inputs[i], rank_, &axis_);
      if (!numbers) continue;
      Affine step;
      ChannelNumbers each = *numbers;
      for (double& n : each) n = node.op == op::Div ? 1 / n : node.op == op::Sub ? -n : n;
      (product ? step.times : step.plus) = each;
      steps_.push_back(std::move(step));
      *x = node.inputs[1 - i];
      return true;
    }
    return false;
  }
  bool normalize(const Node& node) {
    if (rank_ < 2 || node.inputs.size() != 5 || (axis_ >= 0 && axis_ != 1)) return false;
    axis_ = 1;
    const Constant* held[4];
    for (size_t i = 0; i < 4; i++) {
      held[i] = g_.e.constant(node.inputs[i + 1]);
      if (!held[i] || held[i]->dtype != DType::kF32 || held[i]->dims != held[0]->dims) return false;
    }
    Affine step;
    for (int64_t c = 0; c < held[0]->elements(); c++) {
      const auto number = [&](size_t i) { return graph::read_number(*held[i], c); };
      step.times.push_back(number(0) / std::sqrt(number(3) + node.number(attr::epsilon, 1e-5)));
      step.plus.push_back(number(1) - number(2) * step.times.back());
    }
    steps_.push_back(std::move(step));
    return true;
  }

  const Int8Graph& g_;
  const size_t rank_;
  bool is_found_ = false;
  ValueId leaf_ = kAbsent;
  int64_t axis_ = -1;
  const Node* slopes_ = nullptr;
  std::vector<Affine> steps_;  // the last first
};

/// [..., C] as an image, whichever dimension the channels are.
ValueId image_along(Editor& e, ValueId bytes, int64_t axis, const Node& node) {
  const Dims dims = e.dims(bytes);
  if (axis == 1 && (dims.size() == 3 || dims.size() == 4)) return image_of(e, bytes, node);
  Dim rows = 1;
  for (size_t i = 0; i + 1 < dims.size(); i++) rows = rows * dims[i];
  const ValueId image = e.reshape(bytes, {Dim(1), Dim(1), rows, dims.back()}, node);
  e.value(image).layout = "NHWC";
  return image;
}

/// Rounded function of each channel of an image of bytes; kAbsent where its numbers leave 32 bits.
ValueId computed(Int8Graph& g, ValueId image, const QuantParams& x, const Affine& f,
                 const Output& to, const Node& node) {
  Editor& e = g.e;
  const int64_t channels = int64_t(f.times.size());
  std::vector<int8_t> weights;
  std::vector<int32_t> bias;
  std::vector<float> multipliers;
  for (size_t c = 0; c < f.times.size(); c++) {
    const double slope = double(x.scale) * f.times[c] / double(to.params.scale),
                 offset = f.plus[c] / double(to.params.scale);
    const bool is_flat = std::fabs(slope) < 1e-9;  // 256 steps of it are none of the output's
    const int weight = is_flat ? 0 : slope < 0 ? -kWeight : kWeight;
    const double by = is_flat ? 1.0 / kWeight : std::fabs(slope) / kWeight;
    const double start = offset / by - double(x.zero) * weight;
    if (!std::isfinite(slope) || !(std::fabs(start) < 1e9)) return kAbsent;
    weights.push_back(int8_t(weight));
    bias.push_back(int32_t(std::nearbyint(start)));
    multipliers.push_back(float(by));
  }
  const auto constant = [&](const char* what, Constant made) {
    return e.new_constant(node.name + what, std::move(made));
  };
  const std::vector<ValueId> operands = {
      image,
      constant("/weights", graph::make_constant(DType::kI8, {channels, 1, 1, 1}, weights.data())),
      constant("/bias", graph::make_constant(DType::kI32, {channels}, bias.data())),
      constant("/multipliers", graph::make_constant(DType::kF32, {channels}, multipliers.data()))};
  Attributes attributes = {
      {attr::groups, channels}, {attr::method, std::string("depthwise")}, {attr::x_zero, x.zero}};
  limit(to, &attributes);
  const ValueId y =
      e.emit(op::QuantizedConv2d, operands, DType::kU8, e.dims(image), node, attributes);
  e.value(y).layout = "NHWC";
  return y;
}

/// What is above zero, and what is below: each is the zero point where the other is not.
ValueId parametric(Int8Graph& g, ValueId image, const QuantParams& x, const ChannelNumbers& slopes,
                   const Output& to, const Node& node) {
  Editor& e = g.e;
  std::vector<int64_t> above, below;
  const float by = x.scale / to.params.scale;
  for (int64_t q = 0; q < 256; q++) {
    const double up = std::nearbyint(double(float(std::max<int64_t>(q - x.zero, 0)) * by));
    above.push_back(int64_t(std::min<double>(up + double(to.params.zero), 255)));
    below.push_back(std::min(q, x.zero));
  }
  Output open = to;
  open.low = 0, open.high = 255;
  const ValueId down = computed(g, g.lookup(image, below, node), x,
                                {slopes, ChannelNumbers(slopes.size(), 0)}, open, node);
  if (down < 0) return kAbsent;
  constexpr int64_t kOne = 1 << 20;
  const ValueId y = e.emit(op::QuantizedElementwise, {g.lookup(image, above, node), down},
                           DType::kU8, e.dims(image), node,
                           {{attr::function, std::string("add")},
                            {attr::requant, std::string("float_even")},
                            {attr::a_zero, to.params.zero},
                            {attr::b_zero, to.params.zero},
                            {attr::y_zero, to.params.zero},
                            {attr::low, to.low},
                            {attr::high, to.high},
                            {attr::a_multiplier, kOne},
                            {attr::b_multiplier, kOne},
                            {attr::y_shift, int64_t(20)}});
  e.value(y).layout = "NHWC";
  return y;
}

}  // namespace

ValueId recognize_channels(Int8Graph& g, ValueId x, const Output& to) {
  Editor& e = g.e;
  const ChannelFunction function(g, x);
  if (!function.is_found()) return kAbsent;
  const Dims dims = e.dims(x);
  const int64_t rank = int64_t(dims.size()), axis = function.axis();
  const auto channels = dims[size_t(axis)].value();
  const bool image_form = axis == 1 && (rank == 3 || rank == 4);
  if ((!image_form && axis != rank - 1) || !channels || *channels < 1 || *channels > (1 << 20))
    return kAbsent;
  const Affine f = function.affine(*channels);
  const Node& node = *e.producer(x);
  const QuantParams from = *g.quant_params(function.leaf());
  if (function.slopes()) {
    const bool plain =
        std::all_of(f.times.begin(), f.times.end(), [](double n) { return n == 1; }) &&
        std::all_of(f.plus.begin(), f.plus.end(), [](double n) { return n == 0; });
    if (!plain) return kAbsent;
  }
  const ValueId image = image_along(e, g.bytes(function.leaf()), axis, node);
  ValueId made = kAbsent;
  if (function.slopes()) {
    int64_t at = axis;
    const ChannelNumbers given = *numbers_along(g, function.slopes()->inputs[1], size_t(rank), &at);
    ChannelNumbers slopes;
    for (size_t c = 0; c < size_t(*channels); c++)
      slopes.push_back(ChannelFunction::at(given, c, 1));
    made = parametric(g, image, from, slopes, to, node);
  } else {
    made = computed(g, image, from, f, to, node);
  }
  if (made < 0) return kAbsent;
  return image_form ? from_image(e, made, node) : e.reshape(made, dims, node);
}

}  // namespace ingot::passes::quantize
