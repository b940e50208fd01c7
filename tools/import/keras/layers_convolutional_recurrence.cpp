// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_convolutional_recurrence.cpp - LSTM whose products are convolutions,
// spelled out step by step.
#include "tools/import/aten/arithmetic.h"
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

using aten::Term;
using graph::Dim;
using graph::Dims;

constexpr int64_t kMaxBuiltSteps = 256;

template <size_t spatial>
void convolutional_lstm(LayerCall& call) {
  call.expect_rank(int64_t(spatial) + 3);
  const int64_t filters = call.integer("filters", 0), steps = call.extent(1);
  const std::vector<int64_t> kernel = call.integers("kernel_size", spatial, 1),
                             strides = call.integers("strides", spatial, 1),
                             dilations = call.integers("dilation_rate", spatial, 1);
  const std::string padding = call.text("padding", "valid");
  if (padding != "valid" && padding != "same")
    call.refuse("padding", "'" + padding + "' is not known here");
  const bool last = call.channels_last(), bias = call.truth("use_bias", true),
             sequences = call.truth("return_sequences", false),
             backwards = call.truth("go_backwards", false);
  for (const char* key : {"return_state", "stateful"})
    if (call.truth(key, false)) call.refuse(key, "is not built");
  const std::string bend = call.activation("activation", "tanh"),
                    gate = call.activation("recurrent_activation", "hard_sigmoid");
  if (steps < 1 || steps > kMaxBuiltSteps)
    call.refuse("", "over " + std::to_string(steps) + " steps, at most " +
                        std::to_string(kMaxBuiltSteps) + " are built");
  const std::vector<Weight> w = call.weights(bias ? 3 : 2, call.source.legacy() ? "" : "cell");
  const auto bent = [&](const Term& t, const std::string& how) {
    return t.of(call.net.activation(t.id, how, 1));
  };
  // The steps in the batch: one convolution for all of them.
  Term x = {&call.b, call.input()};
  const Dims in = x.dims();
  Dims folded = {in[0] * in[1]};
  folded.insert(folded.end(), in.begin() + 2, in.end());
  std::vector<ValueId> inputs = {call.to_channels_first(x.reshape(folded).id, last),
                                 call.net.constant(turned_kernel(w[0]))};
  if (bias) inputs.push_back(call.net.constant(w[2]));
  Term all = {
      &call.b,
      call.b.emit(op::Conv, inputs,
                  {{attr::kernel_shape, kernel},
                   {attr::strides, strides},
                   {attr::dilations, dilations},
                   {attr::group, int64_t(1)},
                   {attr::auto_pad, std::string(padding == "same" ? "SAME_UPPER" : "VALID")}})};
  Dims each = all.dims();
  each.erase(each.begin());
  each.insert(each.begin(), {in[0], in[1]});
  all = all.reshape(each);
  const Term recurrent = x.of(call.net.constant(turned_kernel(w[1])));
  const aten::Attributes same = {{attr::kernel_shape, kernel},
                                 {attr::strides, std::vector<int64_t>(spatial, 1)},
                                 {attr::dilations, std::vector<int64_t>(spatial, 1)},
                                 {attr::group, int64_t(1)},
                                 {attr::auto_pad, std::string("SAME_UPPER")}};
  Dims state = each;
  state.erase(state.begin() + 1);
  Term h = x, c = x;
  std::vector<Term> made;
  for (int64_t t = 0; t < steps; t++) {
    const int64_t at = backwards ? steps - 1 - t : t;
    Term z = all.slice(1, Dim(at), Dim(at + 1)).reshape(state);
    if (t > 0) z = z + aten::call(op::Conv, h, recurrent, same);
    const auto part = [&](int64_t i) {
      return z.slice(1, Dim(i * filters), Dim((i + 1) * filters));
    };
    const Term fresh = bent(part(0), gate) * bent(part(2), bend);
    c = t > 0 ? bent(part(1), gate) * c + fresh : fresh;
    h = bent(part(3), gate) * bent(c, bend);
    Term out = x.of(call.from_channels_first(h.id, last));
    if (!sequences) continue;
    Dims wide = out.dims();
    wide.insert(wide.begin() + 1, Dim(1));
    made.push_back(out.reshape(wide));
  }
  call.give(sequences ? concat(made, 1).id : call.from_channels_first(h.id, last));
}

}  // namespace

void add_convolutional_recurrences(TranslateTable& table) {
  table["ConvLSTM1D"] = convolutional_lstm<1>;
  table["ConvLSTM2D"] = convolutional_lstm<2>;
  table["ConvLSTM3D"] = convolutional_lstm<3>;
}

}  // namespace ingot::keras
