// SPDX-License-Identifier: Apache-2.0
// Integers whose scales a run finds: DynamicQuantizeLinear in front of MatMulInteger and
// ConvInteger, as quantize_dynamic of onnxruntime writes them. The product takes the factors and
// the bias behind it, f32(sum) * (x's scale * w's scale) + bias; without them it gives the sums.
#include <algorithm>
#include <map>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/match.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/quantize/int8_operands.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes {
namespace {

/// What a constant holds along dimension `axis` of `dims`, against which it broadcasts and along
/// which alone it varies; one number for each of `count`.
std::optional<std::vector<float>> factors_along(const Editor& e, ValueId id, const Dims& dims,
                                                size_t axis, int64_t count) {
  const Constant* constant = e.constant(id);
  if (!constant || constant->dtype != DType::kF32 || constant->dims.size() > dims.size())
    return std::nullopt;
  const size_t missing = dims.size() - constant->dims.size();
  for (size_t i = 0; i < constant->dims.size(); i++)
    if (constant->dims[i] != 1 && (i + missing != axis || constant->dims[i] != count))
      return std::nullopt;
  std::vector<float> all(size_t(count), 0.0f);
  for (size_t i = 0; i < all.size(); i++)
    all[i] = constant->as<float>()[constant->elements() == 1 ? 0 : i];
  return all;
}

/// Bytes that a run made, and the f32 [1, 2] of their scale and zero point.
struct StepsSource {
  ValueId steps = kAbsent, scale = kAbsent, zero = kAbsent;
  const Node* from = nullptr;
};

/// Behind a sum: what it is multiplied with, and what is added.
struct Scaling {
  std::vector<Node*> nodes;  // the last first
  std::vector<float> factors, bias;
  bool takes_scale = false;  // x's too
};

/// Constant weights of a product, outputs in front.
struct IntegerWeights {
  Constant values;
  std::vector<int32_t> sums, zeros;
  bool any_zero = false;
  int64_t outputs = 0;
};

IntegerWeights weights_of(const Editor& e, const Node& node, const Integers& perm) {
  const Constant& integers = *e.constant(node.inputs[1]);
  const Constant* zero =
      node.inputs.size() > 3 && node.inputs[3] >= 0 ? e.constant(node.inputs[3]) : nullptr;
  IntegerWeights w;
  w.values = signed_weights(integers, perm);
  w.outputs = w.values.dims[0];
  const int64_t offset = integers.dtype == DType::kU8 ? 128 : 0,
                each = w.outputs ? w.values.elements() / w.outputs : 0;
  host::charge_work(uint64_t(w.values.elements()) / 8);
  for (int64_t o = 0; o < w.outputs; o++) {
    const int64_t of = zero ? graph::read_integer(*zero, zero->elements() == 1 ? 0 : o) : 0;
    int64_t sum = 0;
    for (int64_t k = 0; k < each; k++) sum += w.values.as<int8_t>()[o * each + k];
    w.zeros.push_back(int32_t(of - offset));
    w.sums.push_back(int32_t(sum - each * (of - offset)));
    w.any_zero |= w.zeros.back() != 0;
  }
  return w;
}

class DynamicProducts {
 public:
  explicit DynamicProducts(Editor& editor) : e(editor) {}

  uint32_t run() {
    for (Node* node : e.nodes())
      if (node->op == op::DynamicQuantizeLinear) open(*node);
    for (Node* node : e.nodes())
      if (node->op == op::MatMulInteger || node->op == op::ConvInteger) multiply(*node);
    for (const StepsSource& source : sources_) give_steps(source);
    return changed_;
  }

 private:
  void open(Node& node) {
    StepsSource source;
    const ValueId x = node.inputs[0], scale = node.outputs[1], zero = node.outputs[2];
    ValueId y = node.outputs[0];
    if (y < 0) y = e.new_value(node.name + "/bytes", DType::kU8, e.dims(x));
    source.steps = e.new_value(node.name + "/steps", DType::kF32, {Dim(1), Dim(2)});
    source.scale = scale, source.zero = zero;
    e.kill(node);
    source.from = &e.add(op::DynamicQuantize, {x}, {y, source.steps}, node,
                         {{attr::range, std::string("full")}, {attr::axis, int64_t(0)}});
    sources_.push_back(source);
    if (zero >= 0) by_zero_[zero] = sources_.size() - 1;
    changed_++;
  }

