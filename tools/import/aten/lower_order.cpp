// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_order.cpp - what is read off sorted numbers: medians, quantiles, the
// k-th; and counts by place: histograms, boundaries, members.
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

struct Sorted {
  Term values, places;  // ascending along the last dimension, NaN last
  int64_t count;        // -1: open
  Dim extent;
};
/// x sorted along `axis`, which becomes the last one.
Sorted sorted_last(const Term& x, int64_t axis) {
  Builder& b = *x.b;
  const Term last = moved(x, axis, x.rank() - 1);
  const Dim n = last.dims().back();
  const std::vector<ValueId> made = b.emit_many(op::TopK, {last.id},
                                                {{attr::k, Dims{n}},
                                                 {attr::axis, x.rank() - 1},
                                                 {attr::largest, int64_t(0)},
                                                 {attr::sorted, int64_t(1)}},
                                                2);
  return {{&b, made[0]}, {&b, made[1]}, n.value().value_or(-1), n};
}
/// One of the last dimension, which stays with extent 1.
Term one_of(const Term& x, const Dim& at) { return x.slice(x.rank() - 1, at, at + Dim(1)); }
Results value_and_place(Operands& o, const Term& value, const Term& place, int64_t axis) {
  const auto back = [&](const Term& t) {
    Dims dims = t.dims();
    dims.pop_back();
    if (o.flag("keepdim")) dims.insert(dims.begin() + axis, Dim(1));
    return value_of(t.reshape(dims));
  };
  return {back(value), back(place)};
}
Results nothing_sorted(Operands& o, const Term& x) {
  return {value_of(x), Value::of(o.b.own(o.b.scalar(DType::kI64, 0)))};
}

Results kth_value(Operands& o) {
  const Term x = term(o, "self");
  const int64_t axis = o.axis("dim", x.rank());
  const Dim k = o.dim("k");
  if (x.rank() == 0) return nothing_sorted(o, x);
  const Sorted s = sorted_last(x, axis);
  if (k.is_static() && s.count >= 0 && (*k.value() < 1 || *k.value() > s.count))
    o.corrupt("takes number " + k.text() + " of " + std::to_string(s.count));
  return value_and_place(o, one_of(s.values, k - Dim(1)), one_of(s.places, k - Dim(1)), axis);
}
/// The lower one of the two in the middle; of numbers with NaN among them NaN. nanmedian leaves NaN
/// out.
Results median(Operands& o) {
  Term x = term(o, "self");
  const bool whole = !o.has("dim"), skips = o.op() == "nanmedian";
  if (whole) x = x.reshape({graph::product(x.dims())});
  const int64_t axis = whole ? 0 : o.axis("dim", x.rank());
  if (x.rank() == 0) return nothing_sorted(o, x);
  const Sorted s = sorted_last(x, axis);
  const int64_t last = x.rank() - 1;
  Term value = one_of(s.values, (s.extent - Dim(1)) / Dim(2)),
       place = one_of(s.places, (s.extent - Dim(1)) / Dim(2));
  if (graph::is_floating(x.dtype())) {
    const Term none = is_not_a_number(s.values);
    if (skips) {
      const Term numbers = (!none).cast(DType::kI64).reduce(op::ReduceSum, {last}, true);
      const Term middle = larger(numbers - 1.0, 0) / 2.0;
      value = gathered_along(s.values, middle, last);
      place = gathered_along(s.places, middle, last);
    } else {
      const Term first = none.cast(DType::kI32);
      const Term at = call(op::ArgMax, first,
                           {{attr::axis, last},
                            {attr::keepdims, int64_t(1)},
                            {attr::select_last_index, int64_t(0)}});
      const Term any = one_of(none, s.extent - Dim(1));
      value = where(any, one_of(s.values, s.extent - Dim(1)), value);
      place = where(any, gathered_along(s.places, at, last), place);
    }
  }
  if (whole) return result_of(value.reshape({}));
  return value_and_place(o, value, place, axis);
}
/// The most frequent number, the least of several, and the last place that holds it.
Results mode_of(Operands& o) {
  const Term x = term(o, "self");
  const int64_t axis = o.axis("dim", x.rank());
  if (x.rank() == 0) return nothing_sorted(o, x);
  const Sorted s = sorted_last(x, axis);
  if (s.count > 4096) o.refuse("self", "the mode of more than 4096 numbers is not supported");
  const int64_t last = x.rank() - 1;
  Dims row = s.values.dims(), column = row;
  row.insert(row.end() - 1, Dim(1));
  column.push_back(Dim(1));
  const Term same = equal(s.values.reshape(column), s.values.reshape(row)).cast(DType::kI32);
  const Attributes along = {
      {attr::axis, last}, {attr::keepdims, int64_t(1)}, {attr::select_last_index, int64_t(0)}};
  const Term value = gathered_along(
      s.values, call(op::ArgMax, same.reduce(op::ReduceSum, {last + 1}), along), last);
  Attributes latest = along;
  latest[attr::select_last_index] = int64_t(1);
  const Term here = equal(moved(x, axis, last), value).cast(DType::kI32);
  return value_and_place(o, value, call(op::ArgMax, here, latest), axis);
}

