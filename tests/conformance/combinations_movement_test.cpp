// SPDX-License-Identifier: Apache-2.0
// What moves, joins, cuts, repeats, gathers and scatters elements, and resizing: over their
// attributes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/op/concat.h"
#include "runtime/op/copy.h"
#include "runtime/op/gather.h"
#include "runtime/op/pad.h"
#include "runtime/op/resize.h"
#include "runtime/op/slice.h"
#include "runtime/op/transpose.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
const std::vector<DType> kWidths = {DType::kF32, DType::kU8, DType::kF16, DType::kI64};

Tensor numbered(DType dtype, const Dims& dims, int64_t padding = 0) {
  Tensor t(dtype, dims, padding);
  for (int64_t i = 0; i < t.view().elements(); i++) t.set(i, double(i % 251));
  return t;
}

/// Every order of `rank` dimensions.
std::vector<std::vector<uint8_t>> orders(int rank) {
  std::vector<uint8_t> perm;
  for (int i = 0; i < rank; i++) perm.push_back(uint8_t(i));
  std::vector<std::vector<uint8_t>> all;
  do all.push_back(perm);
  while (std::next_permutation(perm.begin(), perm.end()));
  return all;
}

}  // namespace

TEST_CASE("combinations: transpose") {
  Combinations all("transpose", 2500, 3, 8);
  const auto perm = all.axis<std::vector<uint8_t>>("perm", orders(4));
  const auto dims = all.axis<Dims>(
      "dims", {{3, 17, 2, 5}, {1, 16, 16, 3}, {2, 1, 33, 18}, {5, 4, 1, 1}, {2, 3, 4, 64}});
  const auto lead = all.axis<int64_t>("lead", {0, 1, 3});  // 0: four dimensions
  const auto dtype = all.axis<DType>("dtype", kWidths);
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 1});
  TransposeAttributes t;
  all.run([&](Case& c) {
    t = {};
    Dims x = dims(), y;
    std::vector<uint8_t> order = perm();
    if (lead()) {
      x.insert(x.begin() + 1, lead());
      for (uint8_t& i : order) i = uint8_t(i + (i > 0));
      order.insert(order.begin() + order[0] % 4, 1);
    }
    t.rank = uint32_t(x.size());
    for (size_t i = 0; i < x.size(); i++) t.perm[i] = order[i], y.push_back(x[order[i]]);
    c.op = OpCode::kTranspose, c.attributes = &t;
    c.inputs = {numbered(dtype(), x, x_padding())}, c.outputs = {Tensor(dtype(), y, y_padding())};
    return true;
  });
}

TEST_CASE("combinations: slice") {
  struct Cut {
    int64_t start, step, count;
  };
  Combinations all("slice", 2500, 3, 8);
  const std::vector<Cut> cuts = {{0, 1, 5},  {1, 1, 3}, {4, -1, 5}, {0, 2, 3},
                                 {4, -2, 2}, {2, 7, 1}, {3, 1, 0},  {1, 3, 2}};
  const Axis<Cut> cut[] = {all.axis<Cut>("first", cuts), all.axis<Cut>("second", cuts),
                           all.axis<Cut>("third", cuts)};
  // times five, so that the last dimension is long
  const auto last = all.axis<int64_t>("last", {1, 4, 16, 33});
  const auto dtype = all.axis<DType>("dtype", kWidths);
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 1});
  SliceAttributes t;
  all.run([&](Case& c) {
    t = {};
    t.rank = 3;
    Dims y;
    for (int i = 0; i < 3; i++)
      t.starts[i] = cut[i]().start, t.steps[i] = cut[i]().step, y.push_back(cut[i]().count);
    if (cut[2]().step == 1 && y[2]) y[2] += 5 * (last() - 1);
    if (cut[2]().step < 0) t.starts[2] += 5 * (last() - 1);
    c.op = OpCode::kSlice, c.attributes = &t;
    c.inputs = {numbered(dtype(), {5, 5, 5 * last()}, x_padding())},
    c.outputs = {Tensor(dtype(), y, y_padding())};
    return true;
  });
}

