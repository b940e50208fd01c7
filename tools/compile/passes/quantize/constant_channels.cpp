// SPDX-License-Identifier: Apache-2.0
// Channels of bytes that are the same number at every pixel, whatever the image: training leaves
// convolutions whose weights of some outputs are all zero. Their number goes into the biases of the
// convolutions that read them, and nobody computes them. Exact: the sums stay what they were.
//
//   dense convolution      output o is constant where the weights of all other inputs are zero
//   depthwise convolution  where its input is
//
// A constant input is the same number in the whole window only where the window has no border, or
// the border's bytes (x_zero) are that number.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "runtime/base/checked_math.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/files/work_budget.h"

namespace ingot::passes {
namespace {

constexpr int64_t kTogether = 8;  // channels that are left are a multiple of it
constexpr int kVaries = -1;
using Channels = std::vector<int>;  // the number of each, or kVaries

/// A convolution of bytes whose numbers are all known.
struct Convolution {
  Node* node;
  const Constant *w, *bias, *multipliers, *shifts;  // no shifts with float_even
  int64_t outputs, inputs, taps;                    // inputs: of one output
  bool is_depthwise;

  int weight(int64_t o, int64_t tap, int64_t i) const {
    return w->as<int8_t>()[(o * taps + tap) * inputs + i] - int(node->integer(attr::w_zero, 0));
  }
  bool has_border() const {
    for (const auto side : {attr::pad_top, attr::pad_left, attr::pad_bottom, attr::pad_right})
      if (node->integer(side, 0) != 0) return true;
    return false;
  }
  bool is_same_in_window(int number) const {
    return !has_border() || number == node->integer(attr::x_zero, 0);
  }
};

std::optional<Convolution> convolution_of(const Editor& e, Node* node) {
  if (node->op != op::QuantizedConv2d || node->inputs.size() < 4 || node->inputs.size() > 5)
    return std::nullopt;
  const std::string mode = node->text(attr::requant, "float_even");
  const bool is_float = mode == "float_even";
  if (!is_float && mode != "fixed_up" && mode != "fixed_away") return std::nullopt;
  if (node->inputs.size() != (is_float ? 4 : 5)) return std::nullopt;
  if (e.value(node->inputs[0]).dtype != DType::kU8 || e.value(node->outputs[0]).dtype != DType::kU8)
    return std::nullopt;
  Convolution c = {};
  c.node = node, c.w = e.constant(node->inputs[1]), c.bias = e.constant(node->inputs[2]);
  c.multipliers = e.constant(node->inputs[3]);
  c.shifts = is_float ? nullptr : e.constant(node->inputs[4]);
  if (!c.w || !c.bias || !c.multipliers || (!is_float && !c.shifts)) return std::nullopt;
  if (c.w->dtype != DType::kI8 || c.w->dims.size() != 4 || c.bias->dtype != DType::kI32 ||
      c.multipliers->dtype != (is_float ? DType::kF32 : DType::kI32) ||
      (c.shifts && c.shifts->dtype != DType::kI32))
    return std::nullopt;
  c.outputs = c.w->dims[0], c.taps = c.w->dims[1] * c.w->dims[2], c.inputs = c.w->dims[3];
  const int64_t groups = node->integer(attr::groups, 1);
  const Dims& in = e.dims(node->inputs[0]);
  if (in.size() != 4 || c.outputs == 0) return std::nullopt;
  c.is_depthwise = groups == c.outputs && c.inputs == 1 && in[3].value() == c.outputs;
  if (!c.is_depthwise && (groups != 1 || in[3].value() != c.inputs)) return std::nullopt;
  for (const Constant* each : {c.bias, c.multipliers, c.shifts})
    if (each && each->elements() != c.outputs) return std::nullopt;
  return c;
}

/// runtime/op/requantize.h, of output o. Sums are modulo 2^32.
int number_of_sum(const Convolution& c, int64_t o, uint32_t sum) {
  const int32_t whole = int32_t(sum);
  double step;
  if (!c.shifts) {
    step = double(std::nearbyint(float(whole) * c.multipliers->as<float>()[o]));
    if (!(std::fabs(step) < 1e9)) return kVaries;  // nobody's network; as it is
  } else {
    const int64_t multiplier = c.multipliers->as<int32_t>()[o], shift = c.shifts->as<int32_t>()[o];
    if (shift < 0 || shift > 31 || multiplier < 0) return kVaries;
    const int64_t high = (whole * multiplier + (int64_t{1} << 30)) >> 31;
    const double exact = std::ldexp(double(high), int(-shift));
    step =
        c.node->text(attr::requant, "") == "fixed_up" ? std::floor(exact + 0.5) : std::round(exact);
  }
  return int(std::clamp(step + double(c.node->integer(attr::y_zero, 0)),
                        double(c.node->integer(attr::low, 0)),
                        double(c.node->integer(attr::high, 255))));
}

/// What its window adds to the sum of output o, where input channel i is `number` everywhere.
uint32_t sum_of(const Convolution& c, int64_t o, int64_t i, int number) {
  uint32_t sum = 0;
  for (int64_t tap = 0; tap < c.taps; tap++) sum += uint32_t(c.weight(o, tap, i) * number);
  return sum;
}
bool has_weights(const Convolution& c, int64_t o, int64_t i) {
  for (int64_t tap = 0; tap < c.taps; tap++)
    if (c.weight(o, tap, i) != 0) return true;
  return false;
}

int constant_output(const Convolution& c, int64_t o, const Channels* x) {
  uint32_t sum = uint32_t(c.bias->as<int32_t>()[o]);
  for (int64_t i = 0; i < c.inputs; i++) {
    if (!has_weights(c, o, i)) continue;
    const int number = x ? (*x)[size_t(c.is_depthwise ? o : i)] : kVaries;
    if (number == kVaries || !c.is_same_in_window(number)) return kVaries;
    sum += sum_of(c, o, i, number);
  }
  return number_of_sum(c, o, sum);
}

/// A constant with those of its rows, or of its last dimension, that are kept.
Constant kept_rows(const Constant& from, const std::vector<int64_t>& kept) {
  const size_t row = size_t(from.elements() / from.dims[0]) * dtype_bytes(from.dtype);
  std::vector<uint8_t> bytes(row * kept.size());
  for (size_t i = 0; i < kept.size(); i++)
    std::memcpy(bytes.data() + i * row, from.as<uint8_t>() + size_t(kept[i]) * row, row);
  std::vector<int64_t> dims = from.dims;
  dims[0] = int64_t(kept.size());
  return graph::make_constant(from.dtype, dims, bytes.data());
}
Constant kept_columns(const Constant& from, const std::vector<int64_t>& kept) {
  std::vector<int64_t> dims = from.dims;
  const int64_t columns = dims.back(), rows = from.elements() / columns;
  std::vector<int8_t> bytes;
  for (int64_t r = 0; r < rows; r++)
    for (const int64_t i : kept) bytes.push_back(from.as<int8_t>()[r * columns + i]);
  dims.back() = int64_t(kept.size());
  return graph::make_constant(from.dtype, dims, bytes.data());
}

class ConstantChannels {
 public:
  ConstantChannels(Editor& e, Remarks& remarks) : e_(e), remarks_(remarks) {}

