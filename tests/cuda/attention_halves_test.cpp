// SPDX-License-Identifier: Apache-2.0
// Attention whose q, k and v, or y, are f16 in memory (runtime/device/gpu/f16_activations.h): the
// bits of the same numbers in f32, y rounded once; which mixtures there are.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "tests/conformance/attention_case.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr uint64_t kHeads = 7;  // q, k and v
constexpr uint64_t kKept = 6;   // k and v

Work halves_work(const AttentionCase& c, int q_rank, int k_rank, AttentionAttributes* t) {
  t->heads = uint32_t(c.heads), t->kv_heads = uint32_t(c.kv_heads);
  t->scale = 0.7f / std::sqrt(float(c.dim + 1)), t->causal = c.causal, t->softcap = c.softcap;
  Work w{OpCode::kAttention,
         t,
         {},
         heads_tensor(q_rank, c.batch, c.heads, c.queries, c.value_dim, 3 * c.padding)};
  w.inputs = {heads_tensor(q_rank, c.batch, c.heads, c.queries, c.dim, c.padding).random(1),
              heads_tensor(k_rank, c.batch, c.kv_heads, c.keys, c.dim, 2 * c.padding).random(2),
              heads_tensor(k_rank, c.batch, c.kv_heads, c.keys, c.value_dim, c.padding).random(3)};
  if (c.kind != MaskKind::kNone || !c.counts.empty()) w.inputs.push_back(mask_tensor(c));
  if (!c.counts.empty())
    w.inputs.push_back(Tensor(DType::kI64, {int64_t(c.counts.size())}).values(c.counts));
  return w;
}

void check_same(const Tensor& got, const Tensor& want, const char* what) {
  int64_t at = -1;
  const bool same = got.same_bits(want, &at);
  CHECK_MESSAGE(same,
                what << ": element " << at << " is " << got.at(at) << ", not " << want.at(at));
}

/// Every mixture against the kernel of f32 and the naive one, in several orders of threads.
void check_halves(Work w, const std::string& width, int multiprocessors = 2) {
  const uint64_t y = uint64_t{1} << w.inputs.size();
  for (int i = 0; i < 3; i++)
    w.inputs[size_t(i)] = with_type(with_type(w.inputs[size_t(i)], DType::kF16), DType::kF32);
  GpuTraits traits;
  traits.multiprocessors = multiprocessors;
  const Run plain = on_gpu(w, GpuPrecision::kFp16, 0, traits);
  CHECK(plain.ran("attention_f16_" + width));
  check_close(plain.y, on_cpu(w, "oracle"), check::kF16Product);
  for (const uint64_t mixture : {kHeads, kHeads | y, y}) {
    CAPTURE(mixture);
    const Work mixed = with_f16(w, mixture);
    CHECK((f16_operands_of(mixed, {}) & mixture) == mixture);
    const Run run = on_gpu(mixed, GpuPrecision::kFp16, 0, traits);
    REQUIRE(run.status.ok());
    CHECK_MESSAGE(run.ran((mixture & kHeads ? "attention_halves_" : "attention_f16_") + width),
                  run.kernels[0]);
    CHECK(run.splits == plain.splits);
    check_same(run.y, mixture & y ? with_type(plain.y, DType::kF16) : plain.y, "as f32");
    for (const uint32_t order : {1u, 33u})
      check_same(on_gpu(mixed, GpuPrecision::kFp16, order, traits).y, run.y, "order of threads");
  }
}

struct HalvesCase {
  const char* kernel;
  AttentionCase shape;
};

}  // namespace

