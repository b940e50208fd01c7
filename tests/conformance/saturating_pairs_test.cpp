// SPDX-License-Identifier: Apache-2.0
// Products of bytes whose sums leave 16 bits, which AVX2 adds there: every pair of weights around
// where that begins, two and four pairs, at every place; bytes up to each limit; tails of pixels
// and channels.
#include <doctest/doctest.h>

#include <set>

#include "tests/conformance/quantized_products_case.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Rows of x, [rows, k], times weights [o, k]: whole sums of a convolution, bytes of a layer.
void run_sums(const Tensor& x, const Tensor& dense) {
  const int64_t rows = x.view().dims[0], k = x.view().dims[1], o = dense.view().dims[0];
  QuantizedConv2dAttributes t;
  t.requant = RequantMode::kToFloat;
  const auto reshaped = [](const Tensor& from, const Dims& dims) {
    Tensor to(from.view().dtype, dims);
    for (int64_t i = 0; i < to.view().elements(); i++) to.set(i, from.at(i));
    return to;
  };
  const Tensor image = reshaped(x, {1, 1, rows, k}), filters = reshaped(dense, {o, 1, 1, k});
  Case sums{"quantized_conv2d", OpCode::kQuantizedConv2d, &t, {}, {}, {0, 0}};
  sums.inputs = {image, packed_conv_weights(t, filters)};
  sums.oracle_inputs = {image, filters};
  add_channels(&sums,
               {Tensor(DType::kI32, {o}), Tensor(DType::kF32, {o}).random(1),
                Tensor(DType::kF32, {o}).random(2)},
               o);
  sums.inputs.push_back(Tensor(DType::kF32, {1, 2}).values({1, 0}));
  sums.oracle_inputs.push_back(sums.inputs.back());
  sums.outputs = {Tensor(DType::kI32, {1, 1, rows, o})};
  run_case(sums);

  QuantizedLinearAttributes l;
  l.y_zero = 128;
  Case bytes{"quantized_linear", OpCode::kQuantizedLinear, &l, {}, {}, {0, 0}};
  bytes.inputs = {x, packed_linear_weights(dense)};
  bytes.oracle_inputs = {x, dense};
  add_channels(&bytes, {Tensor(DType::kI32, {o}), Tensor(DType::kF32, {o}).values({1.0 / 512})}, o);
  bytes.outputs = {Tensor(DType::kU8, {rows, o})};
  run_case(bytes);
}

/// Small weights; in one group of `each` a pair at or beyond a limit.
Tensor weights_with_pairs(const Dims& dims, int each, uint32_t seed) {
  const std::vector<std::array<int, 2>> pairs = {
      {-128, -128}, {127, 127}, {127, 1}, {127, 2},    {-128, 0},   {-128, -1}, {-128, 127},
      {85, 85},     {85, 86},   {64, 65}, {-100, -70}, {-100, -71}, {-64, -64}, {1, 127}};
  Tensor w = Tensor(DType::kI8, dims).random(seed, -40, 40);
  const int64_t o = dims[0], k = o ? w.view().elements() / o : 0;
  int next = 0;
  for (int64_t i = 0; i < o; i++)
    for (int64_t c = 0; c + 1 < k; c += 2)
      if ((i + c / 2) % (2 * each) == 0)
        for (int side = 0; side < 2; side++)
          w.set(i * k + c + side, pairs[size_t(next++ / 2) % pairs.size()][size_t(side)]);
  return w;
}

}  // namespace

TEST_CASE("pairs of weights around the limits, at every place of a group") {
  constexpr int64_t k = 40;  // so that few groups of a panel have one
  std::vector<std::array<int, 2>> pairs;
  for (int first = -128; first <= 127; first++) {
    std::set<int> seconds = {-128, 127};
    for (const int sum : {128, 129, 170, 171}) seconds.insert({sum - first, -sum - first});
    for (const int second : seconds)
      if (second >= -128 && second <= 127) pairs.push_back({first, second});
  }
  const int64_t o = int64_t(pairs.size());
  Tensor dense(DType::kI8, {o, k});
  for (int64_t i = 0; i < o; i++)
    for (int64_t c = 0; c < k; c++)
      dense.set(i * k + c, c / 2 == i % 20 ? pairs[size_t(i)][size_t(c % 2)] : 0);
  for (const std::vector<int>& bytes :
       {std::vector<int>{0, 1, 127, 128}, {0, 128, 129, 192}, {0, 192, 193, 255}}) {
    Tensor x(DType::kU8, {32, k});
    for (int64_t row = 0; row < 32; row++)
      for (int64_t c = 0; c < k; c++)
        x.set(row * k + c, bytes[size_t(c % 2 ? row / 4 % 4 : row % 4)]);
    run_sums(x, dense);
  }
}