/// Between the numbers at both sides of q * (count - 1).
Results quantile(Operands& o) {
  Builder& b = o.b;
  Term x = floating_term(o, "self");
  const Dims in = x.dims();
  const bool whole = !o.given("dim"), skips = o.op() == "nanquantile", keep = o.flag("keepdim");
  const int64_t axis = whole ? 0 : o.axis("dim", x.rank());
  if (whole || x.rank() == 0) x = x.reshape({graph::product(in)});
  const std::string between = o.text("interpolation");
  const bool many = o.value("q").is(Value::Kind::kTensor) && b.rank(o.read("q")) == 1;
  const Term q = {&b, as_type(b, o.value("q"), x.dtype())};
  const Sorted s = sorted_last(x, axis);
  const int64_t last = x.rank() - 1;
  const Term none = is_not_a_number(s.values);
  const Term most = Term{&b, b.extent(s.extent - Dim(1))}.cast(x.dtype());
  const Term numbers = (!none).cast(x.dtype()).reduce(op::ReduceSum, {last}, true) - 1.0;
  const Term wanted = q.reshape({many ? q.dims()[0] : Dim(1)});
  // One NaN is the last of the sorted numbers, and the result is that.
  const Term any = one_of(none, s.extent - Dim(1));
  const Term rank = skips ? larger(numbers, 0) * wanted : where(any, most, most * wanted);
  Term low = call(op::Floor, rank), weight = rank - low;
  if (between == "lower") {
    weight = weight * 0.0;
  } else if (between == "higher") {
    low = call(op::Ceil, rank);
    weight = weight * 0.0;
  } else if (between == "nearest") {
    low = call(op::Round, rank);
    weight = weight * 0.0;
  } else if (between == "midpoint") {
    weight = weight.number(0.5).expand(weight.dims());
  } else if (between != "linear") {
    o.refuse("interpolation", "'" + between + "' is not known");
  }
  const Term high = between == "midpoint" || between == "linear" ? call(op::Ceil, rank) : low;
  const Term below = gathered_along(s.values, low.cast(DType::kI64), last),
             above = gathered_along(s.values, high.cast(DType::kI64), last);
  Term made = moved(where(equal(below, above), below, below + (above - below) * weight), last, 0);
  Dims out = made.dims();
  const Dim count = out[0];
  out.erase(out.begin());
  if (keep && whole) out.insert(out.begin(), in.size(), Dim(1));
  if (keep && !whole && !in.empty()) out.insert(out.begin() + axis, Dim(1));
  if (many) out.insert(out.begin(), count);
  return result_of(made.reshape(out));
}

Results sorted_rows(Operands& o) {
  const Term x = term(o, "self");
  if (x.rank() == 0) return result_of(x);
  return result_of(moved(sorted_last(x, 0).values, x.rank() - 1, 0));
}
Results both_extremes(Operands& o) {
  const Term x = term(o, "self");
  const bool keep = o.flag("keepdim");
  const std::vector<int64_t> axes =
      o.given("dim") ? std::vector<int64_t>{o.axis("dim", x.rank())} : std::vector<int64_t>{};
  if (x.rank() == 0) return {value_of(x), value_of(x)};
  return {value_of(x.reduce(op::ReduceMin, axes, keep)),
          value_of(x.reduce(op::ReduceMax, axes, keep))};
}

/// How many of equal bins between both ends hold each number; the last bin has its upper end too.
Results histogram(Operands& o) {
  Builder& b = o.b;
  const Term given = term(o, "self"),
             x = given.cast(DType::kF32).reshape({graph::product(given.dims())});
  const int64_t bins = o.integer("bins");
  if (bins < 1 || bins > 1 << 24) o.corrupt("has " + std::to_string(bins) + " bins");
  Term low = x.number(o.number("min")), high = x.number(o.number("max"));
  if (o.number("min") == o.number("max")) {  // of the data; where they are all one, around it
    low = x.reduce(op::ReduceMin, {});
    high = x.reduce(op::ReduceMax, {});
    const Term one = equal(low, high);
    low = where(one, low - 1.0, low);
    high = where(one, high + 1.0, high);
  }
  const Term at = call(op::Trunc, (x - low) / (high - low) * double(bins));
  const Term inside = both(x >= low, x <= high);
  const Term place =
      where(inside, smaller(larger(at, 0), double(bins - 1)), double(bins)).cast(DType::kI64);
  const Term none = Term{&b, b.scalar(DType::kF32, 0)}.expand({Dim(bins + 1)});
  const Term counts = scattered(none, place, x.number(1).expand(x.dims()), 0, "add");
  const DType dtype = graph::is_floating(given.dtype()) ? given.dtype() : DType::kF32;
  return result_of(counts.slice(0, Dim(0), Dim(bins)).cast(dtype));
}

