// tools/graph/infer/infer_reduce.cpp - reductions, argmax, softmax.
#include <numeric>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

Dims without(const Dims& dims, const std::vector<int64_t>& axes, bool keep) {
  Dims out;
  size_t next = 0;
  for (size_t i = 0; i < dims.size(); i++) {
    const bool gone = next < axes.size() && axes[next] == int64_t(i);
    if (gone) next++;
    if (!gone)
      out.push_back(dims[i]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

void reduce(Site& site) {
  std::vector<int64_t> axes = site.integers("axes", 1).value_or(std::vector<int64_t>());
  if (axes.empty()) {
    if (site.node.integer("noop_with_empty_axes", 0) != 0) {
      const std::string& op = site.node.op;
      if (op == "ReduceSum" || op == "ReduceMean" || op == "ReduceMax" || op == "ReduceMin" ||
          op == "ReduceProd")
        return site.same(0, site.in(0));
      site.refuse("noop_with_empty_axes", "1 without axes is not supported for " + op);
    }
    axes.resize(size_t(site.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = site.axes(axes, site.rank(0));
  const bool keep = site.node.integer("keepdims", 1) != 0;
  site.drop_inputs_from(1);
  site.erase({"noop_with_empty_axes"});
  if (axes.empty()) return site.same(0, site.in(0));  // a scalar
  site.node.attributes["axes"] = axes;
  site.node.attributes["keepdims"] = int64_t(keep);
  site.set(0, site.dtype(0), without(site.dims(0), axes, keep));
}

void arg_reduce(Site& site) {
  const int64_t axis = site.axis(site.node.integer("axis", 0), site.rank(0));
  site.node.attributes["axis"] = axis;
  site.set(0, DType::kI64, without(site.dims(0), {axis}, site.node.integer("keepdims", 1) != 0));
}

void softmax(Site& site) {
  if (site.rank(0) == 0) site.corrupt("its input is a scalar");
  const int64_t rank = site.rank(0), given = site.node.integer("axis", -1);
  // The flattening form allows axis == rank: then every row is one element.
  const bool flatten = site.node.integer("flatten", 0) != 0;
  const int64_t axis = flatten && given == rank ? rank : site.axis(given, rank);
  if (flatten) {
    site.erase({"flatten"});
    int64_t wide = -1, count = 0;  // dimensions from axis on that are not 1
    for (int64_t i = axis; i < rank; i++) {
      if (site.dims(0)[size_t(i)] == Dim(1)) continue;
      count++;
      wide = i;
    }
    if (count > 1 || axis == rank) {
      const Dims dims = site.dims(0);
      const Dim rows = product(Dims(dims.begin(), dims.begin() + axis)),
                columns = product(Dims(dims.begin() + axis, dims.end()));
      const ValueId flat = site.reshape(site.in(0), {rows, columns});
      const ValueId result = site.make(site.node.op, {flat}, {{"axis", int64_t(1)}});
      return site.same(0, site.reshape(result, dims));
    }
    site.node.attributes["axis"] = count == 0 ? rank - 1 : wide;
  } else {
    site.node.attributes["axis"] = axis;
  }
  site.set(0, site.dtype(0), site.dims(0));
}

/// 1 at the first largest element along the axis, 0 elsewhere.
void hard_max(Site& site) {
  const bool flatten = site.node.integer("flatten", 0) != 0;
  const Dims dims = site.dims(0);
  ValueId x = site.in(0);
  int64_t axis = site.axis(site.node.integer("axis", -1), site.rank(0));
  if (flatten) {
    x = site.reshape(x, {product(Dims(dims.begin(), dims.begin() + axis)),
                         product(Dims(dims.begin() + axis, dims.end()))});
    axis = 1;
  }
  const DType dtype = site.dtype(0);
  const ValueId largest = site.make("ArgMax", {x}, {{"axis", axis}, {"keepdims", int64_t(0)}});
  float pair[2] = {0, 1};
  const ValueId values = site.make("Cast", {site.constant(make_constant(DType::kF32, {2}, pair))},
                                   {{"to", int64_t(dtype)}});
  const Dim depth = site.run().value(x).dims[size_t(axis)];
  if (!depth.is_static())
    site.refuse("axis", "its dimension is symbolic (" + depth.text() + ")", "bind it with --dim");
  const ValueId hot =
      site.make("OneHot", {largest, site.scalar(DType::kI64, double(*depth.value())), values},
                {{"axis", axis}});
  site.same(0, site.reshape(hot, dims));
}

}  // namespace

void add_reduce_rules(InferTable& table) {
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    table[op] = reduce;
  }
  table["ArgMax"] = arg_reduce;
  table["ArgMin"] = arg_reduce;
  table["Softmax"] = softmax;
  table["LogSoftmax"] = softmax;
  table["Hardmax"] = hard_max;
}

}  // namespace ingot::graph