TEST_CASE("attention on tensor cores, f16: lengths, widths, layouts have the bits of f32") {
  const HalvesCase cases[] = {
      {"64", {"one query, one key", 1, 1, 1, 1, 1, 8, 8}},
      {"64", {"one query", 1, 2, 2, 1, 37, 32, 32}},
      {"64", {"keys beyond a tile", 2, 2, 2, 3, 130, 64, 64}},
      {"64", {"a tile of keys", 1, 1, 1, 9, 64, 64, 32}},
      {"64", {"a tile of keys and one", 1, 1, 1, 9, 65, 40, 64}},
      {"64", {"widths of no power of two", 1, 2, 2, 17, 23, 24, 56}},
      {"128", {"wide heads", 1, 1, 1, 15, 40, 128, 128}},
      {"128", {"wide heads, more keys", 1, 2, 2, 33, 97, 80, 80}},
      {"128", {"wide values", 1, 1, 1, 3, 33, 16, 104}},
      {"64", {"a tile of queries and one", 1, 2, 2, 65, 16, 16, 16}},
      {"64",
       {"strided rows", 2, 3, 3, 20, 21, 16, 16, CausalMask::kNone, {}, MaskKind::kNone, {}, 0, 8}},
  };
  for (const auto& [kernel, c] : cases)
    for (const int layout : {0, 3, 1}) {
      INFO(c.name);
      AttentionAttributes t;
      check_halves(halves_work(c, layout & 1 ? 4 : 3, layout & 2 ? 4 : 3, &t), kernel);
    }
}

TEST_CASE("attention on tensor cores, f16: several tiles of queries for a block") {
  AttentionAttributes t;
  // 40 tiles for the 16 blocks of one multiprocessor, each of which begins anew with its copies
  const AttentionCase c = {"", 1, 20, 20, 66, 40, 64, 64};
  check_halves(halves_work(c, 3, 3, &t), "64", 1);
}

TEST_CASE("attention on tensor cores, f16: masks, causal order, groups of heads, counts, caps") {
  using C = CausalMask;
  using Mask = MaskKind;
  const HalvesCase cases[] = {
      {"64", {"padding mask", 2, 2, 2, 20, 37, 16, 16, C::kNone, {2, 1, 1, 37}, Mask::kFloat}},
      {"64", {"bools", 2, 2, 2, 20, 37, 16, 16, C::kNone, {2, 1, 1, 37}, Mask::kBool}},
      {"64",
       {"mask a query", 1, 2, 2, 20, 150, 32, 32, C::kNone, {20, 150}, Mask::kFloat, {}, 0, 8}},
      {"128",
       {"mask a query, bools, wide", 1, 2, 2, 20, 150, 96, 96, C::kNone, {20, 150}, Mask::kBool}},
      {"64", {"causal", 1, 2, 2, 71, 71, 32, 32, C::kTopLeft}},
      {"128", {"causal, wide", 1, 1, 1, 71, 71, 72, 72, C::kTopLeft}},
      {"64", {"causal from the end", 1, 2, 2, 7, 140, 16, 16, C::kBottomRight}},
      {"64", {"causal from the end, too many queries", 1, 2, 2, 80, 11, 16, 16, C::kBottomRight}},
      {"64", {"causal and mask", 2, 2, 2, 45, 45, 16, 16, C::kTopLeft, {45, 45}, Mask::kFloat}},
      {"64", {"grouped heads, causal", 1, 6, 2, 45, 45, 8, 8, C::kTopLeft}},
      {"64",
       {"one head of keys", 2, 4, 1, 30, 31, 8, 24, C::kBottomRight, {4, 1, 31}, Mask::kBool}},
      {"64", {"counts", 3, 2, 2, 4, 140, 32, 32, C::kNone, {}, Mask::kNone, {140, 0, 66}}},
      {"64",
       {"counts and causal", 3, 4, 2, 5, 40, 8, 8, C::kBottomRight, {}, Mask::kNone, {40, 3, 17}}},
      {"64", {"softcap", 1, 2, 2, 15, 71, 8, 8, C::kNone, {15, 71}, Mask::kFloat, {}, 0.5f}},
  };
  for (const auto& [kernel, c] : cases)
    for (const int rank : {3, 4}) {
      INFO(c.name);
      AttentionAttributes t;
      check_halves(halves_work(c, rank, rank, &t), kernel);
    }
}