/// How many boundaries lie before each number; NaN is behind all of them.
Results places_among(Operands& o) {
  const bool buckets = o.op() == "bucketize";
  const Terms both_of =
      buckets ? two_terms(o, "boundaries", "self") : two_terms(o, "sorted_sequence", "self");
  Term boundaries = both_of.x;
  bool right = o.flag("right");
  if (o.has("side") && o.given("side")) {
    const std::string side = o.text("side");
    if (side != "left" && side != "right") o.refuse("side", "'" + side + "' is not known");
    right = side == "right";
  }
  if (o.has("sorter") && o.given("sorter"))
    boundaries =
        gathered_along(boundaries, term(o, "sorter").cast(DType::kI64), boundaries.rank() - 1);
  Dims column = both_of.y.dims(), row = boundaries.dims();
  column.push_back(Dim(1));
  if (boundaries.rank() > 1) row.insert(row.end() - 1, Dim(1));
  const Term numbers = both_of.y.reshape(column), limits = boundaries.reshape(row);
  const Term before = !(right ? limits > numbers : limits >= numbers);
  const Term count = before.cast(DType::kI64).reduce(op::ReduceSum, {int64_t(column.size()) - 1});
  return result_of(count.cast(o.flag("out_int32") ? DType::kI32 : DType::kI64));
}
Results members(Operands& o) {
  const char* const set = o.has("test_elements") ? "test_elements" : "test_element";
  const char* const self = o.has("elements") ? "elements" : "element";
  const Terms t = two_terms(o, self, set);
  Dims column = t.x.dims();
  column.push_back(Dim(1));
  const Term same = equal(t.x.reshape(column), t.y.reshape({graph::product(t.y.dims())}));
  const Term found = same.cast(DType::kI32).reduce(op::ReduceSum, {int64_t(column.size()) - 1}) > 0;
  return result_of(o.flag("invert") ? !found : found);
}

}  // namespace

void add_orders(Table& table) {
  table.add("kthvalue", "Tensor self, int k, int dim=-1, bool keepdim=False", kth_value);
  table.add_all("median nanmedian", "Tensor self", median);
  table.add_all("median.dim nanmedian.dim", "Tensor self, int dim, bool keepdim=False", median);
  table.add("mode", "Tensor self, int dim=-1, bool keepdim=False", mode_of);
  const std::string tail = "int? dim=None, bool keepdim=False, *, str interpolation='linear'";
  for (const char* name : {"quantile", "nanquantile"}) {
    table.add(name, "Tensor self, Tensor q, " + tail, quantile);
    table.add(std::string(name) + ".scalar", "Tensor self, float q, " + tail, quantile);
  }
  table.add("msort", "Tensor self", sorted_rows);
  table.add("aminmax", "Tensor self, *, int? dim=None, bool keepdim=False", both_extremes);
  table.add("histc", "Tensor self, int bins=100, Scalar min=0, Scalar max=0", histogram);
  const std::string out = "*, bool out_int32=False, bool right=False";
  table.add("bucketize.Tensor", "Tensor self, Tensor boundaries, " + out, places_among);
  table.add("bucketize.Scalar", "Scalar self, Tensor boundaries, " + out, places_among);
  const std::string side = ", str? side=None, Tensor? sorter=None";
  table.add("searchsorted.Tensor", "Tensor sorted_sequence, Tensor self, " + out + side,
            places_among);
  table.add("searchsorted.Scalar", "Tensor sorted_sequence, Scalar self, " + out + side,
            places_among);
  const std::string assumed = ", *, bool assume_unique=False, bool invert=False";
  table.add("isin.Tensor_Tensor", "Tensor elements, Tensor test_elements" + assumed, members);
  table.add("isin.Tensor_Scalar", "Tensor elements, Scalar test_element" + assumed, members);
  table.add("isin.Scalar_Tensor", "Scalar element, Tensor test_elements" + assumed, members);
}

}  // namespace ingot::aten
