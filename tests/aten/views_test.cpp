// tests/aten/views_test.cpp - tensors that are written in place, and all that look at the same memory.
#include "tests/aten/program.h"

using namespace ingot;
using namespace ingot::test;
using aten::Value;
using Numbers = std::vector<double>;

TEST_CASE("an in-place operator keeps shape and type, and every view sees it") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value rows = p.call("select", {x, whole(0), whole(1)});
  const Value turned = p.call("t", {x});
  const Value copy = p.call("clone", {x});
  const Value added = p.call("add_", {rows, whole(10)});
  CHECK(added.tensor == rows.tensor);
  CHECK(p.numbers(x) == Numbers{1, 2, 3, 14, 15, 16});
  CHECK(p.numbers(turned) == Numbers{1, 14, 2, 15, 3, 16});
  CHECK(p.numbers(copy) == Numbers{1, 2, 3, 4, 5, 6});
  p.call("mul_", {turned, real(2)});
  CHECK(p.numbers(x) == Numbers{2, 4, 6, 28, 30, 32});
  CHECK(p.numbers(rows) == Numbers{28, 30, 32});
  const Value ints = p.tensor(DType::kI32, {2}, {5, 7});
  p.call("div_", {ints, whole(2), Value::of(std::string("floor"))});
  CHECK(p.numbers(ints) == Numbers{2, 3});
  CHECK(p.dtype(ints) == DType::kI32);
  CHECK(p.refusals() == "");
}

TEST_CASE("slices with steps, splits, diagonals of views") {
  Program p;
  const Value x = p.floats({6}, {0, 1, 2, 3, 4, 5});
  p.call("fill_", {p.call("slice", {x, whole(0), whole(1), Value::none(), whole(2)}), whole(9)});
  CHECK(p.numbers(x) == Numbers{0, 9, 2, 9, 4, 9});
  const std::vector<Value> parts = *p.call("split", {x, whole(4)}).items;
  REQUIRE(parts.size() == 2);
  p.call("zero_", {parts[1]});
  CHECK(p.numbers(x) == Numbers{0, 9, 2, 9, 0, 0});
  CHECK(p.numbers(parts[0]) == Numbers{0, 9, 2, 9});
  p.call("copy_", {p.call("view", {x, list({2, 3})}), p.floats({1, 3}, {1, 2, 3})});
  CHECK(p.numbers(x) == Numbers{1, 2, 3, 1, 2, 3});
  const Value wide = p.call("unsqueeze", {x, whole(0)});
  p.call("add_", {p.call("squeeze", {wide}), whole(1)});
  CHECK(p.numbers(wide) == Numbers{2, 3, 4, 2, 3, 4});
  CHECK(p.refusals() == "");
}

TEST_CASE("a reshape of a transposed tensor is a copy, contiguous() of a dense one is not") {
  Program p;
  const Value x = p.floats({2, 2}, {1, 2, 3, 4});
  const Value flat = p.call("reshape", {p.call("t", {x}), list({4})});
  const Value same = p.call("contiguous", {x});
  const Value moved = p.call("contiguous", {p.call("t", {x})});
  p.call("fill_", {x, whole(0)});
  CHECK(p.numbers(flat) == Numbers{1, 3, 2, 4});
  CHECK(p.numbers(moved) == Numbers{1, 3, 2, 4});
  CHECK(p.numbers(same) == Numbers{0, 0, 0, 0});
}

TEST_CASE("what cannot be written through is refused") {
  Program p;
  const Value x = p.floats({1, 2}, {1, 2});
  const Value wide = p.call("expand", {x, list({3, 2})});
  CHECK(p.call("add_", {wide, whole(1)}).is(Value::Kind::kUnknown));
  CHECK(p.call("unsqueeze_", {x, whole(0)}).is(Value::Kind::kUnknown));
  CAPTURE(p.refusals());
  CHECK(p.builder.unsupported.size() == 2);
  CHECK(p.numbers(x) == Numbers{1, 2});
}

TEST_CASE("writes are seen by whoever watches, under the owner") {
  Program p;
  const Value x = p.floats({4}, {1, 2, 3, 4});
  std::vector<aten::Tensor> written;
  p.builder.on_write = [&](const aten::Tensor& owner) { written.push_back(owner); };
  p.call("relu_", {p.call("slice", {x, whole(0), whole(1), whole(3)})});
  REQUIRE(written.size() == 1);
  CHECK(written[0] == x.tensor);
}
