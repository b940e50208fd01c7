// SPDX-License-Identifier: Apache-2.0
// tests/import/aten/composed_numbers_test.cpp - operators that are lowered to several others give
// eager PyTorch's numbers (torch 2.15): running and sorted values, small linear algebra, masks,
// spectra.
#include <cmath>
#include <functional>

#include "tests/import/aten/program.h"
#include "tools/diagnose/reference/evaluator.h"

using namespace ingot;
using namespace ingot::test;
using aten::Value;
using Numbers = std::vector<double>;

namespace {

/// The first element that is further off than 2e-5 of the largest, or -1.
int64_t first_difference(const Numbers& got, const Numbers& expected) {
  if (got.size() != expected.size()) return 0;
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < got.size(); i++)
    if (!(std::abs(got[i] - expected[i]) <= 2e-5 * largest)) return int64_t(i);
  return -1;
}

/// What the nodes compute: not all of them fold while they are made.
Numbers computed(Program& p, const Value& value) {
  reference::Evaluator evaluator(p.model);
  evaluator.run(p.model.graph);
  return evaluator.get(p.builder.read(value.tensor)).at;
}

}  // namespace

TEST_CASE("operators of several nodes give PyTorch's numbers") {
  Program p;
  const Value x = p.floats({2, 3}, {2, -1, 0.5, 3, 0.25, -2}), b = p.floats({3}, {-1, 0.5, 2}),
              x2 = p.floats({2, 3}, {1.5, 0, 3, -1, 1.25, 4}),
              b2 = p.floats({3}, {1.25, 0.75, 2.25}), b1 = p.floats({3}, {1, 0.5, 2}),
              b3 = p.floats({3}, {-0.333333343, 0.166666672, 0.666666687}),
              m = p.floats({3, 3}, {0, 2, 1, 1, 1, 0, 3, 0, 1}),
              p3 = p.floats({3, 3}, {6, 2, 1, 2, 3, 3, 1, 3, 11}),
              mask = p.tensor(DType::kBool, {2, 3}, {1, 0, 1, 1, 0, 0});
  struct Row {
    const char* op;
    std::vector<Value> arguments;
    Numbers expected;
  };
  const Row rows[] = {
      {"cumprod", {x, whole(1)}, {2, -2, -1, 3, 0.75, -1.5}},
      {"cummax", {x, whole(1)}, {2, 2, 2, 3, 3, 3}},
      {"cummin", {x, whole(0)}, {2, -1, 0.5, 2, -1, -2}},
      {"logcumsumexp", {x, whole(1)}, {2, 2.04858732, 2.24131131, 3, 3.06196761, 3.0682807}},
      {"kthvalue", {x, whole(2)}, {0.5, 0.25}},
      {"median", {x}, {0.25}},
      {"quantile", {x, real(0.3), whole(1)}, {-0.0999999642, -0.649999976}},
      {"histc", {x, whole(4), real(-2), real(2)}, {1, 1, 2, 1}},
      {"bucketize", {x, b}, {2, 0, 1, 3, 1, 0}},
      {"searchsorted", {b, x}, {2, 0, 1, 3, 1, 0}},
      {"inverse",
       {m},
       {-0.199999988, 0.399999976, 0.200000018, 0.200000018, 0.599999964, -0.199999988, 0.599999964,
        -1.19999993, 0.399999976}},
      {"det", {m}, {-5}},
      {"linalg_solve", {m, b}, {0.799999952, -0.300000012, -0.399999946}},
      {"linalg_cholesky",
       {p3},
       {2.44948983, 0, 0, 0.816496611, 1.52752519, 0, 0.408248305, 1.74574327, 2.79028916}},
      {"matrix_power", {m, whole(3)}, {5, 12, 6, 6, 5, 2, 18, 12, 7}},
      {"trace", {m}, {2}},
      {"kron",
       {b, x},
       {-2, 1, -0.5, 1, -0.5, 0.25, 4, -2, 1, -3, -0.25, 2, 1.5, 0.125, -1, 6, 0.5, -4}},
      {"cross", {x, x2, whole(1)}, {-3, -5.25, 1.5, 3.5, -10, 4}},
      {"diag_embed", {b, whole(-1)}, {0, 0, 0, 0, -1, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 2, 0}},
      {"nonzero", {mask}, {0, 0, 0, 2, 1, 0}},
      {"masked_select", {x, mask}, {2, 0.5, 3}},
      {"masked_scatter", {x, mask, x2}, {1.5, -1, 0, 3, 0.25, -2}},
      {"rot90", {x}, {0.5, -2, -1, 0.25, 2, 3}},
      {"xlogy", {x2, b1}, {0, 0, 2.07944155, -0, -0.866433978, 2.77258873}},
      {"digamma", {b2}, {-0.227453679, -1.08586049, 0.572546363}},
      {"erfinv", {b3}, {-0.304570198, 0.148795351, 0.684070349}},
      {"i0", {x}, {2.27958512, 1.26606596, 1.06348348, 4.88079262, 1.01568627, 2.27958512}},
      {"logaddexp2",
       {x, x2},
       {2.77155328, 0.584962487, 3.23484063, 3.0874629, 1.83496249, 4.02236795}},
      {"copysign", {x, x2}, {2, 1, 0.5, -3, 0.25, 2}},
      {"mse_loss", {x, x2}, {10.083333}},
      {"trapezoid", {x}, {0.25, 0.75}},
      {"renorm",
       {x, whole(2), whole(0), real(1)},
       {0.872871518, -0.436435759, 0.21821788, 0.830057383, 0.069171451, -0.553371608}},
  };
  std::vector<Value> made;
  for (const Row& row : rows) made.push_back(p.results(row.op, row.arguments).at(0));
  REQUIRE(p.refusals() == "");
  for (const Row& row : rows) {
    CAPTURE(std::string(row.op));
    CHECK(first_difference(computed(p, made[size_t(&row - rows)]), row.expected) == -1);
  }
}

