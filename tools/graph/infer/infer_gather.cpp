// tools/graph/infer/infer_gather.cpp - elements by index, and by order: Gather, Scatter, TopK,
// CumSum.
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

void expect_indices(Site& site, size_t input) {
  if (site.dtype(input) == DType::kI64 || site.dtype(input) == DType::kI32) return;
  site.corrupt(std::string("its indices are ") + dtype_text(site.dtype(input)) +
               ", expected i32 or i64");
}

void gather(Site& site) {
  expect_indices(site, 1);
  const int64_t axis = site.axis(site.node.integer("axis", 0), site.rank(0));
  const Dims data = site.dims(0), indices = site.dims(1);
  const auto at = data.begin() + axis;
  Dims out(data.begin(), at);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), at + 1, data.end());
  const auto contents = site.run().contents(site.in(1));
  // One index that is a symbolic dim (the last frame, say) is a slice; the index never exists at
  // run time.
  if (contents && contents->size() == 1 && (*contents)[0].dim() && !(*contents)[0].number()) {
    const Dim index = *(*contents)[0].dim();
    const ValueId part = site.make(
        "Slice", {site.in(0)},
        {{"starts", Dims{index}}, {"ends", Dims{index + 1}}, {"axes", std::vector<int64_t>{axis}}});
    return site.finish_shaped("Reshape", part, out);
  }
  site.node.attributes["axis"] = axis;
  site.set(0, site.dtype(0), std::move(out));
}
void gather_elements(Site& site) {
  expect_indices(site, 1);
  if (site.rank(0) != site.rank(1))
    site.corrupt("its data " + text(site.dims(0)) + " and indices " + text(site.dims(1)) +
                 " differ in rank");
  site.node.attributes["axis"] = site.axis(site.node.integer("axis", 0), site.rank(0));
  site.set(0, site.dtype(0), site.dims(1));
}
void gather_nd(Site& site) {
  expect_indices(site, 1);
  const int64_t batch = site.node.integer("batch_dims", 0);
  const Dims data = site.dims(0), indices = site.dims(1);
  const auto depth = indices.empty() ? std::nullopt : indices.back().value();
  if (!depth) site.refuse("", "its indices " + text(indices) + " have no fixed last dimension");
  if (batch < 0 || batch >= int64_t(indices.size()) || batch + *depth > int64_t(data.size()) ||
      *depth < 1) {
    site.corrupt("its indices " + text(indices) + " do not fit data " + text(data) + " with " +
                 std::to_string(batch) + " batch dimensions");
  }
  Dims out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + batch + *depth, data.end());
  site.set(0, site.dtype(0), std::move(out));
}
void scatter_elements(Site& site) {
  expect_indices(site, 1);
  if (site.dtype(0) != site.dtype(2)) site.corrupt("its data and updates have different types");
  if (site.rank(0) != site.rank(1) || site.rank(0) != site.rank(2))
    site.corrupt("its data, indices and updates differ in rank");
  site.node.attributes["axis"] = site.axis(site.node.integer("axis", 0), site.rank(0));
  site.set(0, site.dtype(0), site.dims(0));
}
void scatter_nd(Site& site) {
  expect_indices(site, 1);
  if (site.dtype(0) != site.dtype(2)) site.corrupt("its data and updates have different types");
  site.set(0, site.dtype(0), site.dims(0));
}

/// k is known only at run time: at most the whole dimension.
void top_k_measured(Site& site, int64_t axis) {
  if (site.dtype(1) != DType::kI64 || product(site.dims(1)) != Dim(1))
    site.corrupt("k is " + std::string(dtype_text(site.dtype(1))) + " " + text(site.dims(1)) +
                 ", expected one i64");
  const ValueId count = site.make("Measure", {site.reshape(site.in(1), {})});
  Dims out = site.dims(0);
  out[size_t(axis)] = site.measure(count, out[size_t(axis)]);
  site.drop_inputs_from(1);
  site.set(0, site.dtype(0), out);
  site.set(1, DType::kI64, out);
}

