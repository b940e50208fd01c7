// SPDX-License-Identifier: Apache-2.0
// Attention: layouts, lengths, masks, groups of heads, key counts; and what the contract refuses.
#include "runtime/op/attention.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/conformance/attention_case.h"
#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

void run(AttentionCase c, int q_rank, int k_rank, int y_rank, DType kept,
         const std::vector<double>& sinks = {}) {
  constexpr int64_t kUnit = attention::kScaledUnit;
  if (kept == DType::kU8)
    c.dim = round_up(c.dim, kUnit), c.value_dim = round_up(c.value_dim, kUnit);
  AttentionAttributes t;
  t.heads = uint32_t(c.heads), t.kv_heads = uint32_t(c.kv_heads);
  t.scale = 0.7f / std::sqrt(float(c.dim + 1)), t.causal = c.causal, t.softcap = c.softcap;
  Case test{c.name, OpCode::kAttention, &t, {}, {}, {1e-5, 4e-6}};
  test.inputs = {heads_tensor(q_rank, c.batch, c.heads, c.queries, c.dim, c.padding).random(1),
                 kept_tensor(k_rank, c.batch, c.kv_heads, c.keys, c.dim, 2 * c.padding, kept, 2),
                 kept_tensor(k_rank, c.batch, c.kv_heads, c.keys, c.value_dim, c.padding, kept, 3)};
  if (c.kind != MaskKind::kNone || !c.counts.empty()) test.inputs.push_back(mask_tensor(c));
  if (!c.counts.empty()) {
    Tensor counts(DType::kI64, {int64_t(c.counts.size())});
    test.inputs.push_back(counts.values(c.counts));
  }
  if (!sinks.empty()) {
    test.inputs.resize(attention::kSinks);
    Tensor of_heads(DType::kF32, {c.heads});
    for (int64_t h = 0; h < c.heads; h++) of_heads.set(h, sinks[size_t(h) % sinks.size()]);
    test.inputs.push_back(of_heads);
  }
  test.outputs = {heads_tensor(y_rank, c.batch, c.heads, c.queries, c.value_dim, 3 * c.padding)};
  run_case(test);
}

}  // namespace

TEST_CASE("attention: lengths, widths, layouts") {
  const AttentionCase cases[] = {
      {"one query, one key", 1, 1, 1, 1, 1, 8, 8},
      {"one query", 1, 2, 2, 1, 37, 32, 32},
      {"one query, keys beyond a block", 2, 2, 2, 1, 530, 16, 48},
      {"two queries", 1, 3, 3, 2, 19, 24, 24},
      {"a head of one number", 1, 2, 2, 5, 6, 1, 1},
      {"odd widths", 1, 2, 2, 17, 23, 13, 29},
      {"wide heads", 1, 1, 1, 15, 40, 128, 128},
      {"wider than a panel group", 1, 1, 1, 3, 20, 80, 100},
      {"a tile and one", 1, 1, 1, 43, 16, 16, 16},
      {"more queries than a chunk", 1, 1, 1, 259, 33, 8, 8},
      {"a block of keys", 1, 1, 1, 9, 256, 16, 16},
      {"a block and one", 1, 1, 1, 9, 257, 16, 16},
      {"three blocks", 1, 2, 2, 44, 700, 16, 16},
      {"strided rows", 2, 3, 3, 20, 21, 16, 16, CausalMask::kNone, {}, MaskKind::kNone, {}, 0, 5},
      {"no keys", 1, 2, 2, 3, 0, 8, 8},
      {"no queries", 1, 2, 2, 0, 3, 8, 8},
      {"a width of nothing", 1, 2, 2, 3, 4, 0, 8},
  };
  for (const AttentionCase& c : cases)
    for (int layout = 0; layout < 8; layout++) {
      if (is_left_out()) continue;
      const int k_rank = layout & 2 ? 4 : 3;
      run(c, layout & 1 ? 4 : 3, k_rank, layout & 4 ? 4 : 3, DType::kF32);
      if (layout >= 4) continue;
      run(c, layout & 1 ? 4 : 3, k_rank, 3, DType::kF16);
      run(c, layout & 1 ? 4 : 3, k_rank, 3, DType::kU8);
    }
}