TEST_CASE("attention on tensor cores, f16: keys in parts, whose sums stay f32") {
  using C = CausalMask;
  const HalvesCase cases[] = {
      {"64", {"one query", 1, 2, 2, 1, 700, 64, 64}},
      {"128", {"wide heads", 1, 1, 1, 3, 530, 128, 128}},
      {"128", {"widths that differ", 1, 2, 1, 2, 600, 16, 104}},
      {"64", {"causal from the end", 2, 4, 1, 3, 650, 32, 32, C::kBottomRight}},
      {"64", {"mask", 1, 2, 2, 2, 777, 32, 32, C::kNone, {2, 777}, MaskKind::kFloat}},
      {"64", {"counts", 3, 1, 1, 1, 700, 16, 16, C::kNone, {}, MaskKind::kNone, {700, 0, 130}}},
  };
  for (const auto& [kernel, c] : cases) {
    INFO(c.name);
    AttentionAttributes t;
    const Work w = halves_work(c, 3, 4, &t);
    GpuTraits traits;
    traits.multiprocessors = 8;
    const Run run = on_gpu(with_f16(w, kHeads | uint64_t{1} << w.inputs.size()),
                           GpuPrecision::kFp16, 0, traits);
    CHECK(run.splits > 1);
    CHECK(run.ran("attention_parts"));
    check_halves(w, kernel, 8);
  }
}

TEST_CASE(
    "attention of f16: keys beyond a count may hold anything; rows that see nothing are zero") {
  AttentionAttributes t;
  const AttentionCase c = {"",     2, 1, 1, 3, 70, 8, 8, CausalMask::kNone, {}, MaskKind::kNone,
                           {66, 0}};
  Work w = halves_work(c, 3, 3, &t);
  for (int64_t i = 66 * 8; i < 140 * 8; i++) w.inputs[1].set(i, NAN), w.inputs[2].set(i, NAN);
  const Run run = on_gpu(with_f16(w, kHeads), GpuPrecision::kFp16, 0, {});
  for (int64_t i = 0; i < 3 * 8; i++) CHECK(std::isfinite(run.y.at(i)));
  for (int64_t i = 3 * 8; i < 6 * 8; i++) CHECK(run.y.at(i) == 0);
}

TEST_CASE(
    "attention on tensor cores, f16: q, k and v together or none, where 16 bytes of them can be "
    "read") {
  const auto taken = [](const AttentionCase& c, uint64_t mixture) {
    AttentionAttributes t;
    return f16_operands_of(with_f16(halves_work(c, 3, 3, &t), mixture), {});
  };
  const uint64_t y = 8;
  const AttentionCase plain = {"", 1, 2, 2, 9, 18, 16, 16};
  CHECK(taken(plain, kHeads | y) == (kHeads | y));
  CHECK(taken(plain, 0) == y);
  // asked again when the others have become f32
  for (uint64_t some = 1; some < kKept; some++) CHECK(taken(plain, some | y) == y);
  CHECK(taken({"", 1, 2, 2, 9, 18, 12, 16}, kHeads | y) == y);
  CHECK(taken({"", 1, 2, 2, 9, 18, 16, 12}, kHeads | y) == y);
  const AttentionCase strided = {"", 1, 2, 2, 9, 18, 16, 16, CausalMask::kNone, {}, MaskKind::kNone,
                                 {}, 0, 4};
  CHECK(taken(strided, kHeads | y) == y);
  CHECK(taken(strided, y) == y);
  // the exact kernel's
  for (const AttentionCase& c :
       {AttentionCase{"", 1, 2, 2, 9, 18, 13, 16}, AttentionCase{"", 1, 1, 1, 3, 20, 16, 136},
        AttentionCase{
            "", 1, 2, 2, 9, 18, 16, 16, CausalMask::kNone, {}, MaskKind::kNone, {}, 0, 3}}) {
    CHECK(taken(c, 0) == 0);
    CHECK(taken(c, y) == 0);
  }
  AttentionAttributes t;
  Work masked = halves_work(
      {"", 1, 2, 2, 9, 18, 8, 8, CausalMask::kNone, {2, 9, 1}, MaskKind::kFloat}, 3, 3, &t);
  CHECK(f16_operands_of(masked, {}) == 0);
  CHECK(f16_operands_of(with_f16(masked, kHeads | 16), {}) == 16);
}

