// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/packed_parameters.h"

#include "tools/graph/tensor_math.h"

namespace ingot::torchscript {
namespace {

using Kind = Value::Kind;
using graph::Dim;

/// The state of one object while it is read.
class PackedState {
 public:
  PackedState(const Value& state, aten::Builder& builder, std::string owner)
      : state_(state), builder_(builder), owner_(std::move(owner)) {}

  [[noreturn]] void corrupt(const std::string& what) const {
    graph::fail_corrupt(owner_, what + "; the file is damaged");
  }
  const Value& part(size_t i) const { return item(state_, i); }
  const Value& item(const Value& list, size_t i) const {
    if (!list.items || list.items->size() <= i)
      corrupt("its packed parameters are " + list.describe() + ", expected at least " +
              std::to_string(i + 1));
    return (*list.items)[i];
  }
  const Value& tensor(const Value& value) const {
    if (!value.is(Kind::kTensor)) corrupt("a packed weight is " + value.describe());
    return value;
  }
  const Value& tensor_or_none(const Value& value) const {
    return value.is(Kind::kNone) ? value : tensor(value);
  }
  /// A list of integers, or a tensor of them.
  std::vector<int64_t> integers(const Value& value) const {
    std::vector<int64_t> out;
    if (value.is(Kind::kTensor)) {
      const graph::Constant* const held = builder_.model.constant(builder_.read(value.tensor));
      if (!held || graph::is_floating(held->dtype)) corrupt("its packed numbers are no integers");
      for (int64_t i = 0; i < held->elements(); i++) out.push_back(graph::read_integer(*held, i));
      return out;
    }
    if (!value.items) corrupt("its packed numbers are " + value.describe());
    for (const Value& each : *value.items) {
      if (!each.is(Kind::kInt) || !each.integer.is_static())
        corrupt("a packed number is " + each.describe());
      out.push_back(*each.integer.value());
    }
    return out;
  }