TEST_CASE("combinations: pad") {
  struct Border {
    int64_t before, after;
  };
  Combinations all("pad", 4000, 3, 8);
  const std::vector<Border> borders = {{0, 0}, {1, 2}, {3, 0}, {-1, 2}, {2, -2}, {-2, -1}, {0, 3}};
  const auto mode = all.axis<PadMode>(
      "mode", {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap});
  const Axis<Border> border[] = {all.axis<Border>("first", borders),
                                 all.axis<Border>("second", borders),
                                 all.axis<Border>("third", borders)};
  const auto dims =
      all.axis<Dims>("dims", {{4, 5, 6}, {1, 7, 16}, {5, 1, 33}, {4, 4, 1}, {1, 1, 4}});
  const auto dtype =
      all.axis<DType>("dtype", {DType::kF32, DType::kU8, DType::kF16, DType::kI64, DType::kBool});
  const auto value = all.axis("value", 3);  // attribute, operand, both
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 1});
  PadAttributes t;
  all.run([&](Case& c) {
    t = {};
    t.mode = mode(), t.rank = 3;
    Dims y = dims();
    for (int i = 0; i < 3; i++) {
      t.before[i] = border[i]().before, y[size_t(i)] += border[i]().before + border[i]().after;
      if (y[size_t(i)] < 0) return false;
    }
    if (value() != 1) t.value = dtype() == DType::kBool ? 1 : 7.5f;
    c.op = OpCode::kPad, c.attributes = &t;
    c.inputs = {numbered(dtype(), dims(), x_padding())},
    c.outputs = {Tensor(dtype(), y, y_padding())};
    if (value() != 0) c.inputs.push_back(Tensor(dtype(), {}).values({1}));
    return true;
  });
}

TEST_CASE("combinations: concat, copy and tile") {
  Combinations joined("concat", 1000, 3, 8);
  const auto axis = joined.axis<uint32_t>("axis", {0, 1, 2});
  const auto extents =
      joined.axis<Dims>("extents", {{3}, {1, 4}, {2, 0, 17}, {16, 16, 1}, {1, 1, 1, 1, 1}});
  const auto base = joined.axis<Dims>("dims", {{5, 6, 7}, {1, 1, 16}, {3, 2, 1}});
  const auto dtype = joined.axis<DType>("dtype", kWidths);
  const auto x_padding = joined.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = joined.axis<int64_t>("y_padding", {0, 1});
  ConcatAttributes t;
  joined.run([&](Case& c) {
    t.axis = axis();
    int64_t sum = 0;
    Dims dims = base();
    for (const int64_t extent : extents()) {
      dims[axis()] = extent, sum += extent;
      c.inputs.push_back(numbered(dtype(), dims, x_padding() * (sum % 2)));
    }
    dims[axis()] = sum;
    c.op = OpCode::kConcat, c.attributes = &t, c.outputs = {Tensor(dtype(), dims, y_padding())};
    return true;
  });

  struct Shapes {
    Dims x, y;
  };
  Combinations copied("copy and tile", 1000, 3, 8);
  const auto tile = copied.axis<bool>("tile", {false, true});
  const auto shapes = copied.axis<Shapes>("dims", {{{6, 8}, {8, 6}},
                                                   {{2, 3, 32}, {6, 32}},
                                                   {{5, 7}, {35}},
                                                   {{1}, {1, 1}},
                                                   {{2, 3}, {4, 9}},
                                                   {{4, 1, 16}, {8, 5, 16}},
                                                   {{2, 1, 3}, {2, 6, 3}},
                                                   {{2, 5}, {2, 5}}});
  const auto width = copied.axis<DType>("dtype", kWidths);
  const auto from = copied.axis<int64_t>("x_padding", {0, 1, 3});
  const auto to = copied.axis<int64_t>("y_padding", {0, 1, 2});
  const CopyAttributes none;
  const TileAttributes no_tile;
  copied.run([&](Case& c) {
    c.op = tile() ? OpCode::kTile : OpCode::kCopy,
    c.attributes = tile() ? static_cast<const void*>(&no_tile) : &none;
    c.inputs = {numbered(width(), shapes().x, from())},
    c.outputs = {Tensor(width(), shapes().y, to())};
    return true;
  });
}

