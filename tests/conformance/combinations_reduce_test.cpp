// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax, normalizations, sorting and what is as large as the data makes it: over
// their attributes.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/data_dependent.h"
#include "runtime/op/normalize.h"
#include "runtime/op/reduce.h"
#include "runtime/op/softmax.h"
#include "runtime/op/sort.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

std::vector<DType> types(int last = 13) {
  std::vector<DType> all;
  for (int d = 1; d <= last; d++) all.push_back(DType(d));
  return all;
}
const std::vector<DType> kReals = {DType::kF32, DType::kF16, DType::kBF16};

Tolerance of(DType d) {
  if (d == DType::kF16) return {2e-3, 1e-3};
  if (d == DType::kBF16) return {1.6e-2, 1e-2};
  if (d == DType::kF64) return {1e-12, 1e-12};
  return {4e-6, 4e-6};
}
bool is_real(DType d) { return d <= DType::kF64; }

Dims reduced(const Dims& x, uint32_t axes, bool keep) {
  Dims y;
  for (size_t i = 0; i < x.size(); i++) {
    if (!(axes >> i & 1))
      y.push_back(x[i]);
    else if (keep)
      y.push_back(1);
  }
  return y;
}

/// What a tensor holds beside ordinary numbers.
enum class Odd { kNone, kNan, kInfinite, kMinusInfinite, kAllMinusInfinite, kEqual };
const std::vector<Odd> kOdds = {
    Odd::kNone, Odd::kNan, Odd::kInfinite, Odd::kMinusInfinite, Odd::kAllMinusInfinite,
    Odd::kEqual};
void spoil(Tensor& t, Odd odd) {
  const int64_t n = t.view().elements();
  for (int64_t i = 0; i < n; i++) {
    if (odd == Odd::kNan && i * 7 % 11 == 3) t.set(i, NAN);
    if (odd == Odd::kInfinite && i * 7 % 13 == 3) t.set(i, INFINITY);
    if (odd == Odd::kMinusInfinite && i % 3 == 1) t.set(i, -INFINITY);
    if (odd == Odd::kAllMinusInfinite) t.set(i, -INFINITY);
    if (odd == Odd::kEqual) t.set(i, 1);
  }
}

}  // namespace

TEST_CASE("combinations: reduce") {
  Combinations all("reduce", 6000, 3, 16);
  const auto kind = all.axis("kind", 10);
  const auto dtype = all.axis<DType>("dtype", types());
  const auto dims = all.axis<Dims>(
      "dims", {{3, 5, 7}, {2, 1, 33}, {40, 3, 1}, {1, 17, 16}, {0, 3, 2}, {2, 70, 3}});
  const auto axes = all.axis("axes", 8);
  const auto keep = all.axis<bool>("keep", {false, true});
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto odd = all.axis<Odd>("values", kOdds);
  ReduceAttributes t;
  all.run([&](Case& c) {
    t = {ReduceKind(kind()), uint32_t(axes())};
    const bool real = is_real(dtype());
    if (odd() != Odd::kNone && odd() != Odd::kEqual && !real) return false;
    c.op = OpCode::kReduce, c.attributes = &t, c.tolerance = of(dtype());
    c.tolerance.relative *= 5, c.tolerance.absolute *= 5;
    c.inputs = {Tensor(dtype(), dims(), x_padding())
                    .random(uint32_t(axes()),
                            real                      ? 0.5
                            : dtype() == DType::kBool ? 0
                                                      : -4,
                            real                      ? 1.5
                            : dtype() == DType::kBool ? 1
                                                      : 5)};
    spoil(c.inputs[0], odd());
    c.outputs = {Tensor(dtype(), reduced(dims(), t.axes, keep()))};
    return true;
  });
}

TEST_CASE("combinations: arg_reduce") {
  Combinations all("arg_reduce", 3000, 3, 8);
  const auto largest = all.axis<bool>("largest", {false, true});
  const auto axis = all.axis<uint32_t>("axis", {0, 1, 2});
  const auto last = all.axis<bool>("select_last", {false, true});
  const auto dims =
      all.axis<Dims>("dims", {{3, 5, 7}, {2, 1, 33}, {40, 3, 1}, {1, 17, 16}, {2, 70, 3}});
  const auto keep = all.axis<bool>("keep", {false, true});
  const auto dtype = all.axis<DType>("dtype", types());
  const auto index = all.axis<DType>("index_type", {DType::kI64, DType::kI32});
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto odd = all.axis<Odd>("values", kOdds);
  ArgReduceAttributes t;
  all.run([&](Case& c) {
    if (odd() != Odd::kNone && odd() != Odd::kEqual && !is_real(dtype())) return false;
    t = {largest(), axis(), last()};
    c.op = OpCode::kArgReduce, c.attributes = &t;
    const bool is_bool = dtype() == DType::kBool;
    c.inputs = {
        Tensor(dtype(), dims(), x_padding()).random(axis(), is_bool ? 0 : -5, is_bool ? 1 : 5)};
    spoil(c.inputs[0], odd());
    c.outputs = {Tensor(index(), reduced(dims(), 1u << axis(), keep()))};
    return true;
  });
}

