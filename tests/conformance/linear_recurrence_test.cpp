// SPDX-License-Identifier: Apache-2.0
// LinearRecurrence: heads that share keys and queries, decay and beta of each kind, rows of states
// that tokens leave and begin with, numbers that are none; and that a split changes no bit.
#include "runtime/op/linear_recurrence.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ingot/cpu.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;
using namespace ingot::linear_recurrence;

namespace {

using Dims = std::vector<int64_t>;
using Attributes = LinearRecurrenceAttributes;

struct Sizes {
  int64_t tokens = 1, rows = 1, keys = 4, values = 4;
};
enum class Decay { kNone, kByHead, kByKey };
enum class Beta { kNone, kByHead, kOne };

Case case_of(const Attributes& t, const Sizes& s, Decay decay, Beta beta, uint32_t seed,
             int64_t padding = 0) {
  const int64_t h = t.heads, n = std::max(t.heads, t.query_heads), size = h * s.keys * s.values;
  const auto rows = [&](int64_t columns) {
    return Tensor(DType::kF32, {s.tokens, columns}, padding);
  };
  const double wide = 1 / std::sqrt(double(s.keys + 1));  // so that a delta rule stays bounded
  Tensor from(DType::kI64, {s.tokens}), to(DType::kI64, {s.tokens});
  for (int64_t i = 0; i < s.tokens; i++) {
    from.set(i, double((i * 5 + seed) % (s.rows + 1)) - 1);
    to.set(i, double((i * 3 + seed) % s.rows));
  }
  Tensor of_decay, of_beta;
  if (decay != Decay::kNone)
    of_decay = rows(decay == Decay::kByKey ? h * s.keys : h).random(seed + 1, 0, 1);
  if (beta != Beta::kNone) of_beta = rows(beta == Beta::kOne ? 1 : h).random(seed + 2, 0, 1);
  return {"linear_recurrence",
          OpCode::kLinearRecurrence,
          &t,
          {rows(t.query_heads * s.keys).random(seed + 3),
           rows(t.key_heads * s.keys).random(seed + 4, -wide, wide),
           rows(h * s.values).random(seed + 5),
           Tensor(DType::kF32, {s.rows, size}).random(seed + 6), from, to, of_decay, of_beta},
          {Tensor(DType::kF32, {s.rows, size}), rows(n * s.values)},
          {2e-5, 2e-5}};
}

/// Tokens in one run, and in runs of every length: the same bits.
void check_splits(const Attributes& t, const Sizes& sizes, Decay decay, Beta beta) {
  Case whole = case_of(t, sizes, decay, beta, 11);
  for (int64_t i = 0; i < sizes.tokens; i++)
    whole.inputs[kFrom].set(i, double(i ? (i - 1) % 2 : -1)),
        whole.inputs[kTo].set(i, double(i % 2));
  const auto* const table = reinterpret_cast<const KernelTable*>(ingot_cpu_kernels(nullptr));
  const auto run = [&](const Case& c) {
    std::vector<TensorView> in, out;
    for (const Tensor& each : c.inputs) in.push_back(each.view());
    for (const Tensor& each : c.outputs) out.push_back(each.view());
    const OpArguments a = {&t, in.data(), out.data(), uint16_t(in.size()), 2};
    const KernelEntry* const kernel = find_kernel(*table, OpCode::kLinearRecurrence, a);
    REQUIRE(kernel != nullptr);
    REQUIRE(kernel->run(a, Team()).ok());
  };
  run(whole);
  for (int64_t length = 1; length < sizes.tokens; length++) {
    Tensor states = whole.inputs[kStates], y = whole.outputs[1];
    y.poison();
    for (int64_t first = 0; first < sizes.tokens; first += length) {
      const int64_t count = std::min(length, sizes.tokens - first);
      Case part = whole;
      for (Tensor& each : part.inputs)
        if (&each != &part.inputs[kStates]) {
          each.view().data = static_cast<uint8_t*>(each.view().data) +
                             first * each.view().row_stride * (each.view().rank == 1 ? 0 : 4) +
                             (each.view().rank == 1 ? first * 8 : 0);
          each.view().dims[0] = Extent(count);
        }
      part.inputs[kStates] = part.outputs[0] = states;
      Tensor some(DType::kF32, {count, y.view().dims[1]});
      part.outputs[1] = some;
      run(part);
      states = part.outputs[0];
      std::memcpy(y.view().as<float>() + first * y.view().row_stride, part.outputs[1].view().data,
                  size_t(count * y.view().row_length()) * sizeof(float));
    }
    int64_t at = -1;
    CHECK(y.same_bits(whole.outputs[1], &at));
    CHECK(states.same_bits(whole.outputs[0], &at));
  }
}

}  // namespace

