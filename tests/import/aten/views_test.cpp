// SPDX-License-Identifier: Apache-2.0
// tests/import/aten/views_test.cpp - tensors that are written in place, and all that look at the
// same memory.
#include "tests/import/aten/program.h"

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
  p.call_with("div_", {ints, whole(2)}, {{"rounding_mode", Value::of(std::string("floor"))}});
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
  CAPTURE(p.refusals());
  CHECK(p.builder.unsupported.size() == 1);
  CHECK(p.numbers(x) == Numbers{1, 2});
}

TEST_CASE("t_() and its like change what a tensor shows, and nothing that others show") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value row = p.call("select", {x, whole(0), whole(1)});
  const Value same = p.call("view", {x, list({6})});
  CHECK(p.call("t_", {x}).tensor == x.tensor);
  CHECK(p.shape(x) == "[3, 2]");
  CHECK(p.numbers(x) == Numbers{1, 4, 2, 5, 3, 6});
  CHECK(p.numbers(row) == Numbers{4, 5, 6});
  // Writes reach the memory through all of them.
  p.call("fill_", {p.call("select", {x, whole(0), whole(2)}), whole(9)});
  CHECK(p.numbers(same) == Numbers{1, 2, 9, 4, 5, 9});
  CHECK(p.numbers(row) == Numbers{4, 5, 9});
  p.call("add_", {row, whole(10)});
  CHECK(p.numbers(x) == Numbers{1, 14, 2, 15, 9, 19});
  // It is no longer row-major: a reshape of it is a copy.
  const Value flat = p.call("reshape", {x, list({6})});
  p.call("zero_", {x});
  CHECK(p.numbers(flat) == Numbers{1, 14, 2, 15, 9, 19});
  CHECK(p.numbers(same) == Numbers{0, 0, 0, 0, 0, 0});
  // Of a view, and once more; what it was made of stays as it is.
  const Value y = p.floats({2, 2}, {1, 2, 3, 4});
  const Value part = p.call("slice", {y, whole(0), whole(1), whole(2)});
  p.call("transpose_", {part, whole(0), whole(1)}, "");
  p.call("unsqueeze_", {part, whole(0)});
  p.call("swapdims_", {part, whole(1), whole(2)});
  CHECK(p.shape(part) == "[1, 1, 2]");
  p.call("t_", {y});
  p.call("squeeze_", {part});
  CHECK(p.shape(part) == "[2]");
  p.call("copy_", {part, p.floats({2}, {7, 8})});
  CHECK(p.numbers(y) == Numbers{1, 7, 2, 8});
  CHECK(p.refusals() == "");
}

