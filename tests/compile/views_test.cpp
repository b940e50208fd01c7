// SPDX-License-Identifier: Apache-2.0
// Views, alone: what becomes one, what stays an instruction.
#include "tools/compile/plan/views.h"

#include <doctest/doctest.h>

#include "tests/compile/lowered_maker.h"

namespace ingot::convert {
namespace {

bool is_view(const LoweredMaker& m, int32_t value, int32_t of) {
  return m.at(value).alias == AliasKind::kView && m.at(value).alias_of == of;
}

}  // namespace

TEST_CASE("eliminate_views: a concat of channels is written in place by its producers") {
  LoweredMaker m;
  const int32_t x = m.input("x", {1, 4, 4, 3}), a = m.value("a", {1, 4, 4, 3}),
                b = m.value("b", {1, 4, 4, 3});
  const int32_t c = m.value("c", {1, 4, 4, 6}), y = m.output("y", {1, 4, 4, 6});
  m.relu(x, a), m.relu(x, b), m.concat(3, {a, b}, c), m.relu(c, y);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(m.count() == 3);
  CHECK(is_view(m, a, c));
  CHECK(is_view(m, b, c));
  CHECK(m.at(b).alias_offset == SymbolicDim(3));
  CHECK(m.at(a).row_stride == SymbolicDim(6));
  CHECK(report.views == 1);
  check_lowered(m.lowered, false);
}

TEST_CASE(
    "eliminate_views: a part that cannot be written in place is copied into its slot, the others "
    "are not") {
  LoweredMaker m;
  const int32_t x = m.input("x", {1, 4, 4, 3}), a = m.value("a", {1, 4, 4, 3}),
                s = m.value("s", {1, 4, 4, 1});
  const int32_t c = m.value("c", {1, 4, 4, 7}), y = m.output("y", {1, 4, 4, 7});
  m.relu(x, a), m.reduce(x, s, 8), m.concat(3, {a, x, s}, c), m.relu(c, y);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  REQUIRE(m.count() == 5);
  CHECK(is_view(m, a, c));
  CHECK(m.at(x).alias == AliasKind::kNone);  // an input is never written
  CHECK(m.at(s).alias == AliasKind::kNone);  // reductions write dense rows
  CHECK(m.op(2) == OpCode::kCopy);
  CHECK(m.op(3) == OpCode::kCopy);
  check_lowered(m.lowered, false);
}

TEST_CASE("eliminate_views: a concat of nothing that can move stays a concat") {
  LoweredMaker m;
  const int32_t x = m.input("x", {1, 4, 4, 3}), c = m.output("c", {1, 4, 4, 6});
  m.concat(3, {x, x}, c);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  REQUIRE(m.count() == 1);
  CHECK(m.op(0) == OpCode::kConcat);
  CHECK_FALSE(m.lowered.subprograms[0].instructions[0].note.empty());
}

TEST_CASE("eliminate_views: nested concats are one storage") {
  LoweredMaker m;
  const int32_t x = m.input("x", {1, 2, 2, 2}), a = m.value("a", {1, 2, 2, 2}),
                b = m.value("b", {1, 2, 2, 2});
  const int32_t c = m.value("c", {1, 2, 2, 4}), d = m.value("d", {1, 2, 2, 2}),
                e = m.value("e", {1, 2, 2, 6}), y = m.output("y", {1, 2, 2, 6});
  m.relu(x, a), m.relu(x, b), m.concat(3, {a, b}, c), m.slice(c, d, {0, 0, 0, 1});
  const int32_t f = m.value("f", {1, 2, 2, 2});
  m.relu(d, f), m.concat(3, {f, c}, e), m.relu(e, y);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(m.count() == 4);
  CHECK(is_view(m, c, e));
  CHECK(is_view(m, a, c));
  CHECK(is_view(m, d, c));
  CHECK(m.at(c).alias_offset == SymbolicDim(2));
  CHECK(m.at(a).row_stride == SymbolicDim(6));
  CHECK(m.at(d).row_stride == SymbolicDim(6));
  check_lowered(m.lowered, false);
}

TEST_CASE("eliminate_views: C2f, the halves of a split and what follows lie in one concat") {
  LoweredMaker m;
  const int32_t x = m.input("x", {1, 4, 4, 4}), t = m.value("t", {1, 4, 4, 4}),
                a = m.value("a", {1, 4, 4, 2}), b = m.value("b", {1, 4, 4, 2});
  const int32_t p = m.value("p", {1, 4, 4, 2}), c = m.value("c", {1, 4, 4, 6}),
                y = m.output("y", {1, 4, 4, 6});
  m.relu(x, t), m.slice(t, a, {0, 0, 0, 0}), m.slice(t, b, {0, 0, 0, 2}), m.relu(b, p),
      m.concat(3, {a, b, p}, c), m.relu(c, y);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(m.count() == 3);
  CHECK(is_view(m, t, c));
  CHECK(is_view(m, a, t));
  CHECK(is_view(m, p, c));
  CHECK(m.at(p).alias_offset == SymbolicDim(4));
  CHECK(m.at(b).row_stride == SymbolicDim(6));
  check_lowered(m.lowered, false);
}

TEST_CASE("eliminate_views: a reader of dense rows keeps the slice") {
  LoweredMaker m;
  const int32_t x = m.input("x", {4, 6}), s = m.value("s", {4, 3}), y = m.output("y", {4, 3});
  m.slice(x, s, {0, 1});
  m.add(CumSumAttributes{1, false, false}, {s, -1}, {y});
  m.lowered.subprograms[0].instructions.back().inputs.pop_back();
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(m.op(0) == OpCode::kSlice);
  CHECK(m.at(s).alias == AliasKind::kNone);
}

TEST_CASE(
    "eliminate_views: a reshape to an output moves its producer, a reshape of an input to an "
    "output copies") {
  LoweredMaker m;
  const int32_t x = m.input("x", {2, 6}), a = m.value("a", {2, 6}), y = m.output("y", {12}),
                z = m.output("z", {3, 4});
  m.relu(x, a), m.reshape(a, y), m.reshape(x, z);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  REQUIRE(m.count() == 2);
  CHECK(is_view(m, a, y));
  CHECK(m.op(1) == OpCode::kCopy);
  check_lowered(m.lowered, false);
}

TEST_CASE(
    "eliminate_views: a reshaped part is turned around, so that its producer writes into the "
    "concat") {
  LoweredMaker m;
  const int32_t x = m.input("x", {8}), a = m.value("a", {8}), r = m.value("r", {2, 4}),
                b = m.value("b", {2, 4});
  const int32_t c = m.value("c", {4, 4}), y = m.output("y", {4, 4});
  m.relu(x, a), m.reshape(a, r), m.relu(r, b), m.concat(0, {r, b}, c), m.relu(c, y);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(m.count() == 3);
  CHECK(is_view(m, r, c));
  CHECK(is_view(m, a, r));
  CHECK(is_view(m, b, c));
  CHECK(m.at(b).alias_offset == SymbolicDim(8));
  check_lowered(m.lowered, false);
}

TEST_CASE(
    "eliminate_views: rows with gaps cannot be reshaped away, the part falls back to a copy") {
  LoweredMaker m;
  const int32_t x = m.input("x", {1, 2, 2, 4}), a = m.value("a", {1, 2, 2, 4}),
                f = m.value("f", {16}), g = m.output("g", {16});
  const int32_t b = m.value("b", {1, 2, 2, 4}), c = m.value("c", {1, 2, 2, 8}),
                y = m.output("y", {1, 2, 2, 8});
  m.relu(x, a), m.reshape(a, f), m.relu(f, g), m.relu(x, b), m.concat(3, {a, b}, c), m.relu(c, y);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(is_view(m, f, a));
  CHECK(m.at(a).alias == AliasKind::kNone);
  CHECK(is_view(m, b, c));
  CHECK(m.count() == 5);
  check_lowered(m.lowered, false);
}

TEST_CASE(
    "eliminate_views: nothing is written straight into the result of an If or out of its branch") {
  LoweredMaker m;
  const int32_t condition = m.input("condition", {}), x = m.input("x", {4}), r = m.value("r", {4}),
                y = m.output("y", {4});
  m.lowered.at(condition).dtype = DType::kBool;
  const int32_t t = m.value("t", {2, 2});
  m.lowered.subprograms.push_back({"then", {}});
  m.lowered.subprograms.push_back({"else", {}});
  m.add(IfAttributes{1, 2}, {condition}, {r});
  m.relu(r, y);
  ElementwiseAttributes relu;
  relu.step_count = 1;
  relu.steps[0].op = ElementwiseOp::kRelu;
  const auto instruction = [](Attributes a, int32_t from, int32_t to) {
    LoweredInstruction i;
    i.attributes = a;
    i.inputs = {from};
    i.outputs = {to};
    return i;
  };
  const int32_t flat = m.value("flat", {2, 2});
  m.lowered.subprograms[1].instructions = {instruction(CopyAttributes{}, x, flat),
                                           instruction(relu, flat, t),
                                           instruction(CopyAttributes{}, t, r)};
  m.lowered.subprograms[2].instructions = {instruction(CopyAttributes{}, x, r)};
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(is_view(m, flat, x));
  CHECK(m.at(t).alias == AliasKind::kNone);
  CHECK(m.lowered.subprograms[1].instructions.size() == 2);
  CHECK(m.lowered.subprograms[2].instructions.size() == 1);
  check_lowered(m.lowered, false);
}

/// linear(x) of `outputs` columns, with a residual where there is one.
void add_linear(LoweredMaker* m, int32_t x, int32_t y, int32_t residual = -1) {
  LoweredValue w;
  w.name = "w", w.dtype = DType::kF32, w.packing = Packing::kPanels16;
  w.kind = ValueKind::kConstant;
  w.dims = {m->at(y).dims.back(), m->at(x).dims.back()};
  const int32_t weights = m->lowered.add(std::move(w));
  m->add(LinearAttributes{}, {x, weights, -1, residual}, {y});
}

TEST_CASE(
    "eliminate_views: rows 4 KiB apart that a product reads get a gap, and what may take "
    "their place does too") {
  LoweredMaker m;
  const int32_t x = m.input("x", {20, 1024}), a = m.value("a", {20, 1024}),
                r = m.value("r", {4, 5, 1024}), b = m.value("b", {4, 5, 1024}),
                c = m.value("c", {4, 5, 1024}), y = m.output("y", {4, 5, 48});
  m.relu(x, a), m.reshape(a, r), add_linear(&m, r, b), m.relu(r, c, b), add_linear(&m, c, y);
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  for (const int32_t spaced : {a, r, b, c}) CHECK(m.at(spaced).row_stride == SymbolicDim(1040));
  for (const int32_t port : {x, y}) CHECK(m.at(port).row_stride == SymbolicDim(0));
  check_lowered(m.lowered, false);
}

TEST_CASE(
    "eliminate_views: rows 4 KiB apart stay where they are few, and where a reader wants "
    "them dense") {
  LoweredMaker m;
  const int32_t x = m.input("x", {4, 1024}), a = m.value("a", {4, 1024}),
                y = m.output("y", {4, 48});
  m.relu(x, a), add_linear(&m, a, y);
  const int32_t u = m.input("u", {20, 1024}), b = m.value("b", {20, 1024}),
                v = m.output("v", {20, 48}), s = m.output("s", {20, 1024});
  m.relu(u, b), add_linear(&m, b, v);
  m.add(CumSumAttributes{1, false, false}, {b, -1}, {s});
  m.lowered.subprograms[0].instructions.back().inputs.pop_back();
  ConversionReport report;
  eliminate_views(&m.lowered, &report);
  CHECK(m.at(a).row_stride == SymbolicDim(0));
  CHECK(m.at(b).row_stride == SymbolicDim(0));
}

}  // namespace ingot::convert