TEST_CASE("attention: masks, causal order, groups of heads, counts") {
  using C = CausalMask;
  using M = MaskKind;
  const AttentionCase cases[] = {
      {"padding mask", 2, 2, 2, 20, 37, 16, 16, C::kNone, {2, 1, 1, 37}, M::kFloat},
      {"padding mask of bools", 2, 2, 2, 20, 37, 16, 16, C::kNone, {2, 1, 1, 37}, M::kBool},
      {"mask a query", 1, 2, 2, 20, 300, 16, 16, C::kNone, {20, 300}, M::kFloat, {}, 0, 3},
      {"mask a query, bools", 1, 2, 2, 20, 300, 16, 16, C::kNone, {20, 300}, M::kBool},
      {"bias a head", 2, 3, 3, 9, 18, 8, 8, C::kNone, {3, 9, 18}, M::kFloat},
      {"mask a batch and query", 2, 2, 2, 9, 18, 8, 8, C::kNone, {2, 1, 9, 1}, M::kBool},
      {"one number", 1, 2, 2, 9, 18, 8, 8, C::kNone, {}, M::kFloat},
      {"one key of all", 1, 2, 2, 9, 18, 8, 8, C::kNone, {2, 9, 1}, M::kFloat},
      {"causal", 1, 2, 2, 61, 61, 16, 16, C::kTopLeft},
      {"causal, one query", 1, 2, 2, 1, 9, 16, 16, C::kTopLeft},
      {"causal over blocks", 1, 1, 1, 301, 301, 8, 8, C::kTopLeft},
      {"causal with fewer keys", 1, 1, 1, 50, 20, 8, 8, C::kTopLeft},
      {"causal from the end", 1, 2, 2, 7, 40, 16, 16, C::kBottomRight},
      {"causal from the end, too many queries", 1, 2, 2, 50, 11, 16, 16, C::kBottomRight},
      {"causal and mask", 2, 2, 2, 45, 45, 16, 16, C::kTopLeft, {45, 45}, M::kFloat},
      {"grouped heads", 2, 6, 2, 5, 33, 16, 16},
      {"grouped heads, one query", 1, 8, 2, 1, 290, 16, 16},
      {"one query, heads of threads", 1, 13, 1, 1, 290, 40, 40},
      {"grouped heads, causal", 1, 6, 2, 25, 25, 8, 8, C::kTopLeft},
      {"one head of keys", 2, 4, 1, 30, 31, 8, 24, C::kBottomRight, {4, 1, 31}, M::kBool},
      {"counts", 3, 2, 2, 4, 40, 8, 8, C::kNone, {}, M::kNone, {40, 0, 17}},
      {"one count", 3, 2, 2, 4, 400, 8, 8, C::kNone, {}, M::kNone, {300}},
      {"counts and causal", 3, 4, 2, 5, 40, 8, 8, C::kBottomRight, {}, M::kNone, {40, 3, 17}},
      {"counts and mask", 2, 2, 2, 5, 40, 8, 8, C::kTopLeft, {40}, M::kBool, {39, 5}},
      {"softcap", 1, 2, 2, 15, 21, 8, 8, C::kNone, {15, 21}, M::kFloat, {}, 0.5f},
  };
  for (const AttentionCase& c : cases)
    for (const auto& [rank, kept] : {std::pair(3, DType::kF32), std::pair(4, DType::kF32),
                                     std::pair(3, DType::kF16), std::pair(3, DType::kU8)})
      if (!is_left_out()) run(c, rank, rank, rank, kept);
}

