// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/builder.h"

#include <algorithm>
#include <numeric>

#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::aten {

class Cell {
 public:
  ValueId value = graph::kAbsent;
  Tensor base;  // null: owns its values
  Builder::Forward forward;
  Builder::Backward backward;
  Strides strides;
  bool row_major = true;          // then `strides` is not needed
  ValueId seen = graph::kAbsent;  // what the base held when `value` was taken out of it
  // the owner of the tensor that it is a view of, or a copy, which the program does not show
  Tensor twin;
  ValueId kept = graph::kAbsent;     // of a nested tensor: which rows it has
  ValueId lengths = graph::kAbsent;  // of packed sequences: how many rows each has
  Tensor pairs;                      // of complex numbers: their real and imaginary parts
  std::optional<TensorQuantization> quantization;
  std::string unclear;                          // why nobody knows any more what it holds
  std::vector<std::weak_ptr<Cell>> dependents;  // made of it: as views, or perhaps
  uint64_t age = 0;
};

Tensor Builder::own(ValueId value) {
  auto cell = std::make_shared<Cell>();
  cell->value = value;
  cell->age = tensors_++;
  return cell;
}
Tensor Builder::view(const Tensor& of, Forward forward, Backward backward, Strides strides,
                     ValueId now) {
  auto cell = std::make_shared<Cell>();
  cell->base = of;
  cell->seen = read(of);
  cell->value = now != graph::kAbsent ? now : forward(*this, cell->seen);
  cell->row_major = aten::is_row_major(dims(cell->value), strides) == Shared::kYes;
  if (!cell->row_major) cell->strides = std::move(strides);
  cell->forward = std::move(forward);
  cell->backward = std::move(backward);
  cell->age = tensors_++;
  attach(cell);
  return cell;
}
Tensor Builder::nested(ValueId padded, ValueId kept) {
  const Tensor tensor = own(padded);
  tensor->kept = kept;
  tensor->unclear = "is a nested tensor, which only layers of an encoder take";
  return tensor;
}
std::optional<Builder::Nested> Builder::nested(const Tensor& tensor) {
  if (tensor->kept == graph::kAbsent) return std::nullopt;
  return Nested{tensor->value, tensor->kept};
}
Tensor Builder::packed(ValueId padded, ValueId lengths) {
  const Tensor tensor = own(padded);
  tensor->lengths = lengths;
  tensor->unclear = "is a packed sequence, which only LSTM, GRU and RNN take";
  return tensor;
}
std::optional<Builder::Packed> Builder::packed(const Tensor& tensor) {
  if (tensor->lengths == graph::kAbsent) return std::nullopt;
  return Packed{tensor->value, tensor->lengths};
}
Tensor Builder::complex(const Tensor& pairs) {
  const Dims dims = this->dims(read(pairs));
  if (dims.empty() || dims.back() != Dim(2))
    throw Refused{"self",
                  "has shape " + graph::text(dims) + ", expected pairs in its last dimension", ""};
  const Tensor tensor = own(read(pairs));
  tensor->pairs = pairs;
  return tensor;
}
Tensor Builder::pairs(const Tensor& tensor) { return tensor->pairs; }
/// Whatever it is made of knows it.
void Builder::attach(const Tensor& tensor) {
  if (tensor->base) tensor->base->dependents.push_back(tensor);
  if (tensor->twin) tensor->twin->dependents.push_back(tensor);
}
void Builder::change_view(const Tensor& tensor, const Tensor& shown) {
  if (on_change_view) on_change_view(tensor);
  const Tensor memory = std::make_shared<Cell>(*tensor);  // nobody holds it by a name
  attach(memory);
  for (const std::weak_ptr<Cell>& held : memory->dependents) {
    const Tensor dependent = held.lock();
    if (dependent && dependent->base == tensor) dependent->base = memory;
    if (dependent && dependent->twin == tensor) dependent->twin = memory;
  }
  const uint64_t age = tensor->age;
  *tensor = *shown;
  tensor->age = age;
  tensor->dependents.clear();
  attach(tensor);
}
Tensor Builder::view_or_copy(const Tensor& of, ValueId value) {
  const Tensor tensor = own(value);
  tensor->twin = owner(of);
  tensor->seen = tensor->twin->value;
  attach(tensor);
  return tensor;
}
Strides Builder::strides(const Tensor& tensor) {
  return tensor->row_major ? Strides(row_major(dims(read(tensor)))) : tensor->strides;
}
bool Builder::is_row_major(const Tensor& tensor) { return tensor->row_major; }
void Builder::forget_strides(const Tensor& tensor) { tensor->row_major = false; }
const TensorQuantization* Builder::quantization(const Tensor& tensor) {
  return tensor->quantization ? &*tensor->quantization : nullptr;
}
void Builder::set_quantization(const Tensor& tensor, const TensorQuantization& quantization) {
  tensor->quantization = quantization;
}
uint64_t Builder::age(const Tensor& tensor) { return tensor->age; }
Tensor Builder::base(const Tensor& tensor) { return tensor->base; }