TEST_CASE("attention on tensor cores, f16: what lies where 16 bytes cannot be read is not taken") {
  AttentionAttributes t;
  const Work w = halves_work({"", 1, 2, 2, 9, 18, 16, 16}, 3, 3, &t);
  for (size_t moved = 0; moved < 4; moved++) {
    CAPTURE(moved);
    const Work halves = with_f16(w, kHeads | 8);
    std::vector<TensorView> views = views_of(halves.inputs);
    TensorView y = halves.output.view();
    const auto ask = [&](uint64_t halves_away) {
      TensorView& view = moved < 3 ? views[moved] : y;
      view.data = static_cast<uint8_t*>(view.data) + 2 * halves_away;
      const OpArguments a = arguments_of(halves, views, y);
      const GpuKernelEntry* const row =
          find_gpu_row(ingot_cuda_kernel_set, OpCode::kAttention, a, {}, GpuPrecision::kFp16);
      return row->f16_operands(a, {});
    };
    CHECK(ask(4) == (moved < 3 ? 8 : 15));  // y is written by 8 bytes
    CHECK(ask(4) == 15);
    CHECK(ask(1) == 8);
  }
}

TEST_CASE("attention: keys and values that a program keeps in f16 are the exact kernel's") {
  AttentionAttributes t;
  Work w = with_f16(halves_work({"", 1, 2, 2, 9, 18, 16, 16}, 3, 3, &t), kKept);
  w.any_row = true;
  for (const GpuPrecision p : {GpuPrecision::kExact, GpuPrecision::kFast, GpuPrecision::kFp16}) {
    const Run run = on_gpu(w, p, 0, {});
    CHECK(run.status.ok());
    CHECK(run.ran("attention_cache16"));
    int64_t at = -1;
    CHECK(run.y.same_bits(on_cpu(w), &at));
  }
}

TEST_CASE("attention: keys and values of 8 bits are the exact kernel's, also of few queries") {
  for (const int64_t queries : {8, 9}) {
    AttentionAttributes t;
    Work w = halves_work({"", 1, 2, 2, queries, 18, 32, 32}, 3, 3, &t);
    for (size_t i = 1; i < 3; i++) w.inputs[i] = kept_tensor(3, 1, 2, 18, 32, 0, DType::kU8, 1);
    w.any_row = true;
    for (const GpuPrecision p : {GpuPrecision::kExact, GpuPrecision::kFast, GpuPrecision::kFp16}) {
      const Run run = on_gpu(w, p, 0, {});
      CHECK(run.status.ok());
      CHECK(run.ran(queries == 8 ? "attention_cache8_few" : "attention_cache8"));
      int64_t at = -1;
      CHECK(run.y.same_bits(on_cpu(w), &at));
    }
  }
}

TEST_CASE("attention on tensor cores, f16: a plan refuses what was not taken") {
  AttentionAttributes t;
  const Work fit = halves_work({"", 1, 2, 2, 9, 18, 16, 16}, 3, 3, &t);
  for (uint64_t some = 1; some < kKept; some++)
    CHECK(on_gpu(with_f16(fit, some), GpuPrecision::kFp16, 0, {}).status.code() ==
          Code::kLimitExceeded);
  const Work narrow = halves_work({"", 1, 2, 2, 9, 18, 12, 12}, 3, 3, &t);
  CHECK(on_gpu(with_f16(narrow, kHeads), GpuPrecision::kFp16, 0, {}).status.code() ==
        Code::kLimitExceeded);
  const Work odd = halves_work({"", 1, 2, 2, 9, 18, 13, 13}, 3, 3, &t);
  CHECK(on_gpu(with_f16(odd, 8), GpuPrecision::kFp16, 0, {}).status.code() == Code::kLimitExceeded);
}