TEST_CASE("combinations: resize") {
  struct Shapes {
    Dims x, y;
  };
  Combinations all("resize", 6000, 3, 16);
  const auto mode =
      all.axis<ResizeMode>("mode", {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic});
  const auto coordinate = all.axis("coordinate", 5);
  const auto nearest = all.axis("nearest", 4);
  const auto exclude = all.axis<bool>("exclude_outside", {false, true});
  const auto cubic = all.axis<float>("cubic_a", {-0.75f, -0.5f, 0.25f});
  const auto shapes = all.axis<Shapes>("dims", {{{1, 5, 7, 3}, {1, 10, 14, 3}},
                                                {{2, 5, 7, 19}, {2, 8, 5, 19}},
                                                {{1, 8, 8, 16}, {1, 3, 20, 16}},
                                                {{2, 3, 9, 7}, {2, 3, 23, 37}},
                                                {{1, 2, 20, 33}, {1, 2, 6, 9}},
                                                {{9}, {4}},
                                                {{4}, {1}},
                                                {{1, 1, 6}, {1, 5, 1}},
                                                {{2, 3, 4, 5, 6}, {2, 6, 7, 3, 6}},
                                                {{2, 3, 4, 5}, {2, 5, 9, 2}},
                                                {{3, 4}, {3, 4}},
                                                {{1, 3, 1, 2}, {1, 3, 4, 8}}});
  // 0: from the extents; else what rounds down to them
  const auto scale = all.axis<float>("scale", {0, 1.0f, 1.9f});
  const auto dtype = all.axis<DType>("dtype", {DType::kF32, DType::kU8, DType::kF16, DType::kI64});
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 1});
  ResizeAttributes t;
  all.run([&](Case& c) {
    const bool is_nearest = mode() == ResizeMode::kNearest;
    if (!is_nearest && (dtype() != DType::kF32 || nearest() != 0)) return false;
    if (mode() != ResizeMode::kCubic && cubic() != -0.75f) return false;
    if (is_nearest && exclude()) return false;
    t = {};
    t.mode = mode(), t.coordinate = CoordinateMode(coordinate()),
    t.nearest = NearestMode(nearest());
    t.exclude_outside = exclude(), t.cubic_a = cubic(), t.rank = uint32_t(shapes().x.size());
    for (size_t i = 0; i < shapes().x.size(); i++)
      if (scale() != 0 && shapes().x[i] != shapes().y[i])
        t.scales[i] = (float(shapes().y[i]) + scale() - 1) / float(shapes().x[i]);
    c.op = OpCode::kResize, c.attributes = &t;
    c.tolerance = is_nearest ? Tolerance{0, 0} : Tolerance{1e-4, 1e-4};
    c.inputs = {is_nearest ? numbered(dtype(), shapes().x, x_padding())
                           : Tensor(dtype(), shapes().x, x_padding()).random(1)};
    c.outputs = {Tensor(dtype(), shapes().y, y_padding())};
    return true;
  });
}

TEST_CASE("combinations: gather and gather_elements") {
  Combinations all("gather", 3000, 3, 8);
  const auto elements = all.axis<bool>("elements", {false, true});
  const auto axis = all.axis<uint32_t>("axis", {0, 1, 2});
  const auto data = all.axis<Dims>("data", {{5, 6, 7}, {1, 4, 16}, {7, 1, 33}, {3, 9, 1}});
  const auto indices = all.axis<Dims>("indices", {{}, {1}, {4}, {2, 3}, {0}, {17}});
  const auto index_type = all.axis<DType>("index_type", {DType::kI32, DType::kI64});
  const auto dtype = all.axis<DType>("dtype", kWidths);
  // of gather_elements, outside the axis
  const auto smaller = all.axis<int64_t>("smaller", {0, 1});
  GatherAttributes g;
  GatherElementsAttributes e;
  all.run([&](Case& c) {
    g.axis = e.axis = axis();
    const int64_t extent = data()[axis()];
    Dims index = indices(), y = data();
    if (elements()) {
      if (index.size() > 1) return false;
      for (int64_t& d : y) d = d - smaller() > 0 ? d - smaller() : d;
      y[axis()] = index.empty() ? 1 : index[0];
      index = y;
    } else {
      if (smaller()) return false;
      y.erase(y.begin() + axis()), y.insert(y.begin() + axis(), index.begin(), index.end());
    }
    c.op = elements() ? OpCode::kGatherElements : OpCode::kGather;
    c.attributes = elements() ? static_cast<const void*>(&e) : &g;
    c.inputs = {numbered(dtype(), data()),
                Tensor(index_type(), index).random(3, double(-extent), double(extent - 1))};
    c.outputs = {Tensor(dtype(), y)};
    return true;
  });
}

