// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_recurrent.cpp - LSTM, GRU, RNN.
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

void expect_dims(NodeContext& context, size_t input, const Dims& expected, const char* name) {
  if (!context.has(input)) return;
  const Dims found = context.dims(input);
  bool good = found.size() == expected.size();
  for (size_t i = 0; good && i < found.size(); i++) {
    good = found[i] == expected[i] || !found[i].is_static() || !expected[i].is_static();
    context.force_equal(found[i], expected[i]);
  }
  if (!good)
    context.corrupt(std::string("its ") + name + " has shape " + text(found) + ", expected " +
                    text(expected));
}

void recurrent(NodeContext& context) {
  const Operator op = context.node.op;
  const bool of_bytes = op == op::DynamicQuantizeLSTM;
  const int64_t gates = op == op::LSTM || of_bytes ? 4 : op == op::GRU ? 3 : 1;
  const int64_t directions =
      context.node.text(attr::direction, "forward") == "bidirectional" ? 2 : 1;
  if (context.rank(0) != 3 || context.rank(2) != 3)
    context.corrupt("its X has shape " + text(context.dims(0)) + ", its R " +
                    text(context.dims(2)) + ", expected 3 dimensions");
  const auto hidden = context.dims(2)[of_bytes ? 1 : 2].value();
  if (!hidden) context.refuse("hidden_size", "its R has a symbolic shape " + text(context.dims(2)));
  const int64_t given = context.node.integer(attr::hidden_size, 0);
  if (given != 0 && given != *hidden)
    context.corrupt("hidden_size is " + std::to_string(given) + ", its R has shape " +
                    text(context.dims(2)));
  context.node.attributes[attr::hidden_size] = *hidden;
  const bool batch_first = context.node.integer(attr::layout, 0) != 0;
  const Dim steps = context.dims(0)[batch_first ? 1 : 0],
            batch = context.dims(0)[batch_first ? 0 : 1], width = context.dims(0)[2];
  const Dim h(*hidden);
  const Dim rows = h * gates;
  expect_dims(context, 1, of_bytes ? Dims{directions, width, rows} : Dims{directions, rows, width},
              "W");
  expect_dims(context, 2, of_bytes ? Dims{directions, h, rows} : Dims{directions, rows, h}, "R");
  expect_dims(context, 3, {directions, h * (2 * gates)}, "B");
  expect_dims(context, 4, {batch}, "sequence_lens");
  const Dims state = batch_first ? Dims{batch, directions, h} : Dims{directions, batch, h};
  expect_dims(context, 5, state, "initial_h");
  expect_dims(context, 6, state, "initial_c");
  expect_dims(context, 7, {directions, h * 3}, "P");
  // Lengths that are all the number of steps say nothing.
  if (const auto lengths = context.has(4) ? context.run().contents(context.in(4)) : std::nullopt) {
    bool full = true;
    for (const Scalar& length : *lengths) full = full && length.dim() && *length.dim() == steps;
    if (full) context.node.inputs[4] = kAbsent;
  }
  while (!context.node.inputs.empty() && context.node.inputs.back() == kAbsent)
    context.node.inputs.pop_back();
  const DType dtype = context.dtype(0);
  context.set(0, dtype,
              batch_first ? Dims{batch, steps, directions, h} : Dims{steps, directions, batch, h});
  context.set(1, dtype, state);
  context.set(2, dtype, state);
}

}  // namespace

void add_recurrent_rules(InferTable& table) {
  for (const Operator op : {op::DynamicQuantizeLSTM, op::LSTM, op::GRU, op::RNN})
    table[op] = recurrent;
}

}  // namespace ingot::graph
