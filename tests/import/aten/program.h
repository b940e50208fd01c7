// SPDX-License-Identifier: Apache-2.0
// tests/import/aten/program.h - a program of ATen calls written down in a test. Its tensors are
// constants, so that what a call means is folded, or run, and can be read as numbers.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tools/compile/convert/fold_by_running.h"
#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/aten/lower.h"

namespace ingot::test {

class Program {
 public:
  graph::Model model;
  aten::Builder builder{model};

  aten::Value tensor(DType dtype, std::vector<int64_t> dims, const std::vector<double>& numbers) {
    const bool whole = !graph::is_floating(dtype);
    graph::Constant constant =
        whole
            ? graph::make_integer(dtype, dims, std::vector<int64_t>(numbers.begin(), numbers.end()))
            : graph::make_floating(dtype, dims, numbers);
    return aten::Value::of(builder.own(
        model.add_constant("c" + std::to_string(model.values.size()), std::move(constant))));
  }
  aten::Value floats(std::vector<int64_t> dims, const std::vector<double>& numbers) {
    return tensor(DType::kF32, std::move(dims), numbers);
  }
  /// A tensor whose numbers are fed.
  aten::Value input(const std::string& name, DType dtype, graph::Dims dims) {
    const graph::ValueId id = model.add_value(name, dtype);
    model.values[size_t(id)].dims = std::move(dims);
    model.values[size_t(id)].shape_known = true;
    model.graph.inputs.push_back(id);
    return aten::Value::of(builder.own(id));
  }
  std::vector<aten::Value> results(const std::string& name, std::vector<aten::Value> arguments,
                                   const std::string& overload = "",
                                   std::vector<std::pair<std::string, aten::Value>> keywords = {}) {
    aten::Call call;
    call.keywords = std::move(keywords);
    call.name = (name.find("::") == std::string::npos ? "aten::" : "") + name;
    call.overload = overload;
    call.positional = std::move(arguments);
    call.node = name + "_" + std::to_string(++calls_);
    call.outputs = {call.node};
    return aten::lower_call(builder, call);
  }
  aten::Value call(const std::string& name, std::vector<aten::Value> arguments,
                   const std::string& overload = "") {
    return results(name, std::move(arguments), overload).at(0);
  }
  /// With arguments that have no place, as alpha.
  aten::Value call_with(const std::string& name, std::vector<aten::Value> arguments,
                        std::vector<std::pair<std::string, aten::Value>> keywords) {
    return results(name, std::move(arguments), "", std::move(keywords)).at(0);
  }
  std::vector<double> numbers(const aten::Value& value) {
    REQUIRE(value.is(aten::Value::Kind::kTensor));
    const graph::ValueId id = builder.read(value.tensor);
    if (const graph::Constant* folded = model.constant(id)) return graph::read_numbers(*folded);
    graph::Model whole = model;
    whole.graph.outputs = {id};
    graph::remove_dead_nodes(whole);
    convert::fold_by_running(whole, {});
    REQUIRE(whole.graph.nodes.size() == 1);
    REQUIRE(whole.graph.nodes[0].op == op::Identity);
    return graph::read_numbers(*whole.constant(whole.graph.nodes[0].inputs[0]));
  }
  DType dtype(const aten::Value& value) { return builder.dtype(builder.read(value.tensor)); }
  std::string shape(const aten::Value& value) {
    return graph::text(builder.dims(builder.read(value.tensor)));
  }
  std::string refusals() const {
    std::string all;
    for (const graph::Unsupported& u : builder.unsupported)
      all += u.op + "|" + u.attribute + "|" + u.node + "|" + u.why + "\n";
    return all;
  }

 private:
  int calls_ = 0;
};

inline aten::Value whole(int64_t n) { return aten::Value::of(aten::Dim(n)); }
inline aten::Value real(double x) { return aten::Value::of(x); }
inline aten::Value list(const std::vector<int64_t>& numbers) {
  return aten::Value::dims(aten::Dims(numbers.begin(), numbers.end()));
}

}  // namespace ingot::test