TEST_CASE(
    "attention: a row that sees nothing is zero, whatever keys and values hold; large scores do "
    "not overflow") {
  AttentionAttributes t;
  t.heads = t.kv_heads = 1;
  Tensor q(DType::kF32, {1, 3, 8}), k(DType::kF32, {1, 5, 8}), v(DType::kF32, {1, 5, 8}),
      mask(DType::kBool, {3, 5});
  q.random(1), k.random(2), v.random(3);
  mask.values({0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0});
  for (int64_t d = 0; d < 8; d++) k.set(4 * 8 + d, d % 2 ? INFINITY : NAN);  // seen by nobody
  run_case({"masked rows",
            OpCode::kAttention,
            &t,
            {q, k, v, mask},
            {Tensor(DType::kF32, {1, 3, 8})},
            {1e-5, 4e-6}});
  t.scale = 1e6f;
  run_case({"large scores",
            OpCode::kAttention,
            &t,
            {q, v, v},
            {Tensor(DType::kF32, {1, 3, 8})},
            {1e-5, 4e-6}});
  v.set(9, NAN), v.set(20, INFINITY), v.set(33, -INFINITY);
  t.scale = 1;
  run_case({"not finite",
            OpCode::kAttention,
            &t,
            {q, v, v},
            {Tensor(DType::kF32, {1, 3, 8})},
            {1e-5, 4e-6}});
}

TEST_CASE("attention: a count outside the keys is named") {
  AttentionAttributes t;
  const Tensor x(DType::kF32, {1, 3, 8});
  for (const double count : {-1.0, 4.0}) {
    Tensor counts(DType::kI64, {});
    run_failing_case(
        {"count", OpCode::kAttention, &t, {x, x, x, Tensor(), counts.values({count})}, {x}},
        Code::kBadIndexValue);
  }
}

TEST_CASE("attention: batches that choose their keys, alone and as runs of one sequence") {
  struct Chosen {
    const char* name;
    std::vector<double> batches, counts;
    int64_t queries = 1, keys = 300;
    CausalMask causal = CausalMask::kNone;
    MaskKind mask = MaskKind::kNone;
  };
  const Chosen cases[] = {
      {"one", {1}, {300}},
      {"each another", {2, 0, 1}, {17, 300, 0}},
      {"a sequence, others between", {2, 0, 0, 0, 1, 0}, {5, 255, 256, 257, 40, 258}},
      {"the same key twice", {1, 1, 1, 1}, {8, 9, 9, 10}},
      {"masks", {0, 0, 0, 2, 2}, {11, 12, 13, 5, 6}, 1, 40, CausalMask::kNone, MaskKind::kBool},
      {"masks of floats", {1, 1, 0}, {39, 40, 40}, 1, 40, CausalMask::kNone, MaskKind::kFloat},
      {"several queries", {2, 2, 0}, {9, 10, 3}, 3, 40, CausalMask::kBottomRight},
      {"one query in causal order", {1, 1, 1}, {1, 2, 3}, 1, 40, CausalMask::kBottomRight},
      {"one query from the first", {1, 1, 1}, {1, 2, 3}, 1, 40, CausalMask::kTopLeft},
  };
  constexpr int kHeads = 12;  // those of one query are several threads' work
  AttentionAttributes t;
  t.heads = kHeads, t.kv_heads = 2, t.scale = 0.3f;
  for (const Chosen& c : cases)
    for (const int rank : {3, 4}) {
      const int64_t b = int64_t(c.batches.size());
      const AttentionCase shape = {
          c.name, b, kHeads, 2, c.queries, c.keys, 8, 24, c.causal, {b, 1, 1, c.keys}, c.mask};
      t.causal = c.causal;
      Case test{c.name, OpCode::kAttention, &t, {}, {}, {1e-5, 4e-6}};
      test.inputs = {heads_tensor(rank, b, kHeads, c.queries, 8, 0).random(1),
                     heads_tensor(3, 3, 2, c.keys, 8, 5).random(2),
                     heads_tensor(3, 3, 2, c.keys, 24, 0).random(3),
                     mask_tensor(shape),
                     Tensor(DType::kI64, {b}).values(c.counts),
                     Tensor(DType::kI32, {b}).values(c.batches)};
      test.outputs = {heads_tensor(rank, b, kHeads, c.queries, 24, 3)};
      run_case(test);
    }
  for (const double batch : {-1.0, 3.0}) {
    const Tensor q(DType::kF32, {2, 1, kHeads * 8}), k(DType::kF32, {3, 5, 16});
    t.causal = CausalMask::kNone;
    run_failing_case({"batch",
                      OpCode::kAttention,
                      &t,
                      {q, k, k, Tensor(), Tensor(DType::kI64, {}).values({5}),
                       Tensor(DType::kI64, {2}).values({0, batch})},
                      {q}},
                     Code::kBadIndexValue);
  }
}

