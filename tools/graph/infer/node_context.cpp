// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/node_context.cpp - what rules are written with: numbers from attributes or
// inputs, outputs, rewriting, refusal.
#include <algorithm>

#include "tools/graph/infer/run_numbers.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {

std::string describe(const Node& node) {
  return text(node.op) + (node.name.empty() ? "" : " '" + node.name + "'");
}
const char* dtype_text(DType dtype) {
  static const char* const kNames[] = {"invalid", "f32", "f16", "bf16", "f64", "i8",  "u8",
                                       "i16",     "u16", "i32", "u32",  "i64", "u64", "bool"};
  return size_t(dtype) < std::size(kNames) ? kNames[size_t(dtype)] : "invalid";
}

std::optional<Dims> NodeContext::find_dims(AttributeName key, size_t input) const {
  if (node.has(key)) {
    const Dims given = node.dims(key);
    if (!given.empty()) return given;
    const std::vector<int64_t> numbers = node.integers(key);
    return Dims(numbers.begin(), numbers.end());
  }
  if (!has(input)) return std::nullopt;
  if (rank(input) > 1)
    corrupt("input " + std::to_string(input) + " (" + text(key) + ") has rank " +
            std::to_string(rank(input)) + ", expected 1");
  const auto contents = run_.contents(in(input));
  if (!contents) return std::nullopt;
  Dims out;
  for (const Scalar& s : *contents) {
    const auto d = s.dim();
    if (!d) return std::nullopt;
    out.push_back(*d);
  }
  return out;
}
Element NodeContext::origin_of(size_t input, int64_t element) const {
  const auto contents = run_.contents(in(input));
  if (contents && size_t(element) < contents->size()) {
    const Element origin = (*contents)[size_t(element)].origin;
    if (origin.value != kAbsent) return origin;
  }
  return {in(input), element};
}
std::string NodeContext::element_name(size_t input, int64_t element) const {
  const Element origin = origin_of(input, element);
  const Value& value = run_.value(origin.value);
  return product(value.dims) == Dim(1) ? value.name : value.name + "." + std::to_string(origin.at);
}
int64_t NodeContext::stated_bound(size_t input, int64_t element) const {
  return stated_most(run_.model, element_name(input, element));
}
std::optional<Dims> NodeContext::find_or_stated(AttributeName key, size_t input) {
  if (auto found = find_dims(key, input)) return found;
  const auto count = has(input) ? product(dims(input)).value() : std::nullopt;
  if (!count || *count > kMaxRank || (dtype(input) != DType::kI64 && dtype(input) != DType::kI32))
    return std::nullopt;
  const auto contents = run_.contents(in(input));
  Dims out;
  for (int64_t i = 0; i < *count; i++) {
    std::optional<Dim> one = contents ? (*contents)[size_t(i)].dim() : std::nullopt;
    if (!one) one = stated(input, i);
    if (!one) return std::nullopt;
    out.push_back(*one);
  }
  return out;
}
Dims NodeContext::need_dims(AttributeName key, size_t input) {
  if (const auto found = find_dims(key, input)) return *found;
  const auto count = has(input) ? product(dims(input)).value() : std::nullopt;
  Hint hint = "export with fixed shapes";
  if (count && *count <= kMaxRank && key != attr::starts &&
      (dtype(input) == DType::kI64 || dtype(input) == DType::kI32)) {
    const auto contents = run_.contents(in(input));
    Dims out;
    for (int64_t i = 0; i < *count; i++) {
      std::optional<Dim> one = contents ? (*contents)[size_t(i)].dim() : std::nullopt;
      if (!one) one = stated(input, i);
      if (!one) hint = "or " + how_to_bound(*this, element_name(input, i), input);
      if (one) out.push_back(*one);
    }
    if (int64_t(out.size()) == *count) return out;
  }
  refuse(text(key),
         "its value ('" + (has(input) ? value(input).name : std::string()) +
             "') is known only at run time: the shape of '" +
             (node.outputs.empty() || node.outputs[0] < 0 ? "" : run_.value(node.outputs[0]).name) +
             "' depends on data",
         hint);
}
std::optional<std::vector<int64_t>> NodeContext::integers(AttributeName key, size_t input) {
  if (!node.has(key) && !has(input)) return std::nullopt;
  std::vector<int64_t> out;
  for (const Dim& d : need_dims(key, input)) {
    if (!d.is_static())
      refuse(text(key), "depends on a symbolic dimension (" + d.text() + ")", "bind it with --dim");
    out.push_back(*d.value());
  }
  return out;
}
int64_t NodeContext::axis(int64_t value, int64_t rank, const char* name) const {
  if (value < -rank || value >= rank) {
    corrupt(std::string(name) + " " + std::to_string(value) + " is out of range for rank " +
            std::to_string(rank));
  }
  return value < 0 ? value + rank : value;
}
std::vector<int64_t> NodeContext::axes(std::vector<int64_t> values, int64_t rank) const {
  for (int64_t& v : values) v = axis(v, rank, "axes:");
  std::sort(values.begin(), values.end());
  if (std::adjacent_find(values.begin(), values.end()) != values.end())
    corrupt("an axis is given twice");
  return values;
}