  bool is_wanted(ValueId id) const { return id >= 0 && (e.reader_count(id) || e.is_output(id)); }
  /// Scale and zero point as values of their own, where something else reads them.
  void give_steps(const StepsSource& source) {
    const auto number = [&](int64_t at) {
      return e.emit(op::Slice, {source.steps}, DType::kF32, {Dim(1), Dim(1)}, *source.from,
                    {{attr::starts, Dims{Dim(0), Dim(at)}}, {attr::steps, Integers{1, 1}}});
    };
    if (is_wanted(source.scale)) e.add(op::Reshape, {number(0)}, {source.scale}, *source.from);
    if (!is_wanted(source.zero)) return;
    const ValueId byte = e.emit(op::Cast, {number(1)}, DType::kU8, {Dim(1), Dim(1)}, *source.from,
                                {{attr::to, int64_t(DType::kU8)}});
    e.add(op::Reshape, {byte}, {source.zero}, *source.from);
  }

  ValueId constant_f32(const std::string& name, std::vector<int64_t> dims,
                       const std::vector<float>& all) {
    return e.new_constant(name, graph::make_constant(DType::kF32, std::move(dims), all.data()));
  }
  /// Steps of a first operand whose scale is applied elsewhere, if at all.
  ValueId plain_steps(const Node& node, bool is_signed) {
    const float offset = is_signed ? 128.0f : 0.0f;
    if (node.inputs.size() < 3 || node.inputs[2] < 0)
      return constant_f32(node.name + "/steps", {1, 2}, {1, offset});
    const Dims one = {Dim(1), Dim(1)};
    ValueId zero = e.reshape(node.inputs[2], one, node);
    zero = e.emit(op::Cast, {zero}, DType::kF32, one, node, {{attr::to, int64_t(DType::kF32)}});
    if (is_signed)
      zero = e.emit(op::Add, {zero, constant_f32(node.name + "/offset", {}, {offset})}, DType::kF32,
                    one, node);
    const ValueId scale = constant_f32(node.name + "/scale", {1, 1}, {1});
    return e.emit(op::Concat, {scale, zero}, DType::kF32, {Dim(1), Dim(2)}, node,
                  {{attr::axis, int64_t(1)}});
  }
  const StepsSource* source_of(const Node& node) const {
    if (node.inputs.size() < 3) return nullptr;
    const auto found = by_zero_.find(node.inputs[2]);
    return found == by_zero_.end() ? nullptr : &sources_[found->second];
  }

  Node* only_reader(ValueId id, graph::Operator op) const {
    if (!e.read_once(id)) return nullptr;
    Node* const reader = e.readers(id)[0];
    return reader->op == op && same(e.dims(reader->outputs[0]), e.dims(id)) ? reader : nullptr;
  }
  static ValueId other(const Node& node, ValueId id) {
    return node.inputs[node.inputs[0] == id ? 1 : 0];
  }

  /// The factors: a constant, x's scale, or the product of both.
  bool read_factors(ValueId id, const StepsSource* source, const Dims& dims, size_t axis,
                    int64_t count, Scaling* found) {
    if (const auto all = factors_along(e, id, dims, axis, count)) {
      found->factors = *all;
      return true;
    }
    if (!source) return false;
    found->takes_scale = true;
    found->factors.assign(size_t(count), 1.0f);
    if (id == source->scale) return true;
    Node* const product = e.producer_if(id, op::Mul);
    if (!product || !e.read_once(id)) return false;
    const bool first = product->inputs[0] == source->scale;
    if (!first && product->inputs[1] != source->scale) return false;
    const auto all = factors_along(e, product->inputs[first ? 1 : 0], dims, axis, count);
    if (!all) return false;
    found->factors = *all;
    found->nodes.push_back(product);
    return true;
  }
  /// Along dimension `axis` of y, the sums. No nodes: there is none.
  Scaling scaling_behind(ValueId y, const StepsSource* source, size_t axis, int64_t count) {
    Scaling found;
    Node* const cast = only_reader(y, op::Cast);
    if (!cast || e.value(cast->outputs[0]).dtype != DType::kF32) return {};
    found.nodes.push_back(cast);
    found.factors.assign(size_t(count), 1.0f), found.bias.assign(size_t(count), 0.0f);
    ValueId at = cast->outputs[0];
    const Dims dims = e.dims(y);
    Scaling scaled = found;
    Node* const times = only_reader(at, op::Mul);
    if (!times || !read_factors(other(*times, at), source, dims, axis, count, &scaled))
      return found;
    scaled.nodes.insert(scaled.nodes.begin(), times);
    at = times->outputs[0];
    if (Node* const plus = only_reader(at, op::Add))
      if (const auto bias = factors_along(e, other(*plus, at), dims, axis, count)) {
        scaled.bias = *bias;
        scaled.nodes.insert(scaled.nodes.begin(), plus);
      }
    return scaled;
  }