void top_k(Site& site) {
  const int64_t axis = site.axis(site.node.integer("axis", -1), site.rank(0));
  site.node.attributes["axis"] = axis;
  if (site.node.inputs.size() == 1 && !site.node.has("k")) return;
  if (site.has(1) && !site.find_dims("k", 1)) return top_k_measured(site, axis);
  const Dims k = site.need_dims("k", 1);
  if (k.size() != 1) site.corrupt("k has " + std::to_string(k.size()) + " elements, expected 1");
  Dims out = site.dims(0);
  if (!proven_at_least(out[size_t(axis)], k[0])) {
    if (proven_at_least(k[0], out[size_t(axis)] + 1))
      site.corrupt("k is " + k[0].text() + " of a dimension of " + out[size_t(axis)].text());
    site.note("TopK takes k = " + k[0].text() + " of a symbolic dimension " +
              out[size_t(axis)].text() + ", which must be at least that");
  }
  out[size_t(axis)] = k[0];
  site.drop_inputs_from(1);
  site.erase({"k"});
  site.set(0, site.dtype(0), out);
  site.set(1, DType::kI64, out);
}
void cum_sum(Site& site) {
  const auto axis = site.integers("axis_input", 1);
  const int64_t given = axis && axis->size() == 1 ? (*axis)[0] : site.node.integer("axis", 0);
  site.drop_inputs_from(1);
  site.node.attributes["axis"] = site.axis(given, site.rank(0));
  site.set(0, site.dtype(0), site.dims(0));
}

/// The first lengths[b] steps of every sequence in reverse: rows [time, batch] (or [batch, time])
/// gathered by an index.
void reverse_sequence(Site& site) {
  const Dims in = site.dims(0);
  const int64_t batch_axis = site.node.integer("batch_axis", 1),
                time_axis = site.node.integer("time_axis", 0);
  if (in.size() < 2 || batch_axis < 0 || batch_axis > 1 || time_axis != 1 - batch_axis)
    site.corrupt("batch_axis " + std::to_string(batch_axis) + " and time_axis " +
                 std::to_string(time_axis) + " must be 0 and 1 of " + text(in));
  const Dim steps = in[size_t(time_axis)], batch = in[size_t(batch_axis)];
  if (site.rank(1) != 1)
    site.corrupt("its lengths have shape " + text(site.dims(1)) + ", expected one dimension");
  const auto known = site.run().contents(site.in(1));
  bool whole = known.has_value();
  for (size_t i = 0; whole && i < known->size(); i++)
    whole = (*known)[i].dim() && *(*known)[i].dim() == steps;
  if (whole) {
    const std::vector<int64_t> axes = {time_axis}, back = {-1};
    return site.finish("Slice", {site.in(0)},
                       {{"starts", Dims{Dim(-1)}},
                        {"ends", Dims{Dim(INT64_MIN)}},
                        {"axes", axes},
                        {"steps", back}});
  }
  const auto number = [&](double n) { return site.scalar(DType::kI64, n); };
  const auto along = [&](ValueId list, int64_t axis) {
    Dims dims = {1, 1};
    dims[size_t(axis)] = site.run().value(list).dims[0];
    return site.reshape(list, dims);
  };
  const ValueId step = along(site.counting(steps), time_axis),
                sequence = along(site.counting(batch), batch_axis);
  const ValueId length = along(site.cast(site.in(1), DType::kI64), batch_axis);
  const ValueId mirrored = site.make("Sub", {site.make("Sub", {length, number(1)}), step});
  const ValueId from = site.make("Where", {site.make("Less", {step, length}), mirrored, step});
  const ValueId outer = time_axis == 0 ? from : sequence, inner = time_axis == 0 ? sequence : from;
  const ValueId row = site.make("Add", {site.make("Mul", {outer, site.extent(in[1])}), inner});
  // A length beyond the sequence would read its neighbour: an index that no Gather takes.
  const ValueId sound = site.make("LessOrEqual", {length, site.extent(steps)});
  const ValueId index = site.make("Where", {sound, row, number(-1099511627776.0)});
  Dims rows(in.begin() + 1, in.end());
  rows[0] = in[0] * in[1];
  site.finish("Gather", {site.reshape(site.in(0), rows), index}, {{"axis", int64_t(0)}});
}

}  // namespace

void add_gather_rules(InferTable& table) {
  table["Gather"] = gather;
  table["GatherElements"] = gather_elements;
  table["GatherND"] = gather_nd;
  table["ScatterElements"] = scatter_elements;
  table["ScatterND"] = scatter_nd;
  table["ReverseSequence"] = reverse_sequence;
  table["TopK"] = top_k;
  table["CumSum"] = cum_sum;
}

}  // namespace ingot::graph
