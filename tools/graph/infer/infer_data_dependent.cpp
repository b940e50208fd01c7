// tools/graph/infer/infer_data_dependent.cpp - operators whose results are as large as the data
// makes them: their last output is the number found, and a symbol stands for it. Memory is planned
// for the most.
#include <algorithm>
#include <cstring>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

constexpr int64_t kMaxFolded = 1 << 20;

/// The number found, behind `others` results.
ValueId add_count(Site& site, size_t others) {
  site.node.outputs.resize(others, kAbsent);
  std::string name;
  for (const ValueId id : site.node.outputs)
    if (id != kAbsent && name.empty()) name = site.run().value(id).name;
  const ValueId count = site.model().add_value(name + ".count", DType::kI64);
  site.node.outputs.push_back(count);
  site.set(others, DType::kI64, {});
  return count;
}

bool is_zero(const Constant& c, int64_t at) {
  const size_t bytes = size_t(dtype_bytes(c.dtype));
  std::vector<uint8_t> element(c.as<uint8_t>() + size_t(at) * bytes,
                               c.as<uint8_t>() + size_t(at + 1) * bytes);
  const bool is_float = c.dtype == DType::kF32 || c.dtype == DType::kF16 ||
                        c.dtype == DType::kBF16 || c.dtype == DType::kF64;
  if (is_float) element.back() &= 0x7f;  // minus zero
  return std::all_of(element.begin(), element.end(), [](uint8_t byte) { return byte == 0; });
}

Constant coordinates(const Constant& c) {
  std::vector<std::vector<int64_t>> rows(c.dims.size());
  for (int64_t i = 0; i < c.elements(); i++) {
    if (is_zero(c, i)) continue;
    int64_t rest = i;
    for (size_t d = c.dims.size(); d-- > 0; rest /= c.dims[d]) rows[d].push_back(rest % c.dims[d]);
  }
  std::vector<int64_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  const int64_t count = rows.empty() ? 0 : int64_t(rows[0].size());
  return make_constant(DType::kI64, {int64_t(rows.size()), count}, all.data());
}

void nonzero(Site& site) {
  if (site.node.outputs.size() == 2 && site.settled()) return;  // in normal form
  const Constant* constant = site.model().constant(site.in(0));
  if (constant && constant->elements() <= kMaxFolded)
    return site.same(0, site.constant(coordinates(*constant)));
  const int64_t rank = site.rank(0);
  const Dim most = product(site.dims(0));
  const ValueId count = add_count(site, 1);
  site.set(0, DType::kI64, {rank, site.measure(count, most)});
}

/// The elements, or slices along an axis, where the condition holds.
void compress(Site& site) {
  if (site.dtype(1) != DType::kBool || site.rank(1) != 1)
    site.corrupt("its condition is " + std::string(dtype_text(site.dtype(1))) + " " +
                 text(site.dims(1)) + ", expected bool [n]");
  ValueId x = site.in(0);
  int64_t axis = 0;
  if (site.node.has("axis"))
    axis = site.axis(site.node.integer("axis", 0), site.rank(0));
  else
    x = site.reshape(x, {product(site.dims(0))});
  const ValueId found = site.make("NonZero", {site.in(1)});
  const Dim count = site.run().value(found).dims.at(1);
  site.finish("Gather", {x, site.reshape(found, {count})}, {{"axis", axis}});
}

void unique(Site& site) {
  if (site.node.outputs.size() == 5 && site.settled()) return;  // in normal form
  Dims dims = site.dims(0);
  const bool flat = !site.node.has("axis");
  const int64_t axis = flat ? 0 : site.axis(site.node.integer("axis", 0), site.rank(0));
  const Dim most = flat ? product(dims) : dims[size_t(axis)];
  site.node.attributes["axis"] = axis;
  site.node.attributes["flat"] = int64_t(flat);
  const ValueId count = add_count(site, 4);
  const Dim n = site.measure(count, most);
  if (flat) dims = {n};
  dims[size_t(axis)] = n;
  site.set(0, site.dtype(0), dims);
  site.set(1, DType::kI64, {n});
  site.set(2, DType::kI64, {most});
  site.set(3, DType::kI64, {n});
}

void non_max_suppression(Site& site) {
  if (site.node.outputs.size() == 2 && site.settled()) return;  // in normal form
  const Dims boxes = site.dims(0), scores = site.dims(1);
  if (boxes.size() != 3 || scores.size() != 3)
    site.corrupt("its boxes are " + text(boxes) + " and its scores " + text(scores) +
                 ", expected [B, N, 4] and [B, C, N]");
  Dim each = boxes[1];
  if (site.has(2)) {
    const auto most = site.run().contents(site.in(2));
    if (most && most->size() == 1 && (*most)[0].dim())
      each = min(each, max(*(*most)[0].dim(), Dim(0)));
  } else {
    each = 0;
  }
  const ValueId count = add_count(site, 1);
  site.set(0, DType::kI64, {site.measure(count, scores[0] * scores[1] * each), 3});
}

/// The number itself, written by an instruction so that a symbol may be measured by it.
void measure(Site& site) { site.set(0, DType::kI64, {}); }

}  // namespace

void add_measured_rules(InferTable& table) {
  table["NonZero"] = nonzero;
  table["Compress"] = compress;
  table["Unique"] = unique;
  table["NonMaxSuppression"] = non_max_suppression;
  table["Measure"] = measure;
}

}  // namespace ingot::graph