TEST_CASE("attention: sinks take their part of a row, over blocks, tiles and key batches") {
  using C = CausalMask;
  using M = MaskKind;
  const AttentionCase cases[] = {
      {"one query, one key", 1, 2, 2, 1, 1, 8, 8},
      {"one query, blocks", 1, 8, 2, 1, 530, 16, 24},
      {"two to four rows", 1, 4, 2, 2, 300, 16, 16, C::kBottomRight},
      {"more queries than a chunk", 1, 2, 1, 259, 33, 8, 8},
      {"causal over blocks", 1, 2, 2, 301, 301, 8, 8, C::kTopLeft},
      {"causal, rows that read no key", 1, 2, 2, 50, 11, 16, 16, C::kBottomRight},
      {"mask a query", 1, 2, 2, 20, 300, 16, 16, C::kNone, {20, 300}, M::kFloat},
      {"mask a query, bools", 2, 4, 2, 20, 300, 16, 16, C::kNone, {20, 300}, M::kBool},
      {"counts", 3, 2, 2, 4, 40, 8, 8, C::kNone, {}, M::kNone, {40, 0, 17}},
      {"softcap", 1, 2, 2, 15, 21, 8, 8, C::kNone, {}, M::kNone, {}, 0.5f},
      {"no keys", 1, 2, 2, 3, 0, 8, 8},
      {"strided rows", 2, 3, 3, 20, 21, 16, 16, C::kNone, {}, M::kNone, {}, 0, 5},
  };
  // near the scores, above them all, below them all, no part, and those that are no number
  const double values[] = {0.4, 30, -30, -INFINITY, INFINITY, NAN, -0.2, 1e30};
  for (const AttentionCase& c : cases)
    for (const DType kept : {DType::kF32, DType::kF16, DType::kU8})
      for (int first = 0; first < 8; first += int(std::min<int64_t>(c.heads, 4)))
        if (!is_left_out()) run(c, 3, 3, 3, kept, {values + first, values + 8});
  AttentionAttributes t;
  t.heads = 4, t.kv_heads = 2, t.scale = 0.3f;
  Case chosen{"key batches", OpCode::kAttention, &t, {}, {}, {1e-5, 4e-6}};
  chosen.inputs = {heads_tensor(3, 6, 4, 1, 8, 0).random(1),
                   heads_tensor(3, 3, 2, 300, 8, 5).random(2),
                   heads_tensor(3, 3, 2, 300, 24, 0).random(3),
                   Tensor(),
                   Tensor(DType::kI64, {6}).values({5, 255, 256, 257, 0, 258}),
                   Tensor(DType::kI32, {6}).values({2, 0, 0, 0, 1, 0}),
                   Tensor(DType::kF32, {4}).values({0.4, -3, 2, -INFINITY})};
  chosen.outputs = {heads_tensor(3, 6, 4, 1, 24, 3)};
  run_case(chosen);
}

