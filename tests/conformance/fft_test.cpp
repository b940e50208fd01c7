// SPDX-License-Identifier: Apache-2.0
// Fft: kinds, lengths of every factor and of none, short and strided rows, frames, windows; rows
// side by side and alone have the same bits; what the contract refuses.
#include "runtime/op/fft.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/conformance/combinations.h"
#include "tools/graph/fourier_table.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

Tensor table_of(const FftAttributes& t, DType dtype) {
  std::vector<double> numbers = graph::fourier_table(t);
  REQUIRE(int64_t(numbers.size()) == fft_table_elements(t));
  Tensor table(dtype, {int64_t(numbers.size())});
  return numbers.empty() ? table : table.values(numbers);
}
int64_t row_of_x(const FftAttributes& t) {
  const int64_t n = t.length;
  if (t.kind == FftKind::kFromReal) return n;
  return 2 * (t.kind == FftKind::kToReal ? n / 2 + 1 : n);
}
int64_t row_of_y(const FftAttributes& t, bool all) {
  const int64_t n = t.length;
  if (t.kind == FftKind::kToReal) return n;
  return 2 * (t.kind == FftKind::kFromReal && !all ? n / 2 + 1 : n);
}
/// Errors grow with the logarithm of the length, of a chirp some times faster; sums with its root.
Tolerance tolerance_of(const FftAttributes& t, DType dtype) {
  const double n = t.length, unit = dtype == DType::kF64 ? 1e-15 : 4e-7;
  const bool inverse = t.kind == FftKind::kInverse || t.kind == FftKind::kToReal;
  const double size = 4 * std::sqrt(n) * (inverse ? 1 / n : 1);
  return {unit * 8, unit * size * (2 + std::log2(n)) * (fft_plan(t).chirp() ? 4 : 1)};
}
Case case_of(const FftAttributes& t, const Tensor& x, bool all, const Tensor& window = Tensor(),
             int64_t padding = 0) {
  const DType dtype = x.view().dtype;
  Dims out;
  for (int i = 0; i + 1 < x.view().rank; i++) out.push_back(x.view().dims[i]);
  if (t.step > 0) out.push_back((x.view().row_length() - t.length) / t.step + 1);
  out.push_back(row_of_y(t, all));
  std::vector<Tensor> inputs = {x, table_of(t, dtype)};
  if (window.present()) inputs.push_back(window);
  return {"fft", OpCode::kFft, &t, inputs, {Tensor(dtype, out, padding)}, tolerance_of(t, dtype)};
}

}  // namespace

TEST_CASE("fft: the product of its attributes") {
  Combinations all("fft", 1200, 3, 0);
  const Axis<DType> dtype = all.axis<DType>("dtype", {DType::kF32, DType::kF64});
  const Axis<FftKind> kind = all.axis<FftKind>(
      "kind", {FftKind::kForward, FftKind::kInverse, FftKind::kFromReal, FftKind::kToReal});
  const Axis<uint32_t> length = all.axis<uint32_t>(
      "length", {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 22, 31, 32, 49, 60, 64, 74, 90, 100, 128});
  const Axis<int64_t> rows = all.axis<int64_t>("rows", {0, 1, 2, 5, 16, 23, 40});
  const Axis<int> missing = all.axis<int>("missing", {0, 1, 9});
  const Axis<bool> full = all.axis<bool>("full", {false, true});
  const Axis<bool> windowed = all.axis<bool>("windowed", {false, true});
  const Axis<int> padding = all.axis<int>("padding", {0, 3});
  FftAttributes t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    const bool real = kind() == FftKind::kFromReal;
    if (!real && (full() || windowed())) return false;
    t = {kind(), length(), 0};
    const int64_t m = row_of_x(t) - missing() * (real ? 1 : 2);
    if (m < 0) return false;
    Tensor window = windowed() ? Tensor(dtype(), {int64_t(length())}).random(seed + 1) : Tensor();
    c = case_of(t, Tensor(dtype(), {rows(), m}, padding()).random(seed += 2), full(), window,
                padding());
    return true;
  });
}

TEST_CASE("fft: frames of a signal") {
  for (const DType dtype : {DType::kF32, DType::kF64})
    for (const uint32_t length : {1u, 8u, 15u, 20u, 48u, 62u})
      for (const uint32_t step : {1u, 5u, 70u})
        for (const int64_t signals : {1, 3})
          for (const bool windowed : {false, true}) {
            const FftAttributes t = {FftKind::kFromReal, length, step};
            const Tensor window = windowed ? Tensor(dtype, {int64_t(length)}).random(9) : Tensor();
            run_case(
                case_of(t, Tensor(dtype, {signals, 150}, 3).random(length), step == 5, window));
          }
}

TEST_CASE("fft: long rows, whose rows go one by one") {
  for (const uint32_t length : {1000u, 2187u, 3001u, 8192u, 8200u})
    for (const FftKind kind : {FftKind::kFromReal, FftKind::kInverse})
      for (const int64_t rows : {1, 6}) {
        const FftAttributes t = {kind, length, 0};
        const int64_t m = row_of_x(t);
        // Few numbers that are not zero: the oracle takes each number of a row for each bin.
        Tensor x = Tensor(DType::kF32, {rows, m}).values({0});
        for (int64_t i = 0; i < 9 * rows; i++)
          x.set(i / 9 * m + (i * 7919 + 13) % m, double(i % 9) - 3.5);
        run_case(case_of(t, x, false));
      }
}

