// SPDX-License-Identifier: Apache-2.0
// RoiAlign: modes, corners, samples, boxes inside, around, far away, turned over and NaN.
#include "runtime/op/roi_align.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

Tensor images_of(int64_t boxes, int64_t images) {
  Tensor t(DType::kI64, {boxes});
  for (int64_t i = 0; i < boxes; i++) t.set(i, double((i * 7 + 1) % images));
  return t;
}

Case case_of(const RoiAlignAttributes& t, const Tensor& x, const Tensor& boxes, Dims bins,
             int64_t padding = 0) {
  const int64_t n = boxes.view().dims[0], c = x.view().dims[3];
  return {"roi_align",
          OpCode::kRoiAlign,
          &t,
          {x, boxes, images_of(n, x.view().dims[0])},
          {Tensor(DType::kF32, {n, bins[0], bins[1], c}, padding)},
          {1e-5, 1e-5}};
}

}  // namespace

TEST_CASE("roi_align: the product of its attributes") {
  Combinations all("roi_align", 1500, 3, 4);
  const Axis<Dims> x = all.axis<Dims>(
      "x",
      {{2, 5, 7, 3}, {1, 9, 6, 40}, {3, 4, 4, 16}, {1, 1, 1, 2}, {1, 2, 11, 1}, {1, 6, 5, 130}});
  const Axis<Dims> bins = all.axis<Dims>("bins", {{1, 1}, {2, 3}, {7, 7}, {5, 1}});
  const Axis<int> boxes = all.axis<int>("boxes", {1, 4, 9});
  const Axis<RoiMode> mode = all.axis<RoiMode>("mode", {RoiMode::kAverage, RoiMode::kMax});
  const Axis<bool> aligned = all.axis<bool>("aligned", {false, true});
  const Axis<uint32_t> samples = all.axis<uint32_t>("samples", {0, 1, 2, 3, 11});
  const Axis<float> scale = all.axis<float>("scale", {1, 0.25f, 3.7f, -1});
  const Axis<double> reach = all.axis<double>("reach", {3, 12, 200});
  const Axis<int> padding = all.axis<int>("padding", {0, 4, 3});
  RoiAlignAttributes t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    t = {mode(), aligned(), samples(), scale()};
    const double r = reach();
    seed += 2;
    c = case_of(t, Tensor(DType::kF32, x(), padding()).random(seed),
                Tensor(DType::kF32, {boxes(), 4}, padding()).random(seed + 1, -r / 4, r), bins(),
                padding());
    return true;
  });
}

TEST_CASE("roi_align: every box is defined, and nothing outside x is read") {
  const double huge = 3.4e38;
  const std::vector<std::vector<double>> boxes = {{NAN, 0, 3, 3},
                                                  {0, 0, NAN, 3},
                                                  {0, 0, INFINITY, 3},
                                                  {-INFINITY, 0, 3, 3},
                                                  {-huge, -huge, huge, huge},
                                                  {-1e6, 0, 1e6, 5},
                                                  {0, -7e4, 5, 7e4},
                                                  {3, 3, 1, 1},
                                                  {2, 2, 2, 2},
                                                  {-1, -1, -1, -1},
                                                  {7, 5, 7, 5},
                                                  {1e-30, 0, 2e-30, 1e-40},
                                                  {-300, -300, 300, 300},
                                                  {0, 0, 260, 1},
                                                  {1e10, 1e10, 1e10, 1e10}};
  for (const RoiMode mode : {RoiMode::kAverage, RoiMode::kMax})
    for (const bool aligned : {false, true})
      for (const uint32_t samples : {0u, 2u, 256u})
        for (int64_t channels : {1, 8}) {
          if (samples == 256 && channels == 1) continue;
          const RoiAlignAttributes t = {mode, aligned, samples, 1};
          for (const std::vector<double>& box : boxes) {
            Case c = case_of(t, Tensor(DType::kF32, {2, 5, 7, channels}).random(3),
                             Tensor(DType::kF32, {1, 4}).values(box), {1, 2});
            if (samples == 256) c.tolerance = {2e-3, 2e-3};  // a sum of 262,144 in f32
            run_case(c);
          }
        }
}