TEST_CASE("linear_recurrence: the product of its attributes") {
  Combinations all("linear_recurrence", 1500, 3, 4);
  const Axis<Attributes> heads = all.axis<Attributes>(
      "heads",
      {{1, 1, 1}, {4, 1, 1}, {4, 2, 2}, {2, 2, 2}, {2, 2, 6}, {6, 3, 2}, {4, 4, 1}, {1, 1, 3}});
  const Axis<int64_t> tokens = all.axis<int64_t>("tokens", {1, 0, 2, 7, 33}),
                      rows = all.axis<int64_t>("rows", {1, 2, 5}),
                      keys = all.axis<int64_t>("keys", {1, 5, 16, 40}),
                      values = all.axis<int64_t>("values", {1, 7, 16, 33, 64, 130});
  const Axis<Decay> decay = all.axis<Decay>("decay", {Decay::kNone, Decay::kByHead, Decay::kByKey});
  const Axis<Beta> beta = all.axis<Beta>("beta", {Beta::kNone, Beta::kByHead, Beta::kOne});
  const Axis<int> padding = all.axis<int>("padding", {0, 4, 3});
  uint32_t seed = 0;
  all.run([&](Case& c) {
    seed += 7;
    if (decay() == Decay::kNone && tokens() > 7) return false;  // grows without a bound
    c = case_of(heads(), {tokens(), rows(), keys(), values()}, decay(), beta(), seed, padding());
    return true;
  });
}

TEST_CASE("linear_recurrence: real widths, and nothing") {
  const Attributes mamba = {8, 1, 1}, delta = {4, 2, 2};
  run_case(case_of(mamba, {9, 2, 128, 32}, Decay::kByHead, Beta::kNone, 3));
  run_case(case_of(mamba, {1, 2, 128, 64}, Decay::kByHead, Beta::kNone, 4));
  run_case(case_of(delta, {9, 2, 128, 128}, Decay::kByHead, Beta::kByHead, 5));
  // columns of one: a head of Mamba each, and a rest of heads
  for (const int64_t keys : {16, 32, 12})
    for (const uint32_t heads : {64u, 39u, 3u})
      for (const int64_t padding : {0, 3}) {
        const Attributes columns = {heads, 1, 1};
        run_case(case_of(columns, {9, 3, keys, 1}, Decay::kByKey, Beta::kNone, 7, padding));
      }
  for (const Sizes& s : {Sizes{3, 2, 0, 5}, Sizes{3, 2, 5, 0}, Sizes{0, 2, 5, 5}})
    run_case(case_of(delta, s, Decay::kByHead, Beta::kByHead, 6));
}

TEST_CASE("linear_recurrence: NaN and infinities stay in their head and column") {
  const Attributes t = {2, 1, 2};
  for (const double bad : {double(NAN), double(INFINITY)})
    for (const int operand : {int(kQuery), int(kValue), int(kStates), int(kDecay)}) {
      Case c = case_of(t, {3, 1, 6, 19}, Decay::kByHead, Beta::kNone, 9);
      for (int64_t i = 0; i < 3; i++) c.inputs[kFrom].set(i, 0);
      c.inputs[size_t(operand)].set(1, bad);
      run_case(c);
    }
}

TEST_CASE("linear_recurrence: a split changes no bit") {
  check_splits({4, 2, 2}, {12, 2, 16, 24}, Decay::kByHead, Beta::kByHead);
  check_splits({35, 1, 1}, {12, 2, 16, 1}, Decay::kByKey, Beta::kNone);
}