TEST_CASE("what programs that are decomposed for the device call") {
  Program p;
  const Value x = p.floats({2, 3}, {2, -1, 0.5, 3, 0.25, -2}),
              y = p.floats({2, 3}, {1.5, 0, 3, -1, 1.25, 4}),
              m = p.floats({3, 3}, {0, 2, 1, 1, 1, 0, 3, 0, 1}),
              w = p.floats({2, 3, 3}, {0, 2, 1, 1, 1, 0, 3, 0, 1, 0, 2, 1, 1, 1, 0, 3, 0, 1}),
              mask = p.tensor(DType::kBool, {2, 3}, {1, 0, 1, 1, 0, 0});
  const auto numbers = [&](const Value& value) { return computed(p, value); };
  CHECK(first_difference(numbers(p.call("pdist", {m, real(1.5)})),
                         {2.08008385, 4.00818872, 2.85673833}) == -1);
  CHECK(first_difference(numbers(p.call("_pdist_forward", {m, real(2)})),
                         {1.73205078, 3.60555124, 2.44948983}) == -1);
  CHECK(numbers(p.call("_cdist_forward", {x, y, real(1), {}})) == Numbers{4, 8.75, 6.75, 11});
  CHECK(numbers(p.call("_trilinear", {x, w, y, list({1, 3}), list({0}), list({1, 2}),
                                      list({2, 3})})) == Numbers{8.25, 8.25, 17.5625, 17.5625});
  CHECK(numbers(p.call_with("nonzero_static", {mask}, {{"size", whole(5)}})) ==
        Numbers{0, 0, 0, 2, 1, 0, -1, -1, -1, -1});
  CHECK(numbers(p.call_with("nonzero_static", {mask}, {{"size", whole(2)}})) ==
        Numbers{0, 0, 0, 2});
  const auto sloped =
      p.results("rrelu_with_noise_functional", {x, y, real(0.25), real(0.5), Value::of(false)});
  CHECK(numbers(sloped.at(0)) == Numbers{2, -0.375, 0.5, 3, 0.25, -0.75});
  CHECK(numbers(sloped.at(1)) == numbers(y));
  // a number that a tensor is taken from
  CHECK(numbers(p.call_with("sub", {whole(2), x}, {{"alpha", whole(2)}})) ==
        Numbers{-2, 4, 1, -4, 1.5, 6});
  CHECK(numbers(p.call("remainder", {real(2.5), x}, "Scalar_Tensor")) ==
        Numbers{0.5, -0.5, 0, 2.5, 0, -1.5});
  const Value whole_numbers = p.call("sub", {whole(1), p.tensor(DType::kI64, {2}, {3, 4})});
  CHECK(p.dtype(whole_numbers) == DType::kI64);
  CHECK(p.shape(p.call("empty_permuted", {list({2, 3}), list({1, 0})})) == "[2, 3]");
  CHECK(p.refusals() == "");
  (void)p.call("pdist", {p.input("rows", DType::kF32, {graph::Dim(4096), graph::Dim(2)}), real(2)});
  CHECK(p.refusals().find("aten::pdist|self|pdist_") == 0);
}

