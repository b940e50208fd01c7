// SPDX-License-Identifier: Apache-2.0
// Copy, Tile, Transpose, Concat, Slice, Pad: any element type, ranks 0 to 8, empty tensors, strided
// rows.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/op/concat.h"
#include "runtime/op/control.h"
#include "runtime/op/copy.h"
#include "runtime/op/pad.h"
#include "runtime/op/slice.h"
#include "runtime/op/transpose.h"
#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
const DType kWidths[] = {DType::kF32, DType::kU8, DType::kF16, DType::kI64};

Tensor numbered(DType dtype, const Dims& dims, int64_t padding = 0) {
  Tensor t(dtype, dims, padding);
  for (int64_t i = 0; i < t.view().elements(); i++) t.set(i, double(i % 251));
  return t;
}

}  // namespace

TEST_CASE("copy: any dims with the same number of elements") {
  const CopyAttributes t;
  const struct {
    Dims x, y;
  } rows[] = {{{}, {}},
              {{}, {1, 1}},
              {{6}, {2, 3}},
              {{2, 3, 4}, {4, 6}},
              {{7, 11}, {77}},
              {{5, 6, 7}, {7, 6, 5}},
              {{0, 3}, {3, 0}},
              {{3, 30000}, {30000, 3}},
              {{1, 2, 1, 2, 1, 2, 1, 2}, {16}}};
  for (const auto& r : rows)
    for (DType d : kWidths)
      for (int64_t px : {0, 3})
        for (int64_t py : {0, 2}) {
          run_case({"copy", OpCode::kCopy, &t, {numbered(d, r.x, px)}, {Tensor(d, r.y, py)}});
        }
}

TEST_CASE("copy: the bits of another type of the same width") {
  const CopyAttributes t;
  const struct {
    DType from, to;
  } rows[] = {{DType::kF32, DType::kI32}, {DType::kI32, DType::kF32}, {DType::kF64, DType::kI64},
              {DType::kI64, DType::kF64}, {DType::kF16, DType::kI16}, {DType::kU8, DType::kI8}};
  for (const auto& r : rows)
    for (const Dims& dims : {Dims{3, 5}, Dims{3, 30000}})
      run_case({"bits", OpCode::kCopy, &t, {numbered(r.from, dims, 3)}, {Tensor(r.to, dims)}});
}

TEST_CASE("tile: every repetition") {
  const TileAttributes t;
  const struct {
    Dims x, y;
  } rows[] = {
      {{}, {}},         {{3}, {9}},       {{1}, {9}},
      {{2, 3}, {4, 3}}, {{2, 3}, {2, 9}}, {{2, 3, 5}, {6, 3, 10}},
      {{2, 0}, {4, 0}}, {{2, 3}, {0, 3}}, {{1, 2, 1, 2, 1, 2, 1, 2}, {2, 2, 2, 4, 2, 2, 2, 2}}};
  for (const auto& r : rows)
    for (DType d : kWidths)
      for (int64_t p : {0, 3})
        run_case({"tile", OpCode::kTile, &t, {numbered(d, r.x, p)}, {Tensor(d, r.y, p)}});
}

