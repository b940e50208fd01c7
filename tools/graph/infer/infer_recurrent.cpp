// tools/graph/infer/infer_recurrent.cpp - LSTM, GRU, RNN.
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

void expect_dims(Site& site, size_t input, const Dims& expected, const char* name) {
  if (!site.has(input)) return;
  const Dims& found = site.dims(input);
  bool good = found.size() == expected.size();
  for (size_t i = 0; good && i < found.size(); i++) {
    good = found[i] == expected[i] || !found[i].is_static() || !expected[i].is_static();
  }
  if (!good)
    site.corrupt(std::string("its ") + name + " has shape " + text(found) + ", expected " +
                 text(expected));
}

void recurrent(Site& site) {
  const std::string op = site.node.op;
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const int64_t directions = site.node.text("direction", "forward") == "bidirectional" ? 2 : 1;
  if (site.rank(0) != 3 || site.rank(2) != 3)
    site.corrupt("its X has shape " + text(site.dims(0)) + ", its R " + text(site.dims(2)) +
                 ", expected 3 dimensions");
  const auto hidden = site.dims(2)[2].value();
  if (!hidden) site.refuse("hidden_size", "its R has a symbolic shape " + text(site.dims(2)));
  const int64_t given = site.node.integer("hidden_size", 0);
  if (given != 0 && given != *hidden)
    site.corrupt("hidden_size is " + std::to_string(given) + ", its R has shape " +
                 text(site.dims(2)));
  site.node.attributes["hidden_size"] = *hidden;
  const bool batch_first = site.node.integer("layout", 0) != 0;
  const Dim steps = site.dims(0)[batch_first ? 1 : 0], batch = site.dims(0)[batch_first ? 0 : 1],
            width = site.dims(0)[2];
  const Dim h(*hidden);
  expect_dims(site, 1, {directions, h * gates, width}, "W");
  expect_dims(site, 2, {directions, h * gates, h}, "R");
  expect_dims(site, 3, {directions, h * (2 * gates)}, "B");
  expect_dims(site, 4, {batch}, "sequence_lens");
  const Dims state = batch_first ? Dims{batch, directions, h} : Dims{directions, batch, h};
  expect_dims(site, 5, state, "initial_h");
  expect_dims(site, 6, state, "initial_c");
  expect_dims(site, 7, {directions, h * 3}, "P");
  // Lengths that are all the number of steps say nothing.
  if (const auto lengths = site.has(4) ? site.run().contents(site.in(4)) : std::nullopt) {
    bool full = true;
    for (const Scalar& length : *lengths) full = full && length.dim() && *length.dim() == steps;
    if (full) site.node.inputs[4] = kAbsent;
  }
  while (!site.node.inputs.empty() && site.node.inputs.back() == kAbsent)
    site.node.inputs.pop_back();
  const DType dtype = site.dtype(0);
  site.set(0, dtype,
           batch_first ? Dims{batch, steps, directions, h} : Dims{steps, directions, batch, h});
  site.set(1, dtype, state);
  site.set(2, dtype, state);
}

}  // namespace

void add_recurrent_rules(InferTable& table) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) table[op] = recurrent;
}

}  // namespace ingot::graph