TEST_CASE("exponential noise is the logarithm of uniform numbers") {
  Program p;
  const Value made = p.call("exponential", {p.floats({3, 4}, Numbers(12)), real(2)});
  CHECK(p.shape(made) == "[3, 4]");
  CHECK(p.dtype(made) == DType::kF32);
  CHECK(p.refusals() == "");
  bool is_random = false;
  for (const graph::Node& node : p.model.graph.nodes) is_random |= node.op == op::Random;
  CHECK(is_random);
  CHECK_THROWS_AS((void)p.call("exponential", {p.floats({2}, {0, 0}), real(0)}),
                  graph::ConversionError);
}

TEST_CASE("complex tensors: spectra, products, and back") {
  Program p;
  const Value x = p.floats({2, 3}, {2, -1, 0.5, 3, 0.25, -2});
  const Value spectrum = p.call("fft_fft", {x});
  CHECK(first_difference(computed(p, p.call("abs", {spectrum})),
                         {1.5, 2.59807611, 2.59807611, 1.25, 4.33733797, 4.33733797}) == -1);
  const Value square = p.call("mul", {spectrum, spectrum});
  CHECK(first_difference(computed(p, p.call("real", {square})),
                         {2.25, 3.375, 3.375, 1.5625, 11.21875, 11.21875}) == -1);
  const Value back = p.call("fft_irfft", {p.call("fft_rfft", {x}), whole(3)});
  CHECK(first_difference(computed(p, back), {2, -1, 0.5, 3, 0.25, -2}) == -1);
  CHECK(p.refusals() == "");
  (void)p.call("sin", {spectrum});
  CHECK(p.refusals().find("aten::sin|self|sin_") == 0);
}

TEST_CASE("complex tensors go through to() by their parts") {
  Program p;
  const Value z = p.call("view_as_complex", {p.floats({2, 2}, {3, 4, 6, -8})});
  constexpr int64_t kDouble = 7, kComplex64 = 9, kComplex128 = 10;
  const auto parts = [&](const Value& value) {
    return computed(p, p.call("view_as_real", {value}));
  };
  const Value device = Value::of(std::string("cpu"));
  CHECK(parts(p.call("to", {z, device, whole(kComplex64)}, "device")) == Numbers{3, 4, 6, -8});
  CHECK(parts(p.call_with("to", {z}, {{"dtype", whole(kComplex64)}, {"device", device}})) ==
        Numbers{3, 4, 6, -8});
  const Value wide = p.call("to", {z, whole(kComplex128)}, "dtype");
  CHECK(parts(wide) == Numbers{3, 4, 6, -8});
  CHECK(p.dtype(p.call("view_as_real", {wide})) == DType::kF64);
  CHECK(parts(p.call_with("_to_copy", {z}, {{"dtype", whole(kComplex64)}})) ==
        Numbers{3, 4, 6, -8});
  CHECK(parts(p.call("cpu", {z})) == Numbers{3, 4, 6, -8});
  const Value real = p.call("to", {z, whole(kDouble)}, "dtype");  // what is imaginary goes
  CHECK(computed(p, real) == Numbers{3, 6});
  CHECK(p.dtype(real) == DType::kF64);
  CHECK(parts(p.call("to", {p.floats({2}, {5, -1}), whole(kComplex64)}, "dtype")) ==
        Numbers{5, 0, -1, 0});
  CHECK(parts(p.call("to", {z, wide}, "other")) == Numbers{3, 4, 6, -8});
  CHECK(p.refusals() == "");
}