TEST_CASE("combinations: softmax") {
  Combinations all("softmax", 2500, 3, 8);
  const auto log = all.axis<bool>("log", {false, true});
  const auto axis = all.axis<uint32_t>("axis", {0, 1, 2});
  const auto dims = all.axis<Dims>(
      "dims", {{3, 5, 7}, {2, 1, 33}, {40, 3, 1}, {1, 17, 16}, {2, 70, 3}, {2, 3, 300}});
  const auto dtype = all.axis<DType>("dtype", kReals);
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 3});
  const auto odd = all.axis<Odd>("values", kOdds);
  const auto range = all.axis<double>("range", {1, 9, 200, 6e4});
  SoftmaxAttributes t;
  all.run([&](Case& c) {
    t = {axis(), log()};
    c.op = OpCode::kSoftmax, c.attributes = &t, c.tolerance = of(dtype());
    c.inputs = {Tensor(dtype(), dims(), x_padding()).random(axis(), -range(), range())};
    spoil(c.inputs[0], odd());
    c.outputs = {Tensor(dtype(), dims(), y_padding())};
    return true;
  });
}

TEST_CASE("combinations: normalize") {
  Combinations all("normalize", 4000, 3, 8);
  const auto kind = all.axis<NormKind>(
      "kind", {NormKind::kLayer, NormKind::kRms, NormKind::kInstance, NormKind::kGroup});
  const auto axis = all.axis<uint32_t>("axis", {0, 1, 2, 3});
  const auto groups = all.axis<uint32_t>("groups", {1, 2, 4, 8});
  const auto dims = all.axis<Dims>("dims", {{2, 3, 5, 8},
                                            {1, 7, 1, 24},
                                            {3, 1, 1, 1},
                                            {2, 33, 40},
                                            {3, 16},
                                            {2, 4, 130},
                                            {1, 2, 17, 4}});
  const auto scale = all.axis<bool>("scale", {false, true});
  const auto bias = all.axis<bool>("bias", {false, true});
  const auto epsilon = all.axis<float>("epsilon", {1e-5f, 0, 0.5f});
  const auto dtype = all.axis<DType>("dtype", kReals);
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 5});
  const auto offset = all.axis<double>("offset", {0, 30});
  NormalizeAttributes t;
  all.run([&](Case& c) {
    t = {kind(), axis(), epsilon(), groups()};
    const bool rows = kind() == NormKind::kLayer || kind() == NormKind::kRms;
    if (rows ? groups() != 1 || axis() >= dims().size() : axis() != 0) return false;
    if (kind() == NormKind::kInstance && groups() != 1) return false;
    if (epsilon() == 0 && dims().back() < 2) return false;
    Dims parameters = rows ? Dims(dims().begin() + axis(), dims().end()) : Dims{dims().back()};
    c.op = OpCode::kNormalize, c.attributes = &t, c.tolerance = of(dtype());
    if (dtype() == DType::kF32) c.tolerance = {4e-5, 4e-5};
    c.inputs = {Tensor(dtype(), dims(), x_padding()).random(5, offset() - 2, offset() + 3),
                scale() ? Tensor(dtype(), parameters).random(1, 0.5, 2) : Tensor(),
                bias() ? Tensor(dtype(), parameters).random(2) : Tensor()};
    c.outputs = {Tensor(dtype(), dims(), y_padding())};
    return true;
  });
}

TEST_CASE("combinations: topk and cumsum") {
  Combinations top("topk", 3000, 3, 8);
  const auto axis = top.axis<uint32_t>("axis", {0, 1, 2});
  const auto largest = top.axis<bool>("largest", {false, true});
  const auto sorted = top.axis<bool>("sorted", {false, true});
  const auto k = top.axis("k", 4);  // none, one, half, all
  const auto dims = top.axis<Dims>(
      "dims", {{3, 5, 7}, {2, 1, 33}, {40, 3, 1}, {1, 17, 16}, {2, 300, 3}, {2, 2, 70}});
  const auto dtype = top.axis<DType>("dtype", types(12));
  const auto odd = top.axis<Odd>("values", kOdds);
  TopKAttributes t;
  top.run([&](Case& c) {
    if (odd() != Odd::kNone && odd() != Odd::kEqual && !is_real(dtype())) return false;
    t = {axis(), largest(), sorted()};
    Dims y = dims();
    y[axis()] = k() == 0 ? 0 : k() == 1 ? 1 : k() == 2 ? (y[axis()] + 1) / 2 : y[axis()];
    c.op = OpCode::kTopK, c.attributes = &t;
    c.inputs = {Tensor(dtype(), dims()).random(uint32_t(k()), -9, 9)};
    spoil(c.inputs[0], odd());
    c.outputs = {Tensor(dtype(), y), Tensor(DType::kI64, y)};
    return true;
  });

  Combinations sum("cumsum", 3000, 3, 8);
  const auto along = sum.axis<uint32_t>("axis", {0, 1, 2});
  const auto exclusive = sum.axis<bool>("exclusive", {false, true});
  const auto reverse = sum.axis<bool>("reverse", {false, true});
  const auto shape =
      sum.axis<Dims>("dims", {{3, 5, 7}, {2, 1, 33}, {40, 3, 1}, {1, 17, 16}, {0, 2, 3}});
  const auto type = sum.axis<DType>("dtype", types(12));
  const auto from = sum.axis<int64_t>("x_padding", {0, 3});
  const auto to = sum.axis<int64_t>("y_padding", {0, 3});
  CumSumAttributes s;
  sum.run([&](Case& c) {
    s = {along(), exclusive(), reverse()};
    c.op = OpCode::kCumSum, c.attributes = &s, c.tolerance = of(type());
    c.tolerance.relative *= 20, c.tolerance.absolute *= 20;
    c.inputs = {Tensor(type(), shape(), from()).random(3, -3, 4)},
    c.outputs = {Tensor(type(), shape(), to())};
    return true;
  });
}

