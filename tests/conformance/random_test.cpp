// SPDX-License-Identifier: Apache-2.0
// Random: known answers of Philox, both kinds against the definition, moments, what the contract
// refuses.
#include "runtime/op/random.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/base/philox.h"
#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

Tensor state_of(int64_t seed, int64_t run) {
  Tensor t(DType::kI64, {2});
  t.view().as<int64_t>()[0] = seed, t.view().as<int64_t>()[1] = run;
  return t;
}
Case case_of(const RandomAttributes& t, const std::vector<int64_t>& dims, int64_t seed, int64_t run,
             int64_t iteration = -1) {
  std::vector<Tensor> inputs = {state_of(seed, run)};
  if (iteration >= 0) inputs.push_back(Tensor(DType::kI64, {}).values({double(iteration)}));
  return {"random",    OpCode::kRandom, &t, inputs, {Tensor(DType::kF32, dims)},
          {2e-6, 1e-5}};  // of the turn
}
std::vector<double> numbers_of(const RandomAttributes& t, int64_t count, int64_t seed, int64_t run,
                               int64_t iteration = -1) {
  Case c = case_of(t, {count}, seed, run, iteration);
  std::vector<TensorView> inputs;
  for (Tensor& x : c.inputs) inputs.push_back(x.view());
  const TensorView outputs[] = {c.outputs[0].view()};
  const OpArguments a = {&t, inputs.data(), outputs, uint16_t(inputs.size()), 1};
  REQUIRE(find_kernel(*cpu_kernels(nullptr), OpCode::kRandom, a)->run(a, Team()).ok());
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; i++) numbers.push_back(c.outputs[0].at(i));
  return numbers;
}

}  // namespace

TEST_CASE("random: Philox's known answers") {
  const PhiloxWords zero = philox({{0, 0, 0, 0}}, 0, 0);
  CHECK(zero.word[0] == 0x6627e8d5u);
  CHECK(zero.word[1] == 0xe169c58du);
  CHECK(zero.word[2] == 0xbc57ac4cu);
  CHECK(zero.word[3] == 0x9b00dbd8u);
  const PhiloxWords ones = philox({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u);
  CHECK(ones.word[0] == 0x408f276du);
  CHECK(ones.word[1] == 0x41c83b0eu);
  CHECK(ones.word[3] == 0x6d5451fdu);
}

TEST_CASE("random: kinds, sizes, seeds, runs and iterations") {
  for (const RandomKind kind : {RandomKind::kUniform, RandomKind::kNormal})
    for (const std::vector<int64_t>& dims :
         std::vector<std::vector<int64_t>>{{}, {0}, {1}, {3}, {4, 33}, {128}, {2, 5, 700}})
      for (const int64_t seed : {int64_t(0), int64_t(7), int64_t(0x123456789abcdef)}) {
        const RandomAttributes t = {kind, uint32_t(seed) % 5, -1.5f, 2.25f};
        run_case(case_of(t, dims, seed, 3));
        run_case(case_of(t, dims, seed, int64_t(1) << 33, 12));
      }
}

TEST_CASE("random: everything that it depends on makes other numbers") {
  const RandomAttributes t = {RandomKind::kNormal, 0, 0, 1}, other = {RandomKind::kNormal, 1, 0, 1};
  const std::vector<double> first = numbers_of(t, 40, 0, 0, 0);
  CHECK(numbers_of(t, 40, 0, 0) == first);
  for (const std::vector<double>& numbers : {numbers_of(other, 40, 0, 0), numbers_of(t, 40, 1, 0),
                                             numbers_of(t, 40, int64_t(1) << 32, 0),
                                             numbers_of(t, 40, 0, 1), numbers_of(t, 40, 0, 0, 1)})
    for (size_t i = 0; i < 40; i++) CHECK(numbers[i] != first[i]);
}

TEST_CASE("random: moments and bounds") {
  const int64_t n = 1 << 20;
  const std::vector<double> uniform = numbers_of({RandomKind::kUniform, 3, -1, 3}, n, 42, 0),
                            normal = numbers_of({RandomKind::kNormal, 4, 5, 2}, n, 42, 0);
  double sum = 0, squares = 0, fourth = 0, average = 0;
  for (const double x : uniform) {
    CHECK_MESSAGE((x >= -1 && x <= 3), x);
    average += x / double(n);
  }
  for (const double x : normal) {
    const double z = (x - 5) / 2;
    sum += z / double(n), squares += z * z / double(n), fourth += z * z * z * z / double(n);
  }
  CHECK(std::fabs(average - 1) < 0.006);
  CHECK(std::fabs(sum) < 0.005);
  CHECK(std::fabs(squares - 1) < 0.008);
  CHECK(std::fabs(fourth - 3) < 0.05);
}

TEST_CASE("random: the contract refuses") {
  RandomAttributes t = {RandomKind::kUniform, 0, 0, 1};
  const Tensor state = state_of(0, 0), y(DType::kF32, {3});
  const auto rule = [&](const Tensor& a, const Tensor& out, const Tensor& iteration = Tensor()) {
    std::vector<Tensor> inputs = {a};
    if (iteration.present()) inputs.push_back(iteration);
    return refusal({"refused", OpCode::kRandom, &t, inputs, {out}});
  };
  CHECK(rule(Tensor(DType::kI64, {3}), y) == "random's state is two i64");
  CHECK(rule(Tensor(DType::kI32, {2}), y) == "random's state is two i64");
  CHECK(rule(Tensor(DType::kI64, {1, 2}), y) == "random's state is two i64");
  CHECK(rule(state, Tensor(DType::kF64, {3})) == "random gives f32");
  CHECK(rule(state, y, Tensor(DType::kI64, {2})) == "an iteration is one i64");
  CHECK(rule(state, y, Tensor(DType::kI32, {})) == "an iteration is one i64");
  t.kind = RandomKind(2);
  CHECK(rule(state, y) == "random.kind is known");
  t = {RandomKind::kUniform, 0, NAN, 1};
  CHECK(rule(state, y) == "random's numbers are finite");
  t = {RandomKind::kUniform, 0, 0, INFINITY};
  CHECK(rule(state, y) == "random's numbers are finite");
}