TEST_CASE("fft: a row has the same bits alone and beside others") {
  for (const uint32_t length : {30u, 128u, 77u}) {
    const FftAttributes t = {FftKind::kFromReal, length, 0};
    const int64_t rows = 37, m = length, b = row_of_y(t, false);
    Tensor x = Tensor(DType::kF32, {rows, m}).random(5), y(DType::kF32, {rows, b});
    const Tensor table = table_of(t, DType::kF32);
    const KernelTable& kernels = *cpu_kernels(nullptr);
    const auto run = [&](const TensorView& from, const TensorView& to) {
      const TensorView inputs[] = {from, table.view()}, outputs[] = {to};
      const OpArguments a = {&t, inputs, outputs, 2, 1};
      std::vector<float> scratch(kFftContract.scratch(a, 1).per_thread_bytes / 4);
      Team team;
      team.scratch = scratch.data();
      REQUIRE(find_kernel(kernels, OpCode::kFft, a)->run(a, team).ok());
    };
    run(x.view(), y.view());
    for (int64_t i = 0; i < rows; i++) {
      Tensor one(DType::kF32, {1, m}), bins(DType::kF32, {1, b});
      for (int64_t j = 0; j < m; j++) one.set(j, x.at(i * m + j));
      run(one.view(), bins.view());
      int64_t differ = 0;
      for (int64_t j = 0; j < b; j++) differ += bins.at(j) != y.at(i * b + j);
      CHECK(differ == 0);
    }
  }
}

TEST_CASE("fft: the contract refuses") {
  FftAttributes t = {FftKind::kFromReal, 8, 0};
  const Tensor x(DType::kF32, {3, 8}), y(DType::kF32, {3, 10}), table = table_of(t, DType::kF32);
  const auto f32 = [](Dims dims) { return Tensor(DType::kF32, std::move(dims)); };
  const auto rule = [&](const Tensor& a, const Tensor& b, const Tensor& out,
                        const Tensor& window = Tensor()) {
    std::vector<Tensor> inputs = {a, b};
    if (window.present()) inputs.push_back(window);
    return refusal({"refused", OpCode::kFft, &t, inputs, {out}});
  };
  CHECK(rule(f32({3, 9}), table, y) == "a row of x has the numbers of a transform");
  CHECK(rule(x, f32({5}), y) == "the table is of the length");
  CHECK(rule(x, f32({1, fft_table_elements(t)}), y) == "the table is of the length");
  CHECK(rule(x, Tensor(DType::kF64, {fft_table_elements(t)}), y) == "same dtype");
  CHECK(rule(x, table, Tensor(DType::kF64, {3, 10})) == "same dtype");
  CHECK(rule(Tensor(DType::kF16, {3, 8}), table, y) == "fft takes f32 and f64");
  CHECK(rule(x, table, f32({3, 12})) == "a row of y has the bins");
  CHECK(rule(x, table, f32({4, 10})) == "fft keeps the rows");
  CHECK(rule(x, table, f32({3, 1, 10})) == "fft keeps the rows");
  CHECK(rule(f32({}), table, f32({})) == "fft takes rows");
  CHECK(rule(x, table, y, f32({7})) == "a window is of n real numbers");
  CHECK(rule(x, table, y, Tensor(DType::kF64, {8})) == "same dtype");
  t.kind = FftKind(4);
  CHECK(rule(x, table, y) == "fft.kind is known");
  for (const uint32_t length : {0u, kMaxFftLength + 1, 0xffffffffu}) {
    t = {FftKind::kFromReal, length, 0};
    CHECK(rule(x, table, y) == "fft.length is 1 .. 2^22");
  }
  t = {FftKind::kForward, 4, 1};
  CHECK(rule(x, table, f32({3, 8})) == "fft.step is of real numbers");
  t = {FftKind::kForward, 4, 0};
  CHECK(rule(f32({3, 7}), table, f32({3, 8})) == "complex numbers are pairs");
  CHECK(rule(f32({3, 10}), table, f32({3, 8})) == "a row of x has the numbers of a transform");
  CHECK(rule(x, table_of(t, DType::kF32), f32({3, 8}), f32({4})) ==
        "a window is of n real numbers");
  t = {FftKind::kToReal, 8, 0};
  CHECK(rule(f32({3, 12}), table, f32({3, 8})) == "a row of x has the numbers of a transform");
  t = {FftKind::kFromReal, 8, 3};
  CHECK(rule(f32({3, 7}), table, f32({3, 1, 10})) == "a row of x has the numbers of a transform");
  CHECK(rule(f32({3, 14}), table, f32({3, 2, 10})) == "y has a row for each frame");
  CHECK(rule(f32({3, 14}), table, y) == "fft keeps the rows");
}