TEST_CASE("roi_align: NaN and infinities of x, and nothing") {
  Tensor x = Tensor(DType::kF32, {1, 4, 4, 9}).random(1);
  x.set(40, NAN), x.set(77, INFINITY), x.set(100, -INFINITY);
  const Tensor boxes = Tensor(DType::kF32, {3, 4}).random(2, 0, 4);
  for (const RoiMode mode : {RoiMode::kAverage, RoiMode::kMax}) {
    const RoiAlignAttributes t = {mode, true, 2, 1};
    run_case(case_of(t, x, boxes, {2, 2}));
    run_case(case_of(t, x, Tensor(DType::kF32, {0, 4}), {2, 2}));
    run_case(case_of(t, x, boxes, {0, 2}));
    run_case(case_of(t, Tensor(DType::kF32, {1, 4, 4, 0}), boxes, {2, 2}));
    run_case(case_of(t, Tensor(DType::kF32, {1, 0, 4, 3}), boxes, {2, 0}));
  }
}

TEST_CASE("roi_align: a bad image is reported") {
  const RoiAlignAttributes t;
  for (const double image : {-1.0, 2.0, 9e18}) {
    Case c = case_of(t, Tensor(DType::kF32, {2, 4, 4, 5}).random(1),
                     Tensor(DType::kF32, {3, 4}).random(2, 0, 4), {2, 2});
    c.inputs[2].set(1, image);
    run_failing_case(c, Code::kBadIndexValue);
  }
}

TEST_CASE("roi_align: the contract refuses") {
  const Tensor x(DType::kF32, {2, 5, 7, 3}), boxes(DType::kF32, {4, 4}), images(DType::kI64, {4}),
      y(DType::kF32, {4, 2, 2, 3});
  const RoiAlignAttributes good;
  RoiAlignAttributes t = good;
  const auto rule = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& out) {
    return refusal({"refused", OpCode::kRoiAlign, &t, {a, b, c}, {out}});
  };
  const auto f32 = [](Dims dims) { return Tensor(DType::kF32, std::move(dims)); };
  t.mode = RoiMode(2);
  CHECK(rule(x, boxes, images, y) == "roi_align.mode is known");
  t = good, t.samples = 257;
  CHECK(rule(x, boxes, images, y) == "roi_align.samples are few");
  for (const float scale : {NAN, INFINITY}) {
    t = good, t.scale = scale;
    CHECK(rule(x, boxes, images, y) == "roi_align.scale is finite");
  }
  t = good;
  CHECK(rule(Tensor(DType::kF16, {2, 5, 7, 3}), boxes, images, y) == "roi_align takes f32");
  CHECK(rule(x, Tensor(DType::kF64, {4, 4}), images, y) == "roi_align takes f32");
  CHECK(rule(x, boxes, Tensor(DType::kI32, {4}), y) == "the images of boxes are i64");
  CHECK(rule(f32({2, 5, 3}), boxes, images, y) == "roi_align has 2 spatial dimensions");
  CHECK(rule(x, boxes, images, f32({4, 4, 3})) == "roi_align keeps the rank");
  CHECK(rule(x, f32({16}), images, y) == "boxes are rows");
  CHECK(rule(x, f32({4, 5}), images, y) == "a box is four numbers");
  CHECK(rule(x, boxes, Tensor(DType::kI64, {4, 1}), y) == "images of boxes are a row");
  CHECK(rule(x, boxes, Tensor(DType::kI64, {3}), y) == "every box has an image");
  CHECK(rule(x, boxes, images, f32({3, 2, 2, 3})) == "y has the boxes");
  CHECK(rule(x, boxes, images, f32({4, 2, 2, 4})) == "roi_align keeps the channels");
  CHECK(rule(f32({2, 0, 7, 3}), boxes, images, y) == "roi_align cannot read an empty dimension");
  CHECK(rule(f32({1, 1 << 24, 1, 1}), boxes, images, f32({4, 1, 1, 1})) ==
        "roi_align extents fit 24 bits");
  CHECK(rule(f32({1, 1, 1, 1}), f32({1, 4}), Tensor(DType::kI64, {1}), f32({1, 1, 1 << 24, 1})) ==
        "roi_align extents fit 24 bits");
}
