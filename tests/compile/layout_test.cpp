// SPDX-License-Identifier: Apache-2.0
// Where views lie: every case is also walked element by element.
#include "tools/compile/program/layout.h"

#include <doctest/doctest.h>

#include <numeric>

namespace ingot::convert {
namespace {

using Numbers = std::vector<int64_t>;

Dims dims(const Numbers& n) { return Dims(n.begin(), n.end()); }

int64_t number(const SymbolicDim& dim) { return dim.evaluate({}); }

/// Positions of all elements in row-major order.
Numbers positions(const Numbers& extents, const Numbers& strides, int64_t offset) {
  Numbers all{offset};
  for (size_t d = 0; d < extents.size(); d++) {
    Numbers next;
    for (const int64_t at : all)
      for (int64_t i = 0; i < extents[d]; i++) next.push_back(at + i * strides[d]);
    all = next;
  }
  return all;
}

Numbers row_positions(const Numbers& extents, int64_t row_stride, int64_t offset) {
  const int64_t length = extents.empty() ? 1 : extents.back();
  const int64_t count =
      std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  Numbers all;
  for (int64_t i = 0; i < count; i++)
    all.push_back(offset + i / length * (row_stride ? row_stride : length) + i % length);
  return all;
}

Numbers strides_of(const Numbers& extents, int64_t row_stride) {
  Numbers strides(extents.size(), 1);
  int64_t stride = row_stride ? row_stride : extents.back();
  for (size_t i = extents.size() - 1; i-- > 0; stride *= extents[i]) strides[i] = stride;
  return strides;
}

}  // namespace

TEST_CASE("place_view: a slice is rows with a stride exactly when its rows are evenly spaced") {
  struct Case {
    const char* name;
    Numbers parent;
    int64_t row_stride;
    Numbers starts, view;
    bool possible;
  };
  const Case cases[] = {
      {"channels", {1, 4, 5, 8}, 0, {0, 0, 0, 3}, {1, 4, 5, 2}, true},
      {"rows of the first dimension", {6, 5}, 0, {2, 0}, {3, 5}, true},
      {"rows of a batch of one", {1, 6, 5, 4}, 0, {0, 2, 0, 0}, {1, 3, 5, 4}, true},
      {"columns of several rows", {1, 6, 5, 4}, 0, {0, 0, 1, 0}, {1, 6, 2, 4}, false},
      {"one column of several rows", {1, 6, 5, 4}, 0, {0, 0, 1, 0}, {1, 6, 1, 4}, true},
      {"channels and rows", {1, 6, 5, 4}, 0, {0, 2, 0, 1}, {1, 3, 5, 2}, true},
      {"channels of channels", {3, 4}, 9, {0, 1}, {3, 2}, true},
      {"one channel", {3, 4}, 0, {0, 1}, {3, 1}, true},
      {"one dimension", {9}, 0, {4}, {3}, true},
      {"one element", {3, 4}, 0, {2, 1}, {1, 1}, true}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const auto placed = place_view({dims(c.parent), c.row_stride},
                                   {ViewOf::Kind::kSlice, dims(c.starts), {}, {}}, dims(c.view));
    REQUIRE(placed.has_value() == c.possible);
    if (!placed) continue;
    int64_t offset = 0;
    const Numbers strides = strides_of(c.parent, c.row_stride);
    for (size_t d = 0; d < strides.size(); d++) offset += c.starts[d] * strides[d];
    CHECK(row_positions(c.view, number(placed->row_stride), number(placed->offset)) ==
          positions(c.view, strides, offset));
  }
}

TEST_CASE("place_view: a transpose is a view when it moves extents of one only") {
  struct Case {
    Numbers parent;
    std::vector<uint8_t> perm;
    bool possible;
  };
  const Case cases[] = {{{1, 3, 5}, {1, 0, 2}, true},
                        {{1, 4, 5, 1}, {0, 3, 1, 2}, true},
                        {{2, 3}, {1, 0}, false},
                        {{1, 3, 5}, {0, 2, 1}, false},
                        {{4, 1, 1, 6}, {0, 3, 1, 2}, true}};
  for (const Case& c : cases) {
    Numbers view, strides;
    const Numbers parent_strides = strides_of(c.parent, 0);
    for (const uint8_t d : c.perm)
      view.push_back(c.parent[d]), strides.push_back(parent_strides[d]);
    CAPTURE(dims_text(dims(c.parent)));
    const auto placed =
        place_view({dims(c.parent), 0}, {ViewOf::Kind::kPermute, {}, c.perm, {}}, dims(view));
    REQUIRE(placed.has_value() == c.possible);
    if (placed)
      CHECK(row_positions(view, number(placed->row_stride), number(placed->offset)) ==
            positions(view, strides, 0));
  }
}

TEST_CASE("place_view: reshaping rows with gaps keeps the last dimension or is no view") {
  const ViewOf reshape;
  CHECK(place_view({dims({2, 3, 4}), 0}, reshape, dims({24})));
  CHECK(number(place_view({dims({2, 3, 4}), 9}, reshape, dims({6, 4}))->row_stride) == 9);
  CHECK_FALSE(place_view({dims({2, 3, 4}), 9}, reshape, dims({24})));
  CHECK_FALSE(place_view({dims({2, 3, 4}), 9}, reshape, dims({2, 12})));
  CHECK(place_view({dims({1, 1, 4}), 9}, reshape, dims({2, 2})));  // a single row has no gaps
}

TEST_CASE("place_view: symbolic extents are proved, not guessed") {
  const SymbolicDim w = SymbolicDim::symbol("w");
  const auto channels =
      place_view({{1, w, 8}, 0}, {ViewOf::Kind::kSlice, {0, 0, 2}, {}, {}}, {1, w, 3});
  REQUIRE(channels);
  CHECK(channels->row_stride == SymbolicDim(8));
  CHECK(channels->offset == SymbolicDim(2));
  const auto behind =
      place_view({{w + SymbolicDim(2), 4}, 0}, {ViewOf::Kind::kSlice, {w, 0}, {}, {}}, {2, 4});
  REQUIRE(behind);
  CHECK(behind->offset == w * SymbolicDim(4));
  CHECK_FALSE(
      // w may be more than one
      place_view({{w, 5, 4}, 0}, {ViewOf::Kind::kSlice, {0, 1, 0}, {}, {}}, {w, 2, 4}));
}

TEST_CASE("place_view: a slice may drop the dimension of which it takes one") {
  const auto placed = place_view({dims({6, 5, 4}), 0},
                                 {ViewOf::Kind::kSlice, dims({0, 3, 0}), {}, {1}}, dims({6, 4}));
  REQUIRE(placed);
  CHECK(number(placed->offset) == 12);
  CHECK(number(placed->row_stride) == 20);
}

}  // namespace ingot::convert