  void multiply(Node& node) {
    const bool image = node.op == op::ConvInteger;
    if (image && !quantize::windows_fit(e, node)) return;
    const size_t rank = e.rank(node.inputs[0]), axis = image ? 1 : rank - 1;
    IntegerWeights w = weights_of(e, node, image ? to_channels_last(rank) : Integers{1, 0});
    if (image && rank == 3) w.values.dims.insert(w.values.dims.begin() + 1, 1);
    const StepsSource* const source = source_of(node);
    const Scaling scaling = scaling_behind(node.outputs[0], source, axis, w.outputs);
    const bool is_float = !scaling.nodes.empty();
    Node& last = is_float ? *scaling.nodes.front() : node;

    const bool is_signed = e.value(node.inputs[0]).dtype == DType::kI8;
    ValueId bytes = node.inputs[0];
    if (is_signed) bytes = e.emit(op::OffsetByte, {bytes}, DType::kU8, e.dims(bytes), node);
    // a product whose factors are without x's scale may take none
    const ValueId steps =
        source && !is_signed ? scale_or_one(*source, scaling, node) : plain_steps(node, is_signed);
    std::vector<ValueId> operands = {image ? quantize::image_of(e, bytes, node) : bytes,
                                     e.new_constant(e.value(node.inputs[1]).name, w.values)};
    add_channels(node, w, scaling, &operands);
    operands.push_back(steps);
    Attributes attributes;
    if (image) {
      attributes = quantize::window(node);
      quantize::set_groups(node.integer(attr::group, 1), w.outputs, w.values.dims[3], &attributes);
    }
    attributes[attr::requant] = std::string("to_float");
    const DType to = is_float ? DType::kF32 : DType::kI32;
    const Dims dims = e.dims(node.outputs[0]);
    ValueId y = e.emit(image ? op::QuantizedConv2d : op::QuantizedLinear, operands, to,
                       image ? quantize::image_dims(dims) : dims, node, attributes);
    Node& made = *e.producer(y);
    if (image) e.value(y).layout = "NHWC", y = quantize::from_image(e, y, node);
    e.merge_sources(made, last);
    replace(last, y);
    std::vector<Node*> gone = scaling.nodes;
    gone.push_back(&node);
    gone.erase(std::remove(gone.begin(), gone.end(), &last), gone.end());
    retire(e, gone, made);
    changed_++;
  }

  ValueId scale_or_one(const StepsSource& source, const Scaling& scaling, const Node& node) {
    if (scaling.nodes.empty() || scaling.takes_scale) return source.steps;
    const ValueId zero =
        e.emit(op::Slice, {source.steps}, DType::kF32, {Dim(1), Dim(1)}, node,
               {{attr::starts, Dims{Dim(0), Dim(1)}}, {attr::steps, Integers{1, 1}}});
    const ValueId one = constant_f32(node.name + "/scale", {1, 1}, {1});
    return e.emit(op::Concat, {one, zero}, DType::kF32, {Dim(1), Dim(2)}, node,
                  {{attr::axis, int64_t(1)}});
  }

  void add_channels(const Node& node, const IntegerWeights& w, const Scaling& scaling,
                    std::vector<ValueId>* operands) {
    const auto whole = [&](const char* what, const std::vector<int32_t>& all) {
      return e.new_constant(node.name + what,
                            graph::make_constant(DType::kI32, {w.outputs}, all.data()));
    };
    const std::vector<float> ones(size_t(w.outputs), 1.0f), none(size_t(w.outputs), 0.0f);
    const bool plain = scaling.nodes.empty();
    operands->push_back(whole("/weight_sums", w.sums));
    operands->push_back(
        constant_f32(node.name + "/scales", {w.outputs}, plain ? ones : scaling.factors));
    operands->push_back(
        constant_f32(node.name + "/biases", {w.outputs}, plain ? none : scaling.bias));
    operands->push_back(w.any_zero ? whole("/weight_zeros", w.zeros) : kAbsent);
  }

  void replace(Node& node, ValueId by) {
    const ValueId y = node.outputs[0];
    if (!e.is_output(y) && e.bypass(node, by)) return;
    e.kill(node);
    e.add(op::Identity, {by}, {y}, node);
  }

  Editor& e;
  std::vector<StepsSource> sources_;
  std::map<ValueId, size_t> by_zero_;
  uint32_t changed_ = 0;
};

}  // namespace

uint32_t recognize_dynamic_quantization(Editor& e, Remarks&) { return DynamicProducts(e).run(); }

}  // namespace ingot::passes