TEST_CASE("item of a number that only the run knows is a tensor of rank 0") {
  Program p;
  const Value lengths = p.input("lengths", DType::kI64, {graph::Dim(3)});
  const Value longest = p.call("item", {p.call("max", {lengths})});
  REQUIRE(longest.is(Value::Kind::kTensor));
  CHECK(p.shape(longest) == "[]");
  CHECK(p.dtype(longest) == DType::kI64);
  const Value one = p.call("item", {p.input("x", DType::kF32, {graph::Dim(1)})});
  CHECK(p.shape(one) == "[]");
  CHECK(p.refusals() == "");
  (void)p.call("item", {lengths});  // three numbers
  CHECK(p.refusals().find("aten::item|self|item_") == 0);
}

TEST_CASE("tensors of fewer dimensions than an operator reads are refused, none without end") {
  const auto refused = [](const std::string& name,
                          const std::function<std::vector<Value>(Program&)>& arguments) {
    Program p;
    try {
      (void)p.call(name, arguments(p));
    } catch (const graph::ConversionError& error) {
      return error.exit_code == 2 && error.message.find(name) != std::string::npos;
    }
    return p.refusals() != "";
  };
  const auto shape = [](Program& p, const graph::Dims& dims) {
    return p.input("x" + std::to_string(p.model.values.size()), DType::kF32, dims);
  };
  const Value no = Value::of(false);
  CHECK(refused("linalg_solve", [&](Program& p) {
    return std::vector<Value>{shape(p, {3, 3}), shape(p, {3}), no};
  }));
  CHECK(refused("linalg_solve_ex", [&](Program& p) {
    return std::vector<Value>{shape(p, {3}), shape(p, {3, 3}), no};
  }));
  CHECK(refused("nll_loss", [&](Program& p) {
    return std::vector<Value>{shape(p, {2, 5}), p.input("target", DType::kI64, {})};
  }));
  CHECK(refused("masked_scatter", [&](Program& p) {
    return std::vector<Value>{shape(p, {3}), p.input("mask", DType::kBool, {2, 3}), shape(p, {6})};
  }));
  CHECK(refused("adaptive_max_pool2d", [&](Program& p) {
    return std::vector<Value>{shape(p, {1, 2, 0, 5}), list({3, 2})};
  }));
  CHECK(refused("_pack_padded_sequence", [&](Program& p) {
    return std::vector<Value>{shape(p, {4}), p.input("lengths", DType::kI64, {2}), Value::of(true)};
  }));
  // numbers that pass the ends of the integers
  CHECK(refused("randint", [&](Program&) {
    return std::vector<Value>{whole(INT64_MIN), whole(5), list({2})};
  }));
  CHECK(refused("diag_embed", [&](Program& p) {
    return std::vector<Value>{shape(p, {2}), whole(INT64_MAX)};
  }));
  CHECK(refused("as_strided", [&](Program& p) {
    return std::vector<Value>{shape(p, {4}), list({2, 2}), list({INT64_MAX, 12})};
  }));
  Program p;
  CHECK(p.results("broadcast_tensors", {Value::list({})}).at(0).items->empty());
  constexpr int64_t kInt = 3;  // of a window: without what is behind the point
  CHECK(p.numbers(p.call_with("hann_window", {whole(4)}, {{"dtype", whole(kInt)}})) ==
        Numbers{0, 0, 1, 0});
  CHECK(p.call("arange", {real(0), real(-1e30)}, "start").is(Value::Kind::kTensor));
}