 private:
  const Value& state_;
  aten::Builder& builder_;
  std::string owner_;
};

/// Dimensions, then as many strides, pads, dilations and output pads, groups, and whether it is
/// transposed.
struct Convolution {
  Value stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;
};
Convolution convolution_of(const PackedState& state, const std::vector<int64_t>& numbers) {
  const size_t dims =
      !numbers.empty() && numbers[0] >= 1 && numbers[0] <= 3 ? size_t(numbers[0]) : 0;
  if (dims == 0 || numbers.size() != 4 * dims + 3)
    state.corrupt("a packed convolution has " + std::to_string(numbers.size()) + " numbers");
  const auto list = [&](size_t which) {
    const auto first = numbers.begin() + int64_t(1 + which * dims);
    return Value::dims(graph::Dims(first, first + int64_t(dims)));
  };
  return {list(0), list(1), list(2), list(3), numbers[4 * dims + 1], numbers[4 * dims + 2] != 0};
}

/// ("2", [numbers, weight], [bias]) until torch 1.10 and in most files since;
/// (3, numbers, [None, weight, bias]) with a flag that few writers set.
std::vector<Value> convolution_arguments(const PackedState& state) {
  const Value& version = state.part(0);
  Value weight, bias;
  Convolution c;
  if (version.is(Kind::kString) && version.text == "2") {
    c = convolution_of(state, state.integers(state.item(state.part(1), 0)));
    weight = state.tensor(state.item(state.part(1), 1));
    bias = state.tensor_or_none(state.item(state.part(2), 0));
  } else if (version.is(Kind::kInt) && version.integer == Dim(3)) {
    c = convolution_of(state, state.integers(state.part(1)));
    weight = state.tensor(state.item(state.part(2), 1));
    bias = state.tensor_or_none(state.item(state.part(2), 2));
  } else {
    graph::fail_unsupported("packed convolutions of version " + version.describe() +
                            " are not read; save the program again with torch 1.6 or newer");
  }
  const Value groups = Value::of(Dim(c.groups));
  if (c.transposed)
    return {weight, bias, c.stride, c.padding, c.output_padding, c.dilation, groups};
  return {weight, bias, c.stride, c.padding, c.dilation, groups};
}

/// ("quantized_dynamic", [biases], [], [whether steps have 7 bits], [linear layers of the input and
/// of the state]): weight and bias of both, and the flag.
std::vector<Value> cell_arguments(const PackedState& state) {
  std::vector<Value> all;
  for (const size_t i : {size_t(0), size_t(1)}) {
    const auto* const linear = as<PackedParameters>(state.item(state.part(4), i));
    if (!linear || linear->arguments.size() != 2)
      state.corrupt("a packed cell has no linear layer");
    all.insert(all.end(), linear->arguments.begin(), linear->arguments.end());
  }
  const std::vector<int64_t> numbers = state.integers(state.part(3));
  if (numbers.size() != 1) state.corrupt("a packed cell has no flag of its steps");
  all.push_back(Value::of(numbers[0] != 0));
  return all;
}

/// Tensors of all cells, a missing bias left out, and the flag that they share.
void unpack_cells(const std::vector<Value>& cells, std::vector<Value>* out) {
  std::vector<Value> tensors;
  Value flag = Value::of(false);
  for (const Value& cell : cells) {
    const auto* const packed = as<PackedParameters>(cell);
    if (!packed || packed->arguments.empty() || !packed->arguments.back().is(Kind::kBool)) {
      out->push_back(Value::list(cells));
      return;
    }
    flag = packed->arguments.back();
    for (const Value& part : packed->arguments)
      if (part.is(Kind::kTensor)) tensors.push_back(part);
  }
  out->push_back(Value::list(std::move(tensors)));
  out->push_back(flag);
}

}  // namespace

Value packed_parameters(const std::string& type, const Value& state, aten::Builder& builder,
                        const std::string& owner) {
  const std::string name = type.substr(type.rfind('.') + 1);
  const PackedState packed(state, builder, owner);
  if (name == "Conv2dPackedParamsBase" || name == "Conv3dPackedParamsBase")
    return packed_parameters(convolution_arguments(packed));
  if (name == "LinearPackedParamsBase")
    return packed_parameters(
        {packed.tensor(packed.part(0)), packed.tensor_or_none(packed.part(1))});
  // of XNNPACK, with the bounds behind the layer (prepacked.cpp)
  if (name == "Conv2dOpContext" || name == "LinearOpContext" ||
      name == "TransposeConv2dOpContext") {
    (void)packed.tensor(packed.part(0));
    return packed_parameters(*state.items);
  }
  // (version, [weight], [], [bits, ...])
  const bool is_table = name == "EmbeddingPackedParamsBase";
  if (const auto* const rows =
          is_table ? as<QuantizedRows>(packed.item(packed.part(1), 0)) : nullptr)
    return packed_parameters({rows->bytes, rows->scales, rows->zero_points});
  const bool is_cell = name == "CellParamsBase" && state.items && !state.items->empty();
  if (is_cell && packed.part(0).is(Kind::kString) && packed.part(0).text == "quantized_dynamic")
    return packed_parameters(cell_arguments(packed));
  auto unreadable = std::make_shared<Unreadable>();
  unreadable->why = "is packed in an object of class '" + type + "', which is not read";
  return Value::of(std::shared_ptr<aten::Foreign>(unreadable));
}

bool packs_parameters(const std::string& name) {
  const std::string last = "_prepack";
  return name.size() > last.size() &&
         name.compare(name.size() - last.size(), std::string::npos, last) == 0;
}

Value packed_parameters(std::vector<Value> arguments) {
  auto packed = std::make_shared<PackedParameters>();
  packed->arguments = std::move(arguments);
  return Value::of(std::shared_ptr<aten::Foreign>(packed));
}

std::vector<Value> unpacked(const std::vector<Value>& arguments) {
  std::vector<Value> out;
  for (const Value& each : arguments) {
    const auto* const packed = as<PackedParameters>(each);
    if (packed)
      out.insert(out.end(), packed->arguments.begin(), packed->arguments.end());
    else if (each.is(Kind::kList) && each.items && !each.items->empty() &&
             as<PackedParameters>(each.items->front()))
      unpack_cells(*each.items, &out);
    else
      out.push_back(each);
  }
  return out;
}

}  // namespace ingot::torchscript