TEST_CASE("linear_recurrence: a bad row is reported") {
  const Attributes t = {2, 1, 1}, columns = {32, 1, 1};
  for (const double row : {-2.0, 3.0, 9e18})
    for (const int operand : {int(kFrom), int(kTo)}) {
      Case c = case_of(t, {4, 3, 4, 5}, Decay::kByHead, Beta::kNone, 1);
      c.inputs[size_t(operand)].set(2, row);
      run_failing_case(c, Code::kBadIndexValue);
      c = case_of(columns, {4, 3, 16, 1}, Decay::kByKey, Beta::kNone, 1);
      c.inputs[size_t(operand)].set(2, row);
      run_failing_case(c, Code::kBadIndexValue);
    }
  Case c = case_of(t, {4, 3, 4, 5}, Decay::kByHead, Beta::kNone, 1);
  c.inputs[kTo].set(2, -1);  // zeros are what a token begins with alone
  run_failing_case(c, Code::kBadIndexValue);
}

TEST_CASE("linear_recurrence: the contract refuses") {
  const Attributes good = {4, 2, 2};
  Attributes t = good;
  const Case whole = case_of(good, {3, 2, 5, 7}, Decay::kByHead, Beta::kByHead, 1);
  const auto rule = [&](size_t operand, Tensor with) {
    Case c = whole;
    c.attributes = &t;
    (operand < 8 ? c.inputs[operand] : c.outputs[operand - 8]) = std::move(with);
    return refusal(c);
  };
  const auto f32 = [](Dims dims) { return Tensor(DType::kF32, std::move(dims)); };
  const Tensor q = whole.inputs[kQuery];
  for (const Attributes& heads : {Attributes{0, 1, 1}, Attributes{1, 0, 1}, Attributes{1, 1, 0},
                                  Attributes{0x80000000u, 1, 1}}) {
    t = heads;
    CHECK(rule(kQuery, q) == "linear_recurrence has 1 to 65536 heads");
  }
  t = {4, 3, 2};
  CHECK(rule(kQuery, q) == "heads share keys");
  t = {4, 2, 3};
  CHECK(rule(kQuery, q) == "heads share queries, or queries a head");
  t = good;
  CHECK(rule(kQuery, Tensor(DType::kF16, {3, 10})) == "linear_recurrence takes f32");
  CHECK(rule(kDecay, Tensor(DType::kF64, {3, 4})) == "linear_recurrence takes f32");
  CHECK(rule(9, Tensor(DType::kF16, {3, 28})) == "linear_recurrence takes f32");
  CHECK(rule(kQuery, f32({30})) == "linear_recurrence takes a row a token");
  CHECK(rule(kKey, f32({4, 10})) == "linear_recurrence takes a row a token");
  CHECK(rule(kBeta, f32({2, 4})) == "linear_recurrence takes a row a token");
  CHECK(rule(9, f32({4, 28})) == "linear_recurrence takes a row a token");
  CHECK(rule(kQuery, f32({3, 11})) == "heads of a row have one width");
  CHECK(rule(kValue, f32({3, 29})) == "heads of a row have one width");
  CHECK(rule(kQuery, f32({3, 12})) == "queries are as wide as keys");
  CHECK(rule(9, f32({3, 32})) == "y is as wide as values");
  CHECK(rule(kStates, f32({2, 139})) == "a row of states has keys times values of each head");
  CHECK(rule(kStates, f32({140})) == "a row of states has keys times values of each head");
  CHECK(rule(kStates, Tensor(DType::kF16, {2, 140})) == "states are f32");
  CHECK(rule(8, f32({3, 140})) != "");
  CHECK(rule(kFrom, Tensor(DType::kI32, {3})) == "rows of states are i64");
  CHECK(rule(kTo, Tensor(DType::kI64, {4})) == "rows of states are a number a token");
  CHECK(rule(kTo, Tensor(DType::kI64, {3, 1})) == "rows of states are a number a token");
  CHECK(rule(kDecay, f32({3, 5})) == "decay is of each head, or of each of its keys");
  CHECK(rule(kBeta, f32({3, 2})) == "beta is of each head, or one");
}