  uint32_t run() {
    const std::vector<Node*> nodes = e_.nodes();
    for (Node* node : nodes) find(node);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) find_droppable(*node);
    uint32_t changed = 0;
    for (Node* node : nodes) changed += drop(node);
    for (Node* node : nodes) shorten(node);
    if (changed) {
      remarks_.push_back(std::to_string(channels_) + " channels of " + std::to_string(changed) +
                         " convolutions are the same number at every pixel: they are in the "
                         "biases of their readers");
      e_.drop_unread_constants();
    }
    return changed;
  }

 private:
  void find(Node* node) {
    const auto c = convolution_of(e_, node);
    if (!c) return;
    host::charge_memory(uint64_t(c->w->elements()) + uint64_t(c->outputs) * sizeof(int));
    const auto x = numbers_.find(node->inputs[0]);
    Channels y;
    for (int64_t o = 0; o < c->outputs; o++)
      y.push_back(constant_output(*c, o, x == numbers_.end() ? nullptr : &x->second));
    numbers_[node->outputs[0]] = std::move(y);
  }

  /// Which channels of its output no reader has to be given. Readers come first.
  void find_droppable(Node* node) {
    const auto found = numbers_.find(node->outputs[0]);
    if (found == numbers_.end() || e_.is_output(found->first)) return;
    const Channels& y = found->second;
    std::vector<bool> all;
    for (const int number : y) all.push_back(number != kVaries);
    for (Node* reader : e_.readers(node->outputs[0])) {
      const auto c = convolution_of(e_, reader);
      if (!c || reader->inputs[0] != node->outputs[0]) return;
      const auto behind = droppable_.find(reader->outputs[0]);
      if (c->is_depthwise && behind == droppable_.end()) return;
      for (size_t i = 0; i < all.size(); i++)
        all[i] = all[i] && c->is_same_in_window(y[i]) && (!c->is_depthwise || behind->second[i]);
    }
    if (!e_.readers(node->outputs[0]).empty()) droppable_[node->outputs[0]] = std::move(all);
  }

  uint32_t drop(Node* node) {
    const auto c = convolution_of(e_, node);
    if (!c || c->is_depthwise) return 0;
    const auto found = droppable_.find(node->outputs[0]);
    if (found == droppable_.end()) return 0;
    const std::vector<bool>& all = found->second;
    const int64_t gone = std::count(all.begin(), all.end(), true),
                  least = std::max<int64_t>(int64_t(all.size()) - gone, 1),
                  wanted = round_up(least, kTogether);
    if (wanted >= int64_t(all.size())) return 0;
    std::vector<int64_t> kept;
    int64_t spare = wanted - (int64_t(all.size()) - gone);  // constant ones that stay
    for (size_t i = 0; i < all.size(); i++)
      if (!all[i] || spare-- > 0) kept.push_back(int64_t(i));
    channels_ += int64_t(all.size()) - wanted;
    keep_outputs(node, kept);
    return 1;
  }