TEST_CASE("combinations: nonzero and unique") {
  Combinations all("unique", 3000, 3, 8);
  const auto dtype = all.axis<DType>("dtype", types());
  const auto sorted = all.axis<bool>("sorted", {false, true});
  const auto axis = all.axis<int64_t>("axis", {-1, 0, 1, 2});
  const auto dims = all.axis<Dims>("dims", {{4, 2, 3}, {1, 30, 1}, {17, 1, 2}, {2, 3, 4}});
  const auto wanted = all.axis("wanted", 16);
  const auto high = all.axis<double>("values", {0, 1, 3, 100});
  const auto odd = all.axis<Odd>("odd", {Odd::kNone, Odd::kNan, Odd::kMinusInfinite});
  UniqueAttributes t;
  all.run([&](Case& c) {
    if (odd() != Odd::kNone && !is_real(dtype())) return false;
    if (dtype() == DType::kBool && high() > 1) return false;
    t = {uint32_t(axis() < 0 ? 0 : axis()), axis() < 0, sorted()};
    Tensor x = Tensor(dtype(), dims()).random(5, 0, high());
    spoil(x, odd());
    const int64_t m = t.flat ? x.view().elements() : dims()[t.axis];
    c.op = OpCode::kUnique, c.attributes = &t, c.tolerance = {0, 0}, c.inputs = {x};
    c.outputs = {wanted() & 1 ? Tensor(dtype(), t.flat ? Dims{m} : dims()) : Tensor()};
    for (int i = 1; i <= 3; i++)
      c.outputs.push_back(wanted() >> i & 1 ? Tensor(DType::kI64, {m}) : Tensor());
    c.outputs.push_back(Tensor(DType::kI64, {}));
    return true;
  });
}

TEST_CASE("combinations: nms") {
  Combinations all("nms", 2500, 3, 8);
  const auto center = all.axis<bool>("center", {false, true});
  const auto batch = all.axis<int64_t>("batch", {1, 2});
  const auto classes = all.axis<int64_t>("classes", {1, 3});
  const auto boxes = all.axis<int64_t>("boxes", {0, 1, 7, 40});
  const auto most = all.axis<int64_t>("most", {-1, 0, 2, 100});  // -1: no operand
  const auto overlap = all.axis<double>("overlap", {-1, 0, 0.4, 1});
  const auto score = all.axis<double>("score", {-1, 0.3, 2});
  const auto room = all.axis<bool>("room for all", {false, true});
  const auto equal = all.axis<bool>("equal scores", {false, true});
  const auto odd = all.axis<Odd>("scores", {Odd::kNone, Odd::kNan, Odd::kInfinite});
  NonMaxSuppressionAttributes t;
  all.run([&](Case& c) {
    t = {center()};
    const int64_t every = batch() * classes() * boxes(), rows = room() ? every
                                                                : every < 3 * batch() * classes()
                                                                    ? every
                                                                    : 3 * batch() * classes();
    Tensor scores = Tensor(DType::kF32, {batch(), classes(), boxes()}).random(11, 0, 1);
    if (equal()) scores.values({0.5, 0.25, 0.5});
    spoil(scores, odd());
    c.op = OpCode::kNonMaxSuppression, c.attributes = &t, c.tolerance = {0, 0};
    c.inputs = {Tensor(DType::kF32, {batch(), boxes(), 4}).random(uint32_t(boxes()), 0.25, 4),
                scores, most() < 0 ? Tensor() : Tensor(DType::kI64, {1}).values({double(most())}),
                overlap() < 0 ? Tensor() : Tensor(DType::kF32, {1}).values({overlap()}),
                score() < 0 ? Tensor() : Tensor(DType::kF32, {}).values({score()})};
    c.outputs = {Tensor(DType::kI64, {rows, 3}), Tensor(DType::kI64, {})};
    return true;
  });
}