TEST_CASE("two and four pairs of weights around the limits, at every place of a chunk") {
  constexpr int64_t k = 152;  // a chunk, and a rest of six groups
  for (const int largest : {255, 131, 97, 66}) {
    const int most = 32767 / largest;
    std::vector<std::vector<int>> rows;  // of a pair of every group
    for (const int pairs : {2, 4})
      for (const int sum : {most, most + 1, -most, -most - 1})
        for (const int64_t first : {int64_t{0}, int64_t{4}, k / 4 - 6})
          for (int half = 0; half < 2; half++) {
            std::vector<int> row(size_t(k), 0);
            for (int i = 0, left = sum; i < 2 * pairs; i++) {
              const int weight = left / (2 * pairs - i);
              row[size_t((first + i / 2) * 4 + 2 * half + i % 2)] = weight, left -= weight;
            }
            rows.push_back(row);
          }
    const int64_t o = int64_t(rows.size()), outputs = 16 * o;  // a panel each
    Tensor dense = Tensor(DType::kI8, {outputs, k}).values({0});
    for (int64_t i = 0; i < o; i++)
      for (int64_t c = 0; c < k; c++)
        dense.set((16 * i + i % 16) * k + c, rows[size_t(i)][size_t(c)]);
    run_sums(Tensor(DType::kU8, {16, k}).values({double(largest)}), dense);
  }
}

TEST_CASE("rows and channels of every tail, bytes up to each limit") {
  struct Row {
    int64_t rows, k, o;
  };
  std::vector<Row> all = {{37, 4, 40}, {37, 128, 40}, {37, 132, 40}, {33, 260, 17}, {116, 20, 1}};
  for (int64_t rows : {12, 16, 17, 20, 21, 32, 33, 48, 49, 53}) all.push_back({rows, 20, 24});
  uint32_t seed = 1;
  for (const Row& row : all)
    for (const int most : {128, 192, 255}) {
      if (row.o == 24 && most < 255) continue;
      Tensor x = Tensor(DType::kU8, {row.rows, row.k}).random(seed, 0, most);
      for (int64_t i = 0; i < row.rows * row.k; i += 3) x.set(i, i % 2 ? most : 0);
      for (int64_t c = 0; c < row.k; c++) x.set(c, most);
      run_sums(x, weights_with_pairs({row.o, row.k}, 10, seed + 1));
      seed += 3;
    }
  // nearly every group, which other tiles compute
  run_sums(Tensor(DType::kU8, {40, 64}).values({255}), weights_with_pairs({24, 64}, 1, 1));
}

TEST_CASE("convolutions with pairs that saturate: windows, strides, borders, groups") {
  struct Row {
    Dims x;
    int64_t o;
    uint32_t kernel, stride, dilation, pad, groups;
  };
  const Row rows[] = {{{1, 9, 11, 20}, 40, 3, 1, 1, 1, 1}, {{2, 11, 11, 36}, 24, 3, 2, 1, 1, 1},
                      {{1, 12, 9, 8}, 20, 3, 1, 2, 2, 1},  {{1, 14, 14, 132}, 50, 1, 1, 1, 0, 1},
                      {{1, 15, 13, 6}, 16, 1, 2, 1, 0, 1}, {{1, 10, 10, 24}, 40, 3, 1, 1, 1, 2},
                      {{1, 24, 18, 4}, 33, 5, 1, 1, 2, 1}};
  uint32_t seed = 5;
  for (const Row& row : rows)
    for (const RequantMode mode : {RequantMode::kFloatEven, RequantMode::kFixedUp})
      for (const int w_zero : {0, -3}) {
        QuantizedConv2dAttributes t;
        t.kernel_h = t.kernel_w = row.kernel, t.stride_h = t.stride_w = row.stride;
        t.dilation_h = t.dilation_w = row.dilation;
        t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = row.pad;
        t.groups = row.groups, t.requant = mode, t.w_zero = w_zero, t.x_zero = 255, t.y_zero = 128;
        if (row.groups > 1) t.method = ConvMethod::kGrouped;
        const auto extent = [&](int64_t in) {
          return (in + 2 * row.pad - row.dilation * (row.kernel - 1) - 1) / row.stride + 1;
        };
        const Tensor image = Tensor(DType::kU8, row.x).random(seed, 0, 255),
                     dense = weights_with_pairs(
                         {row.o, row.kernel, row.kernel, row.x[3] / row.groups}, 10, seed + 1);
        Case c{"quantized_conv2d", OpCode::kQuantizedConv2d, &t, {}, {}, {0, 0}};
        c.inputs = {image, packed_conv_weights(t, dense)};
        c.oracle_inputs = {image, dense};
        const bool fixed = mode == RequantMode::kFixedUp;
        std::vector<Tensor> numbers = {Tensor(DType::kI32, {row.o}).random(seed, -4000, 4000),
                                       fixed ? Tensor(DType::kI32, {row.o}).values({1 << 30})
                                             : Tensor(DType::kF32, {row.o}).values({1.0 / 1024})};
        if (fixed) numbers.push_back(Tensor(DType::kI32, {row.o}).values({9}));
        add_channels(&c, numbers, row.o);
        c.outputs = {Tensor(DType::kU8, {row.x[0], extent(row.x[1]), extent(row.x[2]), row.o})};
        run_case(c);
        seed += 7;
      }
}