TEST_CASE("attention: a sink is a key that scores it and has a value of zeros") {
  constexpr int64_t kKeys = 270, kDim = 8;
  AttentionAttributes t;
  t.heads = t.kv_heads = 1;
  const Tensor q = Tensor(DType::kF32, {1, 3, kDim}).random(1),
               k = Tensor(DType::kF32, {1, kKeys, kDim}).random(2),
               v = Tensor(DType::kF32, {1, kKeys, kDim}).random(3);
  Tensor more_k(DType::kF32, {1, kKeys + 1, kDim}), more_v = more_k,
                                                    mask(DType::kF32, {1, kKeys + 1});
  more_k.values({0}), more_v.values({0}), mask.values({0});
  for (int64_t i = 0; i < kKeys * kDim; i++) more_k.set(i, k.at(i)), more_v.set(i, v.at(i));
  mask.set(kKeys, 1.5);
  const auto answer = [&](const std::vector<TensorView>& inputs) {
    Tensor y(DType::kF32, {1, 3, kDim});
    TensorView out = y.view();
    const OpArguments a = {&t, inputs.data(), &out, uint16_t(inputs.size()), 1};
    const KernelEntry* const kernel = find_kernel(*cpu_kernels("scalar"), OpCode::kAttention, a);
    REQUIRE(kernel != nullptr);
    std::vector<double> scratch(kAttentionContract.scratch(a, 1).per_thread_bytes / 8 + 8);
    Team team;
    team.scratch = scratch.data();
    REQUIRE(kernel->run(a, team).ok());
    return y;
  };
  Tensor sinks = Tensor(DType::kF32, {1}).values({1.5});
  Tensor none;
  const Tensor found = answer({q.view(), k.view(), v.view(), none.view(), none.view(), none.view(),
                               sinks.view()}),
               wanted = answer({q.view(), more_k.view(), more_v.view(), mask.view()}),
               without = answer({q.view(), k.view(), v.view()});
  for (int64_t i = 0; i < 3 * kDim; i++) {
    CHECK(std::fabs(found.at(i) - wanted.at(i)) < 1e-6);
    CHECK(std::fabs(found.at(i) - without.at(i)) > 1e-6 * std::fabs(without.at(i)));
  }
}

namespace {

void check_same_bits(DType kept, int heads, int kv_heads, int64_t dim) {
  constexpr int64_t kQueries = 90, kKeys = 400, kFirst = 250;
  const int64_t width = heads * dim;
  CAPTURE(heads);
  CAPTURE(kv_heads);
  AttentionAttributes t;
  t.heads = heads, t.kv_heads = kv_heads, t.scale = 0.3f;
  const Tensor sinks = Tensor(DType::kF32, {heads}).random(4);
  const Tensor q = Tensor(DType::kF32, {kQueries, 1, width}).random(1),
               k = kept_tensor(3, 2, kv_heads, kKeys, dim, 0, kept, 2),
               v = kept_tensor(3, 2, kv_heads, kKeys, dim, 0, kept, 3);
  Tensor wide_k(DType::kF32, {2, kKeys, kv_heads * dim}), wide_v = wide_k;
  for (int64_t i = 0; i < 2 * kKeys * kv_heads * dim; i++)
    wide_k.set(i, kept_at(k, kept, dim, i)), wide_v.set(i, kept_at(v, kept, dim, i));
  for (const char* isa : {"scalar", "avx2", "avx512", "neon"}) {
    const KernelTable* const table = cpu_kernels(isa);
    if (!table) continue;
    CAPTURE(isa);
    const auto run = [&](const std::vector<TensorView>& inputs, TensorView y) {
      const OpArguments a = {&t, inputs.data(), &y, uint16_t(inputs.size()), 1};
      const KernelEntry* const kernel = find_kernel(*table, OpCode::kAttention, a);
      REQUIRE(kernel != nullptr);
      std::vector<double> scratch(kAttentionContract.scratch(a, 1).per_thread_bytes / 8 + 8);
      Team team;
      team.scratch = scratch.data();
      REQUIRE(kernel->run(a, team).ok());
    };
    Tensor counts(DType::kI64, {kQueries}), ones(DType::kI64, {kQueries}),
        all(DType::kF32, {kQueries, 1, width}), none;
    for (int64_t i = 0; i < kQueries; i++) counts.set(i, double(kFirst + i)), ones.set(i, 1);
    const TensorView absent = none.view();
    run({q.view(), k.view(), v.view(), absent, counts.view(), ones.view(), sinks.view()},
        all.view());
    Tensor widened(DType::kF32, {kQueries, 1, width});
    run({q.view(), wide_k.view(), wide_v.view(), absent, counts.view(), ones.view(), sinks.view()},
        widened.view());
    int64_t at = -1;
    CHECK_MESSAGE(widened.same_bits(all, &at), "element " << at);
    int64_t differ = 0;
    for (int64_t i = 0; i < kQueries; i++) {
      Tensor one(DType::kF32, {1, 1, width}), y(DType::kF32, {1, 1, width});
      for (int64_t d = 0; d < width; d++) one.set(d, q.at(i * width + d));
      const Tensor count = Tensor(DType::kI64, {1}).values({double(kFirst + i)});
      TensorView keys = k.view(), values = v.view();
      keys.dims[0] = values.dims[0] = 1;  // the second batch by itself
      const int64_t batch_bytes = kKeys * keys.dims[2] * dtype_bytes(kept);
      keys.data = keys.as<char>() + batch_bytes, values.data = values.as<char>() + batch_bytes;
      run({one.view(), keys, values, absent, count.view(), absent, sinks.view()}, y.view());
      for (int64_t d = 0; d < width; d++) differ += y.at(d) != all.at(i * width + d);
    }
    CHECK(differ == 0);
  }
}

}  // namespace