TEST_CASE("transpose: every permutation up to rank 4, images, odd sizes") {
  for (int rank = 0; rank <= 4; rank++) {
    std::vector<uint8_t> perm = {0, 1, 2, 3};
    perm.resize(size_t(rank));
    const Dims extents = {3, 17, 2, 5};
    do {
      TransposeAttributes t;
      t.rank = uint32_t(rank);
      Dims x(extents.begin(), extents.begin() + rank), y;
      for (int i = 0; i < rank; i++) t.perm[i] = perm[size_t(i)], y.push_back(x[perm[size_t(i)]]);
      for (DType d : kWidths)
        for (int64_t p : {0, 3})
          run_case({"rank " + std::to_string(rank),
                    OpCode::kTranspose,
                    &t,
                    {numbered(d, x, p)},
                    {Tensor(d, y, p)}});
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
  const struct {
    Dims x;
    std::vector<uint8_t> perm;
  } rows[] = {{{2, 3, 33, 35}, {0, 2, 3, 1}}, {{2, 33, 35, 3}, {0, 3, 1, 2}},
              {{30, 2, 29}, {0, 2, 1}},       {{5, 3, 29}, {0, 2, 1}},
              {{1, 70, 8, 9}, {0, 2, 3, 1}},  {{150, 151}, {1, 0}},
              {{4, 0, 3}, {2, 0, 1}},         {{1, 2, 3, 1, 2, 1, 3, 2}, {7, 6, 5, 4, 3, 2, 1, 0}}};
  for (const auto& r : rows) {
    TransposeAttributes t;
    t.rank = uint32_t(r.x.size());
    Dims y;
    for (size_t i = 0; i < r.perm.size(); i++) t.perm[i] = r.perm[i], y.push_back(r.x[r.perm[i]]);
    for (DType d : kWidths)
      run_case({"image", OpCode::kTranspose, &t, {numbered(d, r.x)}, {Tensor(d, y)}});
  }
}

TEST_CASE("concat: every axis, many inputs, empty ones") {
  for (uint32_t axis = 0; axis < 3; axis++) {
    const ConcatAttributes t{axis};
    for (DType d : kWidths)
      for (int64_t p : {0, 1}) {
        Case c{"axis " + std::to_string(axis), OpCode::kConcat, &t};
        int64_t sum = 0;
        for (int64_t extent : {1, 4, 0, 17, 3}) {
          Dims dims = {5, 6, 7};
          dims[axis] = extent;
          sum += extent;
          c.inputs.push_back(numbered(d, dims, p * extent));
        }
        Dims dims = {5, 6, 7};
        dims[axis] = sum;
        c.outputs = {Tensor(d, dims, p)};
        run_case(c);
      }
  }
  const ConcatAttributes t{0};
  Case c{"forty inputs", OpCode::kConcat, &t, {}, {Tensor(DType::kF32, {40})}};
  for (int i = 0; i < 40; i++) c.inputs.push_back(Tensor(DType::kF32, {1}).values({double(i)}));
  run_case(c);
}

TEST_CASE("slice: starts, steps of either sign, whole and empty dims") {
  struct Row {
    Dims x, y, starts, steps;
  };
  const Row rows[] = {{{}, {}, {}, {}},
                      {{10}, {10}, {0}, {1}},
                      {{10}, {10}, {9}, {-1}},
                      {{10}, {3}, {1}, {3}},
                      {{10}, {4}, {9}, {-3}},
                      {{10}, {0}, {50}, {7}},
                      {{6, 8}, {3, 8}, {2, 0}, {1, 1}},
                      {{6, 8}, {6, 3}, {0, 4}, {1, 1}},
                      {{6, 8, 5}, {2, 4, 2}, {5, 1, 3}, {-4, 2, -2}},
                      {{64, 9, 40}, {64, 9, 20}, {0, 0, 20}, {1, 1, 1}},
                      {{3, 2, 3, 2, 3, 2, 3, 2},
                       {2, 1, 2, 1, 2, 1, 2, 1},
                       {1, 1, 1, 1, 1, 1, 1, 1},
                       {-1, 1, 1, 1, 1, 1, 1, -1}}};
  for (const Row& r : rows)
    for (DType d : kWidths)
      for (int64_t p : {0, 3}) {
        SliceAttributes t;
        t.rank = uint32_t(r.x.size());
        for (size_t i = 0; i < r.x.size(); i++) t.starts[i] = r.starts[i], t.steps[i] = r.steps[i];
        run_case({"slice", OpCode::kSlice, &t, {numbered(d, r.x, p)}, {Tensor(d, r.y, p)}});
      }
}

TEST_CASE("pad: every mode, crops, values") {
  struct Row {
    Dims x, y, before;
  };
  const Row rows[] = {{{}, {}, {}},
                      {{4}, {9}, {3}},
                      {{4}, {2}, {-1}},
                      {{4}, {4}, {2}},
                      {{4}, {4}, {-2}},
                      {{5, 6}, {8, 11}, {2, 3}},
                      {{5, 6, 3}, {9, 10, 3}, {3, 1, 0}},
                      {{2, 30, 31, 4}, {2, 34, 35, 4}, {0, 2, 2, 0}},
                      {{3, 4}, {0, 6}, {0, 1}}};
  for (const Row& r : rows)
    for (int mode = 0; mode < 4; mode++)
      for (DType d : {DType::kF32, DType::kU8, DType::kF16, DType::kI64, DType::kBool})
        for (int64_t p : {0, 3}) {
          PadAttributes t;
          t.mode = PadMode(mode);
          t.rank = uint32_t(r.x.size());
          t.value = d == DType::kBool ? 1 : 7.5f;
          for (size_t i = 0; i < r.x.size(); i++) t.before[i] = r.before[i];
          Case c{"mode " + std::to_string(mode),
                 OpCode::kPad,
                 &t,
                 {numbered(d, r.x, p)},
                 {Tensor(d, r.y, p)}};
          run_case(c);
          c.inputs.push_back(Tensor(d, {}).values({1}));
          run_case(c);
        }
  PadAttributes t;
  t.rank = 2;
  t.before[0] = 100, t.before[1] = -100;
  run_case({"far away",
            OpCode::kPad,
            &t,
            {numbered(DType::kF32, {3, 4})},
            {Tensor(DType::kF32, {3, 4})}});
  t.rank = 1, t.before[0] = 3;
  run_case(
      {"of nothing", OpCode::kPad, &t, {numbered(DType::kF32, {0})}, {Tensor(DType::kF32, {5})}});
}

TEST_CASE(
    "movement: more tiles and rows than a grid has blocks, widths that join, strided on both "
    "sides") {
  const TransposeAttributes turn{2, {1, 0}}, heads{3, {1, 0, 2}};
  const CopyAttributes copy;
  const TileAttributes tile;
  const ConcatAttributes inner{1}, outer{0};
  SliceAttributes middle;
  middle.rank = 2;
  middle.starts[1] = 16;
  for (DType d : kWidths) {
    run_case({"turn",
              OpCode::kTranspose,
              &turn,
              {numbered(d, {230, 250}, 3)},
              {Tensor(d, {250, 230}, 1)}});
    run_case({"heads",
              OpCode::kTranspose,
              &heads,
              {numbered(d, {40, 12, 64})},
              {Tensor(d, {12, 40, 64})}});
    run_case(
        {"copy", OpCode::kCopy, &copy, {numbered(d, {300, 48}, 5)}, {Tensor(d, {240, 60}, 2)}});
    run_case({"tile", OpCode::kTile, &tile, {numbered(d, {3, 64})}, {Tensor(d, {300, 128})}});
    run_case({"slice", OpCode::kSlice, &middle, {numbered(d, {300, 96})}, {Tensor(d, {300, 64})}});
    std::vector<Tensor> few, many;
    for (int k = 0; k < 20; k++) {
      few.push_back(numbered(d, {33, k % 3 * 16}, k % 4));
      many.push_back(numbered(d, {k, 19}));
    }
    run_case({"columns", OpCode::kConcat, &inner, few, {Tensor(d, {33, 19 * 16}, 4)}});
    run_case({"rows", OpCode::kConcat, &outer, many, {Tensor(d, {190, 19})}});
    PadAttributes border;
    border.rank = 4;
    border.before[1] = border.before[2] = 1;
    border.value = -3;
    for (int mode = 0; mode < 4; mode++) {
      border.mode = PadMode(mode);
      run_case({"pad",
                OpCode::kPad,
                &border,
                {numbered(d, {1, 30, 31, 16})},
                {Tensor(d, {1, 32, 34, 16})}});
    }
    border.mode = PadMode::kConstant;
    border.before[3] = 8;
    run_case(
        {"pad", OpCode::kPad, &border, {numbered(d, {1, 6, 7, 16})}, {Tensor(d, {1, 8, 8, 48})}});
    run_case(
        {"crop", OpCode::kPad, &border, {numbered(d, {1, 6, 7, 16})}, {Tensor(d, {1, 3, 4, 16})}});
  }
}

TEST_CASE("movement: the contracts refuse") {
  const Tensor x = numbered(DType::kF32, {3, 4});
  const auto f32 = [](Dims d) { return Tensor(DType::kF32, d); };
  const CopyAttributes copy;
  CHECK(refusal({"count", OpCode::kCopy, &copy, {x}, {f32({3, 5})}}) ==
        "copy keeps the number of elements");
  for (const DType other : {DType::kI64, DType::kF16, DType::kBool})
    CHECK(refusal({"type", OpCode::kCopy, &copy, {x}, {Tensor(other, {3, 4})}}) == "same dtype");
  const Tensor bytes = numbered(DType::kU8, {3, 4});
  CHECK(refusal({"bool", OpCode::kCopy, &copy, {bytes}, {Tensor(DType::kBool, {3, 4})}}) ==
        "same dtype");
  const TileAttributes tile;
  CHECK(refusal({"multiple", OpCode::kTile, &tile, {x}, {f32({3, 6})}}) ==
        "tile's output is a multiple of the input");
  CHECK(refusal({"from nothing", OpCode::kTile, &tile, {f32({0})}, {f32({3})}}) ==
        "tile's output is a multiple of the input");
  CHECK(refusal({"rank", OpCode::kTile, &tile, {x}, {f32({12})}}) == "tile keeps the rank");
  TransposeAttributes transpose;
  transpose.rank = 2;
  transpose.perm[0] = 1, transpose.perm[1] = 1;
  CHECK(refusal({"twice", OpCode::kTranspose, &transpose, {x}, {f32({4, 4})}}) ==
        "transpose.perm names each dimension once");
  transpose.perm[1] = 2;
  CHECK(refusal({"beyond", OpCode::kTranspose, &transpose, {x}, {f32({4, 3})}}) ==
        "transpose.perm is below the rank");
  transpose.perm[1] = 0;
  CHECK(refusal({"dims", OpCode::kTranspose, &transpose, {x}, {f32({3, 4})}}) ==
        "transpose's output has the permuted dims");
  transpose.rank = 3;
  CHECK(refusal({"length", OpCode::kTranspose, &transpose, {x}, {f32({4, 3})}}) ==
        "transpose.perm has one entry per dimension");
  ConcatAttributes concat{2};
  CHECK(refusal({"axis", OpCode::kConcat, &concat, {x, x}, {f32({3, 8})}}) ==
        "concat.axis is below the rank");
  concat.axis = 1;
  CHECK(refusal({"sum", OpCode::kConcat, &concat, {x, x}, {f32({3, 9})}}) ==
        "concat's extents add up");
  CHECK(refusal({"others", OpCode::kConcat, &concat, {x, f32({2, 4})}, {f32({3, 8})}}) ==
        "concat's inputs agree outside the axis");
  CHECK(refusal(
            {"type", OpCode::kConcat, &concat, {x, Tensor(DType::kI32, {3, 4})}, {f32({3, 8})}}) ==
        "same dtype");
  SliceAttributes slice;
  slice.rank = 2;
  slice.steps[1] = 0;
  CHECK(refusal({"step", OpCode::kSlice, &slice, {x}, {x}}) == "slice.steps is not zero");
  slice.steps[1] = 2;
  CHECK(refusal({"end", OpCode::kSlice, &slice, {x}, {x}}) ==
        "slice's last element lies inside the input");
  slice.steps[1] = INT64_MAX;
  CHECK(refusal({"overflow", OpCode::kSlice, &slice, {x}, {x}}) ==
        "slice's last element lies inside the input");
  slice.steps[1] = -1;
  CHECK(refusal({"before", OpCode::kSlice, &slice, {x}, {x}}) ==
        "slice's last element lies inside the input");
  slice.starts[1] = -1;
  CHECK(refusal({"negative start", OpCode::kSlice, &slice, {x}, {x}}) ==
        "slice.starts lies inside the input");
  slice.starts[1] = 4;
  CHECK(refusal({"start", OpCode::kSlice, &slice, {x}, {x}}) ==
        "slice.starts lies inside the input");
  PadAttributes pad;
  pad.rank = 2, pad.mode = PadMode::kReflect, pad.before[1] = 4;
  CHECK(refusal({"reflect", OpCode::kPad, &pad, {x}, {f32({3, 8})}}) ==
        "pad.before stays within the input's period");
  pad.before[1] = 0;
  CHECK(refusal({"after", OpCode::kPad, &pad, {x}, {f32({3, 8})}}) ==
        "padding after stays within the input's period");
  pad.mode = PadMode::kEdge;
  CHECK(refusal({"edge of nothing", OpCode::kPad, &pad, {f32({3, 0})}, {f32({3, 8})}}) ==
        "only constant padding extends an empty dimension");
  pad.mode = PadMode(4);
  CHECK(refusal({"mode", OpCode::kPad, &pad, {x}, {x}}) == "pad.mode is known");
  pad.mode = PadMode::kConstant, pad.before[0] = INT64_MIN;
  CHECK(refusal({"range", OpCode::kPad, &pad, {x}, {x}}) == "pad.before is in range");
  pad.before[0] = 0;
  CHECK(refusal({"value", OpCode::kPad, &pad, {x, f32({2})}, {x}}) ==
        "pad's value has one element");
  IfAttributes branch{1, 2};
  CHECK(refusal({"condition", OpCode::kIf, &branch, {x}}) == "if's condition is bool");
}