TEST_CASE("combinations: gather_nd and scatter") {
  struct Shapes {
    Dims data, indices, updates;
    uint32_t batch;
  };
  Combinations all("gather_nd, scatter", 4000, 3, 8);
  const auto what =
      all.axis<OpCode>("op", {OpCode::kGatherNd, OpCode::kScatterNd, OpCode::kScatterElements});
  const auto shapes = all.axis<Shapes>("dims", {{{4, 5, 6}, {3, 1}, {3, 5, 6}, 0},
                                                {{4, 5, 6}, {3, 2}, {3, 6}, 0},
                                                {{4, 5, 6}, {2, 2, 3}, {2, 2}, 0},
                                                {{4, 5, 6}, {3}, {}, 0},
                                                {{2, 5, 6}, {2, 1}, {2, 6}, 1},
                                                {{2, 4, 5, 6}, {2, 4, 3, 1}, {2, 4, 3, 6}, 2},
                                                {{9}, {40, 1}, {40}, 0},
                                                {{3, 1, 17}, {5, 2}, {5, 17}, 0}});
  const auto reduction = all.axis("reduction", 5);
  const auto axis = all.axis<uint32_t>("axis", {0, 1, 2});
  // indices along the axis, of scatter_elements
  const auto many = all.axis<int64_t>("many", {1, 3, 30});
  const auto dtype = all.axis<DType>("dtype", {DType::kF32, DType::kF16, DType::kBF16, DType::kF64,
                                               DType::kI8, DType::kU8, DType::kI32, DType::kI64});
  const auto index_type = all.axis<DType>("index_type", {DType::kI32, DType::kI64});
  const auto odd = all.axis<bool>("odd", {false, true});  // NaN among what is reduced
  GatherNdAttributes g;
  ScatterNdAttributes s;
  ScatterElementsAttributes e;
  all.run([&](Case& c) {
    const Shapes& of = shapes();
    const bool elements = what() == OpCode::kScatterElements, gathers = what() == OpCode::kGatherNd;
    if (odd() && (dtype() > DType::kF64 || gathers)) return false;
    if (!gathers && !elements && of.batch) return false;
    if (gathers && reduction()) return false;
    if (!elements && (axis() || many() != 1)) return false;
    g.batch_dims = of.batch, s.reduction = e.reduction = ScatterReduction(reduction()),
    e.axis = axis();
    c.op = what(), c.tolerance = {2e-2, 1e-2};
    if (dtype() == DType::kF32) c.tolerance = {1e-5, 1e-5};
    c.attributes = gathers    ? static_cast<const void*>(&g)
                   : elements ? static_cast<const void*>(&e)
                              : &s;
    Tensor data = Tensor(dtype(), of.data).random(3, 0, 9);
    Dims index = of.indices, updates = of.updates;
    int64_t least = 1000;
    if (elements) {
      if (axis() >= of.data.size()) return false;
      index = of.data, index[axis()] = many(), updates = index, least = of.data[axis()];
    } else {
      for (int64_t i = 0; i < index.back(); i++)
        least = std::min(least, of.data[size_t(of.batch + i)]);
    }
    const Tensor where = Tensor(index_type(), index).random(5, double(-least), double(least - 1));
    c.inputs = {data, where};
    if (gathers) {
      c.outputs = {Tensor(dtype(), updates)};
      return true;
    }
    Tensor added = Tensor(dtype(), updates).random(8, 0, 2);
    for (int64_t i = 0; odd() && i < added.view().elements(); i += 7)
      added.set(i, i % 2 ? NAN : INFINITY);
    c.inputs.push_back(added), c.outputs = {Tensor(dtype(), of.data)};
    return true;
  });
}