bool NodeContext::settled() const {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return run_.known(id); });
}
void NodeContext::set(size_t output, DType dtype, Dims dims) {
  if (output >= node.outputs.size() || node.outputs[output] == kAbsent) return;
  if (dims.size() > size_t(kMaxRank))
    refuse("", "its output has " + std::to_string(dims.size()) + " dimensions, at most " +
                   std::to_string(kMaxRank) + " are supported");
  for (const Dim& d : dims) {
    if (d.is_static() ? *d.value() < 0 : upper_bound(d).value_or(0) < 0)
      corrupt("its output has shape " + text(dims) + " with a negative dimension");
  }
  product(dims);  // an element count that overflows is no model
  Value& value = run_.model.values[size_t(node.outputs[output])];
  value.dtype = dtype;
  value.dims = std::move(dims);
  value.shape_known = true;
}
void NodeContext::drop_inputs_from(size_t first) {
  if (node.inputs.size() > first) node.inputs.resize(first);
}
void NodeContext::erase(std::initializer_list<AttributeName> attributes) {
  for (AttributeName key : attributes) node.attributes.erase(key);
}

ValueId NodeContext::make(Operator op, std::vector<ValueId> inputs, Attributes attributes) {
  return make_many(op, std::move(inputs), std::move(attributes), 1)[0];
}
std::vector<ValueId> NodeContext::make_many(Operator op, std::vector<ValueId> inputs,
                                            Attributes attributes, size_t outputs) {
  Node made;
  made.op = op;
  made.name = node.name;
  made.inputs = std::move(inputs);
  made.attributes = std::move(attributes);
  made.sources = node.sources;
  std::string base =
      node.outputs.empty() || node.outputs[0] < 0 ? node.name : run_.value(node.outputs[0]).name;
  std::vector<ValueId> all;
  for (size_t i = 0; i < outputs; i++)
    all.push_back(
        run_.model.add_value(base + "/" + text(op) + std::to_string(run_.model.values.size())));
  made.outputs = all;
  run_.visit(std::move(made));
  for (ValueId& each : all) each = run_.resolve(each);
  return all;
}
ValueId NodeContext::reshape(ValueId data, Dims dims) {
  if (run_.value(data).dims == dims) return data;
  return make(op::Reshape, {data}, {{attr::shape, std::move(dims)}, {attr::allowzero, int64_t(1)}});
}
ValueId NodeContext::expand(ValueId data, Dims dims) {
  if (run_.value(data).dims == dims) return data;
  return make(op::Expand, {data}, {{attr::shape, std::move(dims)}});
}
ValueId NodeContext::padded(ValueId data, const Dims& dims) {
  const Dims from = run_.value(data).dims;
  if (from == dims) return data;
  Dims pads(from.size(), Dim(0));
  for (size_t i = 0; i < from.size(); i++) pads.push_back(dims[i] - from[i]);
  return make(op::Pad, {data}, {{attr::pads, pads}, {attr::mode, std::string("constant")}});
}
ValueId NodeContext::constant(Constant constant) {
  return run_.model.add_constant("constant" + std::to_string(run_.model.values.size()),
                                 std::move(constant));
}
ValueId NodeContext::counting(const Dim& count) {
  if (const auto n = count.value(); n && *n >= 0 && *n <= (1 << 20)) {
    std::vector<int64_t> values(static_cast<size_t>(*n));
    for (size_t i = 0; i < values.size(); i++) values[i] = int64_t(i);
    return constant(make_integer(DType::kI64, {*n}, values));
  }
  const ValueId ones = expand(scalar(DType::kI64, 1), {count});  // an exclusive running sum of them
  return make(
      op::CumSum, {ones},
      {{attr::axis, int64_t(0)}, {attr::exclusive, int64_t(1)}, {attr::reverse, int64_t(0)}});
}
ValueId NodeContext::extent(const Dim& d) {
  if (const auto n = d.value()) return scalar(DType::kI64, double(*n));
  const ValueId ones = expand(scalar(DType::kI64, 1), {d});
  return make(op::ReduceSum, {ones},
              {{attr::axes, std::vector<int64_t>{0}}, {attr::keepdims, int64_t(0)}});
}
ValueId NodeContext::element(size_t input, int64_t at) {
  if (const auto contents = run_.contents(in(input)); contents && size_t(at) < contents->size())
    if (const auto known = (*contents)[size_t(at)].dim()) return extent(*known);
  const Element origin = origin_of(input, at);
  return element_of(origin.value, origin.at);
}
ValueId NodeContext::element_of(ValueId value, int64_t at) {
  ValueId one = value;
  if (product(run_.value(value).dims) != Dim(1))
    one = make(op::Gather, {one, scalar(DType::kI64, double(at))}, {{attr::axis, int64_t(0)}});
  if (run_.value(one).dtype != DType::kI64) one = cast(one, DType::kI64);
  return run_.value(one).dims.empty() ? one : reshape(one, {});
}
ValueId NodeContext::scalar(DType dtype, double value) {
  return constant(make_scalar(dtype, value));
}
void NodeContext::finish(Operator op, std::vector<ValueId> inputs, Attributes attributes) {
  Node made;
  made.op = op;
  made.name = node.name;
  made.inputs = std::move(inputs);
  made.attributes = std::move(attributes);
  made.sources = node.sources;
  made.outputs = {node.outputs.empty() ? kAbsent : node.outputs[0]};
  finished_ = true;
  run_.visit(std::move(made));
}
void NodeContext::finish_shaped(Operator op, ValueId data, Dims dims) {
  Attributes attributes{{attr::shape, std::move(dims)}};
  if (op == op::Reshape) attributes[attr::allowzero] = int64_t(1);  // its dims are dims, no words
  finish(op, {data}, std::move(attributes));
}
std::optional<Dim> NodeContext::stated(size_t input, int64_t element) {
  const std::string name = element_name(input, element);
  if (const auto known = run_.stated_dim(name)) return known;
  const int64_t high = stated_bound(input, element);
  if (high == 0) return std::nullopt;
  const Element origin = origin_of(input, element);
  const ValueId count = make(op::ResolveDim, {element_of(origin.value, origin.at)});
  const Dim made = data_dependent_dim(count, Dim(high), name);
  run_.set_stated_dim(name, made);
  return made;
}
Dim NodeContext::data_dependent_dim(ValueId count, const Dim& bound, const std::string& given) {
  if (bound == Dim(0)) return bound;
  Model& model = run_.model;
  const std::string base = given.empty() ? run_.value(count).name : given;
  std::string name = base;
  for (int i = 2; model.data_dependent.count(name) || is_port_dimension(model, name) ||
                  (given.empty() && model.symbols.count(name));
       i++)
    name = base + "_" + std::to_string(i);
  model.data_dependent[name] = {count, bound};
  return Dim::symbol(name, 0, bound.value().value_or(0));
}
void NodeContext::make_sequence(size_t output, Sequence sequence) {
  finished_ = true;
  if (output >= node.outputs.size() || node.outputs[output] == kAbsent) return;
  set(output, DType::kU8, {});  // a mark: nothing but operators of sequences may read it
  run_.set_sequence(node.outputs[output], std::move(sequence));
}
void NodeContext::same(size_t output, ValueId value) {
  finished_ = true;
  if (output < node.outputs.size() && node.outputs[output] != kAbsent)
    run_.replace(node.outputs[output], value);
}