// By one to four rows of queries to a head of keys, and widths that are no whole vectors.
TEST_CASE("attention: a query has the same bits in a run of its sequence, alone, and by itself") {
  check_same_bits(DType::kF32, 3, 3, 36);
  check_same_bits(DType::kF32, 4, 2, 100);
  check_same_bits(DType::kF32, 6, 2, 32);
  check_same_bits(DType::kF32, 8, 2, 20);
}
TEST_CASE("attention: keys and values in f16 and 8 bits have the bits of the same numbers in f32") {
  check_same_bits(DType::kF16, 6, 2, 33);
  check_same_bits(DType::kU8, 6, 2, 32);
  check_same_bits(DType::kU8, 4, 1, 96);
}

TEST_CASE("attention: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(AttentionAttributes&, Case&);
  };
  using A = AttentionAttributes;
  const auto f32 = [](std::vector<int64_t> dims) { return Tensor(DType::kF32, std::move(dims)); };
  static const auto make = f32;
  const Wrong wrongs[] = {
      {"attention has heads", [](A& t, Case&) { t.heads = 0; }},
      {"attention has heads", [](A& t, Case&) { t.kv_heads = 0; }},
      {"attention.kv_heads divides heads", [](A& t, Case&) { t.kv_heads = 3; }},
      {"attention.causal is known", [](A& t, Case&) { t.causal = CausalMask(3); }},
      {"attention.softcap is finite and not negative", [](A& t, Case&) { t.softcap = -1; }},
      {"attention.softcap is finite and not negative", [](A& t, Case&) { t.softcap = NAN; }},
      {"attention.empty_rows is known",
       [](AttentionAttributes& t, Case&) { t.empty_rows = EmptyRows(3); }},
      {"attention's empty rows are a mean with a bool mask only",
       [](AttentionAttributes& t, Case&) { t.empty_rows = EmptyRows::kMean; }},
      {"attention.scale is finite", [](A& t, Case&) { t.scale = INFINITY; }},
      {"attention's q and y are f32, k and v both f32, f16 or u8",
       [](A&, Case& c) { c.inputs[2].view().dtype = DType::kI32; }},
      {"attention's q and y are f32, k and v both f32, f16 or u8",
       [](A&, Case& c) {
         c.inputs[1] = Tensor(DType::kF16, {2, 9, 16});
       }},
      {"attention's q and y are f32, k and v both f32, f16 or u8",
       [](A&, Case& c) {
         c.inputs[0] = Tensor(DType::kF16, {2, 5, 16});
       }},
      {"attention's q and y are f32, k and v both f32, f16 or u8",
       [](A&, Case& c) {
         c.outputs[0] = Tensor(DType::kF16, {2, 5, 16});
       }},
      {"attention's heads of u8 are whole blocks of 36 bytes",
       [](A&, Case& c) {
         c.inputs[1] = c.inputs[2] = Tensor(DType::kU8, {2, 9, 16});
       }},
      {"attention takes [B, T, heads * D] or [B, heads, T, D]",
       [](A&, Case& c) {
         c.inputs[0] = make({3, 16});
       }},
      {"attention's operands have their number of heads",
       [](A&, Case& c) {
         c.inputs[1] = make({2, 4, 9, 8});
       }},
      {"heads divide attention's last dimension",
       [](A&, Case& c) {
         c.inputs[0] = make({2, 5, 17});
       }},
      {"attention's heads are at most 4096 wide",
       [](A&, Case& c) {
         c.inputs[2] = make({2, 9, 16384});
       }},
      {"attention's operands have one batch",
       [](A&, Case& c) {
         c.inputs[1] = make({1, 9, 16});
       }},
      {"attention's operands have one batch",
       [](A&, Case& c) {
         c.inputs[2] = make({1, 9, 16});
       }},
      {"heads of q and k are equally wide",
       [](A&, Case& c) {
         c.inputs[1] = make({2, 9, 18});
       }},
      {"k and v have as many tokens",
       [](A&, Case& c) {
         c.inputs[2] = make({2, 8, 16});
       }},
      {"attention's y has q's batch",
       [](A&, Case& c) {
         c.outputs[0] = make({1, 5, 16});
       }},
      {"attention's y has q's tokens",
       [](A&, Case& c) {
         c.outputs[0] = make({2, 6, 16});
       }},
      {"heads of y and v are equally wide",
       [](A&, Case& c) {
         c.outputs[0] = make({2, 5, 18});
       }},
      {"attention's mask is f32 or bool8",
       [](A&, Case& c) { c.inputs[3] = Tensor(DType::kI32, {9}); }},
      {"attention's mask has at most 4 dimensions",
       [](A&, Case& c) {
         c.inputs[3] = make({1, 1, 1, 1, 9});
       }},
      {"attention's mask broadcasts to [B, heads, Tq, Tk]",
       [](A&, Case& c) {
         c.inputs[3] = make({4, 9});
       }},
      {"attention's key counts are i32 or i64", [](A&, Case& c) { c.inputs[4] = make({2}); }},
      {"attention's key counts are [B] or one number",
       [](A&, Case& c) { c.inputs[4] = Tensor(DType::kI64, {3}); }},
      {"attention's key batches are i32 or i64",
       [](A&, Case& c) { c.inputs.push_back(make({2})); }},
      {"attention's key batches are [B]",
       [](A&, Case& c) { c.inputs.emplace_back(DType::kI64, std::vector<int64_t>{3}); }},
      {"attention's sinks are f32",
       [](A&, Case& c) {
         c.inputs.resize(6), c.inputs.emplace_back(DType::kF16, std::vector<int64_t>{2});
       }},
      {"attention's sinks are [heads]",
       [](A&, Case& c) { c.inputs.resize(6), c.inputs.push_back(make({3})); }},
      {"attention's sinks are [heads]",
       [](A&, Case& c) {
         c.inputs.resize(6), c.inputs.push_back(make({1, 2}));
       }},
      {"attention's empty rows are zero with sinks",
       [](A& t, Case& c) {
         c.inputs.resize(6), c.inputs.push_back(make({2})), t.empty_rows = EmptyRows::kNan;
       }},
      {"not too many inputs", [](A&, Case& c) { c.inputs.resize(8, c.inputs[0]); }},
  };
  for (const Wrong& w : wrongs) {
    AttentionAttributes t;
    t.heads = t.kv_heads = 2;
    Case c{w.rule, OpCode::kAttention, &t, {}, {make({2, 5, 16})}};
    c.inputs = {make({2, 5, 16}), make({2, 9, 16}), make({2, 2, 9, 8}), make({5, 9}),
                Tensor(DType::kI32, {2})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
