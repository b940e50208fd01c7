// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/prepacked.cpp - layers whose weights optimize_for_mobile() has packed
// with the bounds of the activation behind them (namespace prepacked).
#include "tools/import/torchscript/interpreter.h"
#include "tools/import/torchscript/packed_parameters.h"

namespace ingot::torchscript {
namespace {

struct Packed {
  const char *run, *layer;     // "conv2d_clamp_run", "aten::conv2d"
  std::vector<size_t> places;  // in what was packed, of the layer's arguments behind the first
};
/// Weight, bias, then of convolutions stride, padding, (output padding,) dilation, groups; two
/// bounds at the end.
const Packed* packed_layer(const std::string& name) {
  static const Packed kLayers[] = {
      {"linear_clamp_run", "aten::linear", {0, 1}},
      {"conv2d_clamp_run", "aten::conv2d", {0, 1, 2, 3, 4, 5}},
      {"conv2d_transpose_clamp_run", "aten::conv_transpose2d", {0, 1, 2, 3, 4, 6, 5}}};
  for (const Packed& layer : kLayers)
    if (name == layer.run) return &layer;
  return nullptr;
}

}  // namespace

Value Interpreter::run_prepacked(Frame& frame, const std::string& name, Arguments given,
                                 uint32_t line) {
  const std::string place = frame.file->place(line);
  const Packed* const layer = packed_layer(name);
  if (!layer) refuse("prepacked::" + name, place, "the operator is not supported here");
  const auto* const packed =
      given.positional.size() == 2 ? as<PackedParameters>(given.positional[1]) : nullptr;
  if (!packed)
    refuse("prepacked::" + name, place,
           given.positional.size() == 2 ? "reads " + describe(given.positional[1])
                                        : "has another number of arguments than 2");
  if (packed->arguments.size() != layer->places.size() + 2)
    graph::fail_corrupt(
        place, "'prepacked::" + name + "' takes " + std::to_string(packed->arguments.size()) +
                   " packed values, expected " + std::to_string(layer->places.size() + 2));
  Arguments of_layer, of_bounds;
  of_layer.positional = {given.positional[0]};
  for (const size_t at : layer->places) of_layer.positional.push_back(packed->arguments[at]);
  const Value low = packed->arguments.end()[-2], high = packed->arguments.back();
  const Value made = call_operator(frame, layer->layer, std::move(of_layer), line);
  if (low.is(Value::Kind::kNone) && high.is(Value::Kind::kNone)) return made;
  of_bounds.positional = {made, low, high};
  return call_operator(frame, "aten::clamp", std::move(of_bounds), line);
}

}  // namespace ingot::torchscript