void NodeContext::refuse(const std::string& attribute, const std::string& why,
                         const Hint& hint) const {
  throw Refusal{attribute, why, hint};
}
void NodeContext::corrupt(const std::string& what) const { fail_corrupt(describe(node), what); }
void NodeContext::note(const std::string& sentence) {
  std::vector<std::string>& notes = run_.model.notes;
  if (std::find(notes.begin(), notes.end(), sentence) == notes.end()) notes.push_back(sentence);
}

namespace {

/// Whether two expressions over a common symbol differ at every size that is tried.
bool never_equal(const Dim& x, const Dim& y) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& name : x.symbols()) sizes[name] = 0;
  const size_t alone = sizes.size() + y.symbols().size();
  for (const std::string& name : y.symbols()) sizes[name] = 0;
  if (sizes.size() == alone) return false;
  for (const int64_t n : {2, 3, 4, 5, 6, 7, 8, 16, 32, 64}) {
    for (auto& [name, size] : sizes) size = n;
    try {
      if (x.evaluate(sizes) == y.evaluate(sizes)) return false;
    } catch (const DimError&) {  // a size that it cannot have
    }
  }
  return true;
}

}  // namespace

Dims broadcast(NodeContext& context, const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), Dim(1));
  for (size_t i = 0; i < out.size(); i++) {
    const Dim one(1);
    const Dim& x = i < a.size() ? a[a.size() - 1 - i] : one;
    const Dim& y = i < b.size() ? b[b.size() - 1 - i] : one;
    Dim& result = out[out.size() - 1 - i];
    if (x == y || y == one)
      result = x;
    else if (x == one)
      result = y;
    else if (x.is_static() && y.is_static()) {
      context.corrupt("shapes " + text(a) + " and " + text(b) + " do not broadcast");
    } else if (x.is_static() || y.is_static()) {
      // the other is that or 1, which the contract checks when it is bound
      result = x.is_static() ? x : y;
    } else {
      // A dimension of two inputs that meets an expression of itself is not one dimension.
      if (never_equal(x, y)) context.force_equal(x, y);
      result = max(x, y);
      // Equal, or one of them is 1, beside which 0 stays; a part of a dimension is that dimension.
      if (result != x && result != y) result = result * min(min(x, y), 1);
    }
  }
  return out;
}

}  // namespace ingot::graph