/// @throws Refused where what it holds depends on whether it shares memory, which is not known.
void Builder::check_shared(const Tensor& tensor) const {
  static const std::string kHint =
      "write .clone() behind the reshape() or contiguous() between them";
  if (tensor->pairs)
    throw Refused{"self", "holds complex numbers, which this operator does not take here",
                  "take .real and .imag, or torch.view_as_real(), before it"};
  if (!tensor->unclear.empty()) throw Refused{"self", tensor->unclear, kHint};
  if (!tensor->twin) return;
  if (tensor->twin->value != tensor->seen)
    throw Refused{
        "self",
        "is a view or a copy of a tensor that was written since; the program does not show which",
        kHint};
  check_shared(tensor->twin);
}
ValueId Builder::read(const Tensor& tensor) {
  if (!tensor->base) {
    check_shared(tensor);
    return tensor->value;
  }
  const ValueId whole = read(tensor->base);
  if (whole != tensor->seen) {
    tensor->value = tensor->forward(*this, whole);
    tensor->seen = whole;
    if (on_take) on_take(tensor);
  }
  return tensor->value;
}
void Builder::write(const Tensor& tensor, ValueId value) {
  if (!tensor->base) {
    if (on_write) on_write(tensor);
    for (Tensor twin = tensor->twin; twin; twin = twin->twin)
      twin->unclear =
          "shares memory or not with a tensor that was made from it and written since; the program "
          "does not show which";
    tensor->twin.reset();
    tensor->value = value;
    return;
  }
  if (!tensor->backward)
    throw Refused{"self", "is a view that cannot be written through",
                  "write to a copy (clone) of it"};
  write(tensor->base, tensor->backward(*this, read(tensor->base), value));
  tensor->seen = read(tensor->base);
  tensor->value = value;
}
void Builder::forget(const Tensor& view) { view->seen = graph::kAbsent; }
Tensor Builder::owner(const Tensor& tensor) {
  Tensor at = tensor;
  while (at->base) at = at->base;
  return at;
}