  ValueId changed(const Node& node, Constant constant) {
    host::charge_memory(uint64_t(constant.elements()) * dtype_bytes(constant.dtype));
    return e_.new_constant(node.name + "/kept", std::move(constant));
  }

  /// Its rows, and what reads them. Depthwise readers keep the same of theirs.
  void keep_outputs(Node* node, const std::vector<int64_t>& kept) {
    const ValueId before = node->outputs[0];
    for (size_t i = 1; i < node->inputs.size(); i++) {
      Constant rows = kept_rows(*e_.constant(node->inputs[i]), kept);
      e_.set_input(*node, i, changed(*node, std::move(rows)));
    }
    if (node->integer(attr::groups, 1) != 1) node->attributes[attr::groups] = int64_t(kept.size());
    Dims dims = e_.dims(before);
    dims[3] = Dim(int64_t(kept.size()));
    const ValueId after =
        e_.new_value(e_.value(before).name + "/kept", e_.value(before).dtype, std::move(dims));
    e_.value(after).layout = e_.value(before).layout;
    const std::vector<Node*> readers = e_.readers(before);
    std::vector<Convolution> convolutions;
    for (Node* reader : readers) convolutions.push_back(*convolution_of(e_, reader));
    e_.set_outputs(*node, {after});
    const Channels& numbers = numbers_[before];
    for (size_t r = 0; r < readers.size(); r++) {
      e_.set_input(*readers[r], 0, after);
      if (convolutions[r].is_depthwise)
        keep_outputs(readers[r], kept);
      else
        keep_inputs(convolutions[r], kept, numbers);
    }
  }

  void keep_inputs(const Convolution& c, const std::vector<int64_t>& kept,
                   const Channels& numbers) {
    std::vector<bool> stays(numbers.size());
    for (const int64_t i : kept) stays[size_t(i)] = true;
    std::vector<int32_t> bias;
    for (int64_t o = 0; o < c.outputs; o++) {
      uint32_t sum = uint32_t(c.bias->as<int32_t>()[o]);
      for (int64_t i = 0; i < c.inputs; i++)
        if (!stays[size_t(i)]) sum += sum_of(c, o, i, numbers[size_t(i)]);
      bias.push_back(int32_t(sum));
    }
    Constant rows = kept_columns(*c.w, kept),
             starts = graph::make_constant(DType::kI32, {c.outputs}, bias.data());
    e_.set_input(*c.node, 1, changed(*c.node, std::move(rows)));
    e_.set_input(*c.node, 2, changed(*c.node, std::move(starts)));
  }

  /// Outputs without weights that stay: training leaves them biases near 2^30 and scales near
  /// zero, which kernels of 32-bit sums take the long way with. Here 4 * y * 2^30 / 2^31, rounded,
  /// / 2; or y * 1.
  void shorten(Node* node) {
    const auto c = convolution_of(e_, node);
    if (!c) return;
    std::vector<int64_t> without;
    for (int64_t o = 0; o < c->outputs; o++) {
      bool has_any = false;
      for (int64_t i = 0; i < c->inputs && !has_any; i++) has_any = has_weights(*c, o, i);
      if (!has_any && constant_output(*c, o, nullptr) != kVaries) without.push_back(o);
    }
    if (without.empty()) return;
    const int zero = int(node->integer(attr::y_zero, 0));
    std::vector<int32_t> rows[3];
    const Constant* const from[3] = {c->bias, c->multipliers, c->shifts};
    for (int i = 0; i < 3; i++) {
      if (!from[i]) continue;
      const auto all = from[i]->as<int32_t>().part(0, c->outputs);
      rows[i].assign(all.begin(), all.end());
    }
    const float one = 1;
    for (const int64_t o : without) {
      const int step = constant_output(*c, o, nullptr) - zero;
      rows[0][size_t(o)] = c->shifts ? 4 * step : step;
      if (c->shifts)
        rows[1][size_t(o)] = 1 << 30, rows[2][size_t(o)] = 1;
      else
        std::memcpy(&rows[1][size_t(o)], &one, sizeof one);
    }
    for (size_t i = 0; i < 3; i++)
      if (from[i]) {
        Constant row = graph::make_constant(from[i]->dtype, {c->outputs}, rows[i].data());
        e_.set_input(*node, 2 + i, changed(*node, std::move(row)));
      }
  }

  Editor& e_;
  Remarks& remarks_;
  std::unordered_map<ValueId, Channels> numbers_;
  std::unordered_map<ValueId, std::vector<bool>> droppable_;
  int64_t channels_ = 0;
};

}  // namespace

uint32_t drop_constant_channels(Editor& e, Remarks& remarks) {
  return ConstantChannels(e, remarks).run();
}

}  // namespace ingot::passes
