// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_packed.cpp - sequences of different lengths, packed for recurrent layers
// and padded again. They stay padded here; the layers are told the lengths.
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

/// Data and how many sequences have each step, in the order of falling lengths.
Results pack(Operands& o) {
  Builder& b = o.b;
  Term x = term(o, "input");
  if (o.flag("batch_first")) x = swapped(x, 0, 1);
  const Dim steps = x.dims()[0], count = x.dims()[1];
  const Term lengths = term(o, "lengths").cast(DType::kI64);
  if (lengths.dims() != Dims{count})
    o.corrupt("has lengths of " + graph::text(lengths.dims()) + " for " + count.text() +
              " sequences");
  const Term there = counting(b, steps).reshape({steps, Dim(1)}) < lengths.reshape({Dim(1), count});
  const Term sizes = there.cast(DType::kI64).reduce(op::ReduceSum, {1});
  return {Value::of(b.packed(x.id, lengths.cast(DType::kI32).id)), value_of(sizes)};
}
/// As many steps as the longest has, or as is asked for.
Results unpack(Operands& o) {
  Builder& b = o.b;
  const auto sequences = Builder::packed(o.tensor("data"));
  if (!sequences)
    o.refuse("data", "is no packed sequence that this program makes",
             "call pack_padded_sequence() within the exported module");
  Term x = {&b, sequences->padded};
  const Term lengths = Term{&b, sequences->lengths}.cast(DType::kI64);
  const Dim steps = x.dims()[0], count = x.dims()[1];
  const Term there = counting(b, steps).reshape({steps, Dim(1)}) < lengths.reshape({Dim(1), count});
  Dims mask = {steps, count};
  mask.resize(x.dims().size(), Dim(1));
  x = where(there.reshape(mask), x, x.number(o.number("padding_value")));
  const Dim total = o.given("total_length") ? o.dim("total_length") : Dim(0);
  const bool whole = total == Dim(0) || total == Dim(-1);
  if (whole) {
    const Term longest = lengths.reduce(op::ReduceMax, {}, false).reshape({Dim(1)});
    x = x.of(b.emit(op::Slice, {x.id, b.integers({0}), longest.id, b.integers({0})}));
  } else if (graph::proven_at_least(steps, total)) {
    x = x.slice(0, Dim(0), total);
  } else {
    Dims pads(x.dims().size() * 2, Dim(0));
    pads[x.dims().size()] = total - steps;
    x = call(op::Pad, x,
             {{attr::pads, pads},
              {attr::mode, std::string("constant")},
              {attr::value, o.number("padding_value")}});
  }
  if (o.flag("batch_first")) x = swapped(x, 0, 1);
  return {value_of(x), value_of(lengths)};
}

}  // namespace

void add_packed(Table& table) {
  table.add("_pack_padded_sequence", "Tensor input, Tensor lengths, bool batch_first", pack);
  table.add("_pad_packed_sequence",
            "Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int "
            "total_length",
            unpack);
}

}  // namespace ingot::aten