std::string Builder::unique(const std::string& wanted) {
  // What was taken for one name stays taken: the search goes on where it ended last.
  int& taken = names_[wanted];
  if (taken++ == 0) return wanted;
  for (;; taken++) {
    host::charge_work(1);
    std::string name = wanted + "_" + std::to_string(taken);
    if (names_.emplace(name, 1).second) return name;
  }
}
ValueId Builder::emit(graph::Operator op, std::vector<ValueId> inputs, Attributes attributes) {
  return emit_many(op, std::move(inputs), std::move(attributes), 1)[0];
}
std::vector<ValueId> Builder::emit_many(graph::Operator op, std::vector<ValueId> inputs,
                                        Attributes attributes, size_t outputs) {
  graph::Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return emit_node(std::move(node), outputs);
}
std::vector<ValueId> Builder::emit_node(graph::Node node, size_t outputs) {
  for (size_t i = 0; i < outputs; i++) {
    node.outputs.push_back(
        model.add_value(text(node.op) + "." + std::to_string(model.values.size())));
    unnamed_.insert(node.outputs.back());
  }
  std::vector<ValueId> made = node.outputs;
  add(std::move(node));
  for (ValueId& id : made) id = resolve(id);
  return made;
}
void Builder::add(graph::Node node) {
  // One call makes as many nodes as its numbers ask for.
  host::charge_metadata(sizeof node + node.outputs.size() * sizeof(graph::Value));
  if (!model.source_nodes.empty()) {
    node.sources = {uint32_t(model.source_nodes.size() - 1)};
    if (node.name.empty()) node.name = model.source_nodes.back().name;
  }
  const std::vector<ValueId> outputs = node.outputs;
  inference_.add(std::move(node));
  for (const ValueId id : outputs)
    if (!known(resolve(id))) throw Reported{};
}
ValueId Builder::constant(graph::Constant constant) {
  return model.add_constant("constant." + std::to_string(model.values.size()), std::move(constant));
}
ValueId Builder::scalar(DType dtype, double value) {
  return constant(graph::make_scalar(dtype, value));
}
ValueId Builder::integers(const std::vector<int64_t>& values) {
  return constant(graph::make_constant(DType::kI64, {int64_t(values.size())}, values.data()));
}
ValueId Builder::extent(const Dim& d) {
  if (const auto n = d.value()) return constant(graph::make_constant(DType::kI64, {}, &*n));
  const ValueId ones = emit(op::Expand, {scalar(DType::kI64, 1)}, {{attr::shape, Dims{d}}});
  const ValueId count = reduce(op::ReduceSum, ones, {0}, false);
  inference_.state(count, {graph::Scalar::of(d)});
  return count;
}
ValueId Builder::counting(const Dim& count) {
  if (const auto n = count.value(); n && *n >= 0 && *n <= (1 << 20)) {
    std::vector<int64_t> values(static_cast<size_t>(*n));
    std::iota(values.begin(), values.end(), 0);
    return integers(values);
  }
  const ValueId ones = emit(op::Expand, {scalar(DType::kI64, 1)}, {{attr::shape, Dims{count}}});
  return emit(
      op::CumSum, {ones},
      {{attr::axis, int64_t(0)}, {attr::exclusive, int64_t(1)}, {attr::reverse, int64_t(0)}});
}
ValueId Builder::cast(ValueId x, DType to) {
  if (dtype(x) == to) return x;
  return emit(op::Cast, {x}, {{attr::to, int64_t(to)}});
}
ValueId Builder::reshape(ValueId x, Dims to) {
  if (dims(x) == to) return x;
  return emit(op::Reshape, {x}, {{attr::shape, std::move(to)}, {attr::allowzero, int64_t(1)}});
}
ValueId Builder::expand(ValueId x, const Dims& to) {
  if (dims(x) == to) return x;
  return emit(op::Expand, {x}, {{attr::shape, to}});
}
ValueId Builder::transpose(ValueId x, std::vector<int64_t> perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return emit(op::Transpose, {x}, {{attr::perm, std::move(perm)}});
}
ValueId Builder::slice(ValueId x, int64_t axis, const Dim& start, const Dim& end, int64_t step) {
  return emit(op::Slice, {x},
              {{attr::starts, Dims{start}},
               {attr::ends, Dims{end}},
               {attr::axes, std::vector<int64_t>{axis}},
               {attr::steps, std::vector<int64_t>{step}}});
}
ValueId Builder::reduce(graph::Operator op, ValueId x, std::vector<int64_t> axes, bool keep) {
  if (axes.empty()) {
    axes.resize(size_t(rank(x)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return emit(op, {x}, {{attr::axes, std::move(axes)}, {attr::keepdims, int64_t(keep)}});
}
std::optional<graph::Scalar> Builder::content(ValueId id) const {
  const auto all = contents(id);
  if (!all || all->size() != 1 || !(*all)[0].known()) return std::nullopt;
  return (*all)[0];
}

void Builder::begin_node(graph::SourceNode node) { model.source_nodes.push_back(std::move(node)); }
void Builder::name(ValueId id, const std::string& wanted) {
  if (wanted.empty() || !unnamed_.erase(id)) return;
  model.values[size_t(id)].name = unique(wanted);
}
void Builder::note(const std::string& sentence) {
  if (std::find(model.notes.begin(), model.notes.end(), sentence) == model.notes.end())
    model.notes.push_back(sentence);
}

}  // namespace ingot::aten