namespace {

/// As torchvision's kernel computes it, one bin after the other.
Numbers pooled(const Numbers& x, const std::vector<int64_t>& in, const Numbers& rois, float scale,
               int64_t height, int64_t width) {
  Numbers out;
  const auto bin = [](int64_t at, int64_t from, float each, int64_t extent, int64_t* end) {
    const int64_t low = int64_t(std::floor(float(at) * each)) + from;
    const int64_t high = int64_t(std::ceil(float(at + 1) * each)) + from;
    *end = std::min(std::max(high, int64_t(0)), extent);
    return std::min(std::max(low, int64_t(0)), extent);
  };
  for (size_t k = 0; k < rois.size(); k += 5) {
    int64_t at[4];
    for (size_t i = 0; i < 4; i++) at[i] = int64_t(std::round(float(rois[k + 1 + i]) * scale));
    const float each_y = float(std::max(at[3] - at[1] + 1, int64_t(1))) / float(height),
                each_x = float(std::max(at[2] - at[0] + 1, int64_t(1))) / float(width);
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t i = 0; i < height; i++)
        for (int64_t j = 0; j < width; j++) {
          int64_t bottom = 0, right = 0;
          const int64_t top = bin(i, at[1], each_y, in[2], &bottom),
                        left = bin(j, at[0], each_x, in[3], &right);
          double best = top < bottom && left < right ? -1e30 : 0;
          for (int64_t h = top; h < bottom; h++)
            for (int64_t w = left; w < right; w++)
              best = std::max(best,
                              x[size_t(((int64_t(rois[k]) * in[1] + c) * in[2] + h) * in[3] + w)]);
          out.push_back(best);
        }
  }
  return out;
}

}  // namespace

TEST_CASE("roi_pool is the largest of each bin, as torchvision cuts them") {
  Program p;
  const std::vector<int64_t> in = {2, 3, 9, 13};
  Numbers x, rois = {0, 0,  0, 12, 8,  1, 2.5, 3.5, 7.4, 6.6, 1, -4, -6, 3,  2,
                     0, 11, 7, 40, 30, 1, 5,   5,   4,   4,   0, 60, 2,  70, 9};
  for (int i = 0; i < 2 * 3 * 9 * 13; i++) x.push_back(double((i * 7919) % 1009) - 500);
  const Value image = p.floats(in, x), boxes = p.floats({6, 5}, rois);
  for (const double scale : {1.0, 0.5, 0.3})
    for (const auto& size : {std::pair{2, 3}, {1, 1}, {7, 7}, {12, 5}}) {
      const int height = size.first, width = size.second;
      CAPTURE(scale);
      CAPTURE(height);
      const Value made =
          p.call("torchvision::roi_pool", {image, boxes, real(scale), whole(height), whole(width)});
      REQUIRE(p.refusals() == "");
      CHECK(p.shape(made) ==
            "[6, 3, " + std::to_string(height) + ", " + std::to_string(width) + "]");
      CHECK(computed(p, made) == pooled(x, in, rois, float(scale), height, width));
    }
}

TEST_CASE("what is written to a complex tensor's pairs is seen in it") {
  Program p;
  const Value pairs = p.floats({2, 2}, {3, 4, 6, 8});
  const Value z = p.call("view_as_complex", {pairs});
  (void)p.call("mul_", {pairs, real(2)});
  CHECK(computed(p, p.call("abs", {z})) == Numbers{10, 20});
  (void)p.call("zero_", {p.call("imag", {z})});
  CHECK(computed(p, pairs) == Numbers{6, 0, 12, 0});
  CHECK(p.refusals() == "");
}

TEST_CASE("a result is written where out= says") {
  Program p;
  const Value x = p.floats({2}, {1, 2}), z = p.floats({2}, {0, 0});
  (void)p.call_with("add", {x, x}, {{"out", z}});
  CHECK(computed(p, z) == Numbers{2, 4});
  CHECK(p.refusals() == "");
}