TEST_CASE("a change of shape in place where the program does not show what shares memory") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value sum = p.call("add", {p.call("t", {x}), whole(0)});  // its strides are not followed
  const Value flat = p.call("reshape", {sum, list({6})});
  p.call("t_", {sum});
  CHECK(p.numbers(sum) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(p.numbers(flat) == Numbers{1, 4, 2, 5, 3, 6});  // nobody has written yet
  CHECK(p.refusals() == "");
  p.call("zero_", {sum});
  CHECK(p.call("neg", {flat}).is(Value::Kind::kUnknown));
  CHECK(p.refusals().find("is a view or a copy of a tensor that was written since") !=
        std::string::npos);
  CHECK(p.builder.unsupported.size() == 1);
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

TEST_CASE(
    "a view of a part is a view: what is written to it reaches the whole and every other view") {
  Program p;
  const auto part = [&](const Value& of, int64_t from, int64_t to, int64_t axis = 0) {
    return p.call("slice", {of, whole(axis), whole(from), whole(to)});
  };
  const Value x = p.floats({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Value turned = p.call("t", {x});
  p.call("add_", {p.call("view", {part(x, 0, 2), list({-1})}), whole(10)});
  CHECK(p.numbers(x) == Numbers{10, 11, 12, 13, 4, 5, 6, 7});
  p.call("zero_", {p.call("reshape", {p.call("split", {x, whole(2)}).items->at(1), list({4})})});
  CHECK(p.numbers(turned) == Numbers{10, 12, 0, 0, 11, 13, 0, 0});
  p.call("fill_",
         {p.call("view", {p.call("select", {x, whole(0), whole(3)}), list({2, 1})}), whole(9)});
  CHECK(p.numbers(x) == Numbers{10, 11, 12, 13, 0, 0, 9, 9});
  p.call("mul_", {p.call("flatten", {part(part(x, 1, 4), 1, 3)}), whole(2)});
  CHECK(p.numbers(x) == Numbers{10, 11, 12, 13, 0, 0, 18, 18});
  const Value corner = p.floats({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  p.call("add_", {p.call("diagonal", {corner, whole(-1)}), whole(100)});
  CHECK(p.numbers(corner) == Numbers{0, 1, 2, 103, 4, 5, 6, 107, 8});
  CHECK(p.refusals() == "");
}

TEST_CASE("a reshape that joins what is apart in memory is a copy") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  p.call("zero_",
         {p.call("reshape", {p.call("slice", {x, whole(1), whole(0), whole(2)}), list({4})})});
  p.call("zero_", {p.call("flatten", {p.call("t", {x})})});
  p.call("zero_", {p.call("permute_copy", {x, list({1, 0})})});
  p.call("zero_", {p.call("contiguous", {p.call("t", {x})})});
  CHECK(p.numbers(x) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(p.refusals() == "");
}

TEST_CASE("where nothing shows whether memory is shared, what depends on it is refused") {
  const auto made = [](Program& p, bool* refused, int written) {
    const Value x = p.floats({2, 2}, {1, 2, 3, 4});
    const Value y = p.call("add", {p.call("t", {x}), whole(0)});  // its strides are not followed
    const Value flat = p.call("reshape", {y, list({4})});
    const Value later = p.call("mul", {flat, whole(2)});
    CHECK(p.numbers(later) == Numbers{2, 6, 4, 8});
    if (written == 1) p.call("zero_", {flat});
    if (written == 2) p.call("zero_", {y});
    *refused = p.call("add", {written == 1 ? y : flat, whole(1)}).is(Value::Kind::kUnknown);
    if (written == 1) CHECK(p.numbers(flat) == Numbers{0, 0, 0, 0});
  };
  for (int written : {0, 1, 2}) {
    Program p;
    bool refused = false;
    made(p, &refused, written);
    CHECK(refused == (written != 0));
    CHECK((p.refusals().find("the program does not show which") != std::string::npos) ==
          (written != 0));
  }
}

TEST_CASE("in-place forms of views change the view and not what it looks at") {
  Program p;
  const Value x = p.floats({2, 2}, {1, 2, 3, 4});
  CHECK(p.numbers(p.call("t_", {p.call("view", {x, list({2, 2})})})) == Numbers{1, 3, 2, 4});
  CHECK(p.shape(p.call("squeeze_", {x})) == "[2, 2]");
  CHECK(p.numbers(x) == Numbers{1, 2, 3, 4});
  CHECK(p.call("view", {x, whole(4)}, "dtype").is(Value::Kind::kUnknown));  // as type number 4
}

TEST_CASE("strides: what a reshape joins") {
  using aten::Dims;
  using aten::Shared;
  const auto shared = [](const Dims& dims, const Dims& strides, const Dims& to) {
    return aten::reshape_in_memory(dims, strides, to).shared;
  };
  const aten::Dim n = aten::Dim::symbol("n");
  CHECK(shared({4, 6}, {6, 1}, {24}) == Shared::kYes);
  CHECK(shared({4, 2}, {6, 1}, {8}) == Shared::kNo);
  CHECK(shared({4, 2}, {6, 1}, {2, 2, 2}) == Shared::kYes);
  CHECK(shared({4, 1, 2}, {2, 99, 1}, {8}) == Shared::kYes);
  CHECK(shared({6, 4}, {1, 6}, {24}) == Shared::kNo);
  CHECK(shared({n, 3, 8}, {aten::Dim(72), 24, 1}, {n, 3, 2, 4}) == Shared::kYes);
  CHECK(shared({n, 4}, {1, n}, {n * 4}) == Shared::kUnknown);  // a view where n is 1
  CHECK(aten::reshape_in_memory({4, 6}, std::nullopt, {4, 2, 3}).shared == Shared::kYes);
  CHECK(aten::reshape_in_memory({4, 6}, std::nullopt, {24}).shared == Shared::kUnknown);
}
