// SPDX-License-Identifier: Apache-2.0
// Attention in tf32 and f16 on a GPU, emulated or the machine's, against the naive one in double,
// by the tolerance table: lengths, widths, layouts, masks, causal order, groups of heads, key
// counts; the same bits in every order of threads; no bank conflict; what goes to the exact kernel.
#include "runtime/op/attention.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/attention_case.h"
#include "tests/conformance/combinations.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using C = CausalMask;

using Mask = MaskKind;

/// And the kernel that computes it: the width it is made for, or none of tensor cores.
struct KernelCase {
  const char* kernel;
  AttentionCase shape;
};

/// Both precisions, orders of threads, more and fewer blocks than tiles.
void check_attention(const Work& w, const std::string& kernel) {
  const Tensor want = on_cpu(w, "oracle");
  for (GpuPrecision precision : {GpuPrecision::kFp16, GpuPrecision::kFast}) {
    CAPTURE(int(precision));
    GpuTraits traits;
    const Run run = on_gpu(w, precision, 0, traits);
    CHECK(run.status.ok());
    const std::string type = precision == GpuPrecision::kFp16 ? "f16_" + kernel : "tf32_128";
    CHECK_MESSAGE(run.ran(kernel.empty() ? "ingot_attention" : "attention_" + type),
                  run.kernels[0]);
    check_close(run.y, want,
                precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product);
    traits.multiprocessors = 7;
    for (uint32_t order : {1u, 33u}) {
      CAPTURE(order);
      int64_t at = -1;
      const bool same = on_gpu(w, precision, order, traits).y.same_bits(run.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
  }
}

void run_case_of(const char* kernel, const AttentionCase& c, int q_rank, int k_rank, int y_rank) {
  INFO(c.name);
  AttentionAttributes t;
  t.heads = uint32_t(c.heads), t.kv_heads = uint32_t(c.kv_heads);
  t.scale = 0.7f / std::sqrt(float(c.dim + 1)), t.causal = c.causal, t.softcap = c.softcap;
  Work w{OpCode::kAttention,
         &t,
         {},
         heads_tensor(y_rank, c.batch, c.heads, c.queries, c.value_dim, 3 * c.padding)};
  w.inputs = {heads_tensor(q_rank, c.batch, c.heads, c.queries, c.dim, c.padding).random(1),
              heads_tensor(k_rank, c.batch, c.kv_heads, c.keys, c.dim, 2 * c.padding).random(2),
              heads_tensor(k_rank, c.batch, c.kv_heads, c.keys, c.value_dim, c.padding).random(3)};
  if (c.kind != Mask::kNone || !c.counts.empty()) w.inputs.push_back(mask_tensor(c));
  if (!c.counts.empty())
    w.inputs.push_back(Tensor(DType::kI64, {int64_t(c.counts.size())}).values(c.counts));
  check_attention(w, kernel);
}

}  // namespace

TEST_CASE("attention on tensor cores: lengths, widths, layouts") {
  const KernelCase cases[] = {
      {"64", {"one query, one key", 1, 1, 1, 1, 1, 8, 8}},
      {"64", {"one query", 1, 2, 2, 1, 37, 32, 32}},
      {"64", {"keys beyond a tile", 2, 2, 2, 3, 130, 64, 64}},
      {"64", {"a tile of keys", 1, 1, 1, 9, 64, 64, 32}},
      {"64", {"a tile of keys and one", 1, 1, 1, 9, 65, 40, 64}},
      {"64", {"widths of no power of two", 1, 2, 2, 17, 23, 12, 28}},
      {"128", {"wide heads", 1, 1, 1, 15, 40, 128, 128}},
      {"128", {"wide heads, more keys", 1, 2, 2, 33, 97, 80, 80}},
      {"128", {"wide values", 1, 1, 1, 3, 33, 16, 100}},
      {"64", {"a tile of queries and one", 1, 2, 2, 65, 16, 16, 16}},
      {"64", {"three tiles of queries", 2, 1, 1, 131, 70, 48, 48}},
      {"64", {"strided rows", 2, 3, 3, 20, 21, 16, 16, C::kNone, {}, Mask::kNone, {}, 0, 4}},
  };
  for (const auto& [kernel, c] : cases)
    for (int layout : {0, 7, 3})
      run_case_of(kernel, c, layout & 1 ? 4 : 3, layout & 2 ? 4 : 3, layout & 4 ? 4 : 3);
}

TEST_CASE("attention on tensor cores: masks, causal order, groups of heads, counts") {
  const KernelCase cases[] = {
      {"64", {"padding mask", 2, 2, 2, 20, 37, 16, 16, C::kNone, {2, 1, 1, 37}, Mask::kFloat}},
      {"64",
       {"padding mask of bools", 2, 2, 2, 20, 37, 16, 16, C::kNone, {2, 1, 1, 37}, Mask::kBool}},
      {"64",
       {"mask a query", 1, 2, 2, 20, 150, 32, 32, C::kNone, {20, 150}, Mask::kFloat, {}, 0, 4}},
      {"128",
       {"mask a query, bools, wide", 1, 2, 2, 20, 150, 96, 96, C::kNone, {20, 150}, Mask::kBool}},
      {"64", {"bias a head", 2, 3, 3, 9, 18, 8, 8, C::kNone, {3, 9, 18}, Mask::kFloat}},
      {"64", {"causal", 1, 2, 2, 71, 71, 32, 32, C::kTopLeft}},
      {"128", {"causal, wide", 1, 1, 1, 71, 71, 72, 72, C::kTopLeft}},
      {"64", {"causal with fewer keys", 1, 1, 1, 50, 20, 8, 8, C::kTopLeft}},
      {"64", {"causal from the end", 1, 2, 2, 7, 140, 16, 16, C::kBottomRight}},
      {"64", {"causal from the end, too many queries", 1, 2, 2, 80, 11, 16, 16, C::kBottomRight}},
      {"64", {"causal and mask", 2, 2, 2, 45, 45, 16, 16, C::kTopLeft, {45, 45}, Mask::kFloat}},
      {"64", {"grouped heads", 2, 6, 2, 5, 33, 16, 16}},
      {"64", {"grouped heads, causal", 1, 6, 2, 45, 45, 8, 8, C::kTopLeft}},
      {"64",
       {"one head of keys", 2, 4, 1, 30, 31, 8, 24, C::kBottomRight, {4, 1, 31}, Mask::kBool}},
      {"64", {"counts", 3, 2, 2, 4, 140, 32, 32, C::kNone, {}, Mask::kNone, {140, 0, 66}}},
      {"128", {"one count", 3, 2, 2, 4, 100, 128, 128, C::kNone, {}, Mask::kNone, {70}}},
      {"64",
       {"counts and causal", 3, 4, 2, 5, 40, 8, 8, C::kBottomRight, {}, Mask::kNone, {40, 3, 17}}},
      {"64", {"counts and mask", 2, 2, 2, 5, 40, 8, 8, C::kTopLeft, {40}, Mask::kBool, {39, 5}}},
      {"64", {"softcap", 1, 2, 2, 15, 71, 8, 8, C::kNone, {15, 71}, Mask::kFloat, {}, 0.5f}},
      {"128", {"softcap alone", 1, 1, 1, 5, 40, 72, 72, C::kTopLeft, {}, Mask::kNone, {}, 0.5f}},
  };
  for (const auto& [kernel, c] : cases)
    for (const int rank : {3, 4}) run_case_of(kernel, c, rank, rank, rank);
}

TEST_CASE(
    "attention on tensor cores: combinations of masks, orders, groups of heads, counts, caps and "
    "empty rows") {
  struct Lengths {
    int64_t queries, keys;
  };
  Combinations all("attention (tensor cores)", 250, 2, 0);
  const auto lengths =
      all.axis<Lengths>("lengths", {{1, 37}, {5, 20}, {66, 70}, {70, 66}, {14, 130}});
  const auto kv_heads = all.axis<int64_t>("kv_heads", {1, 2, 4});
  const auto width = all.axis<int64_t>("width", {8, 20, 72});
  const auto causal = all.axis<C>("causal", {C::kNone, C::kTopLeft, C::kBottomRight});
  const auto kind = all.axis<Mask>("mask", {Mask::kNone, Mask::kFloat, Mask::kBool});
  const auto full = all.axis("mask_dims", 8);  // of batch, heads and queries: which it has
  const auto hidden = all.axis("hidden rows", 3);
  const auto empty =
      all.axis<EmptyRows>("empty_rows", {EmptyRows::kZero, EmptyRows::kNan, EmptyRows::kMean});
  const auto counts = all.axis<bool>("counts", {false, true});
  const auto softcap = all.axis<float>("softcap", {0, 0.5f});
  const auto rank = all.axis<int>("rank", {3, 4});
  AttentionAttributes t;
  all.run(
      [&](Case& c) {
        if (kind() == Mask::kFloat && empty() == EmptyRows::kMean) return false;
        const auto [queries, keys] = lengths();
        t = {};
        t.heads = 4, t.kv_heads = uint32_t(kv_heads()), t.causal = causal(), t.softcap = softcap();
        t.scale = 0.7f / std::sqrt(float(width() + 1)), t.empty_rows = empty();
        c.op = OpCode::kAttention, c.attributes = &t;
        c.inputs = {heads_tensor(rank(), 2, 4, queries, width(), 0).random(1),
                    heads_tensor(rank(), 2, kv_heads(), keys, width(), 0).random(2),
                    heads_tensor(rank(), 2, kv_heads(), keys, width(), 0).random(3), Tensor()};
        if (kind() != Mask::kNone) {
          const int f = full();
          Tensor mask(kind() == Mask::kBool ? DType::kBool : DType::kF32,
                      {f & 1 ? 2 : 1, f & 2 ? 4 : 1, f & 4 ? queries : 1, keys});
          for (int64_t i = 0; i < mask.view().elements(); i++) {
            const bool hides = hidden() && (i * 5 % 7 > 4 || (hidden() == 2 && i / keys % 3 != 1));
            mask.set(i, kind() == Mask::kBool ? (hides ? 0 : 1)
                        : hides               ? double(-INFINITY)
                                              : double(i % 5) * 0.25);
          }
          c.inputs[3] = mask;
        }
        if (counts())
          c.inputs.push_back(
              Tensor(DType::kI64, {2}).values({double(keys - keys / 3), double(keys / 5)}));
        c.outputs = {heads_tensor(rank(), 2, 4, queries, width(), 0)};
        return true;
      },
      [](const Case& c, uint32_t serial, bool, bool*) -> std::string {
        const Work w{c.op, c.attributes, c.inputs, c.outputs[0]};
        const GpuPrecision precision = serial % 2 ? GpuPrecision::kFp16 : GpuPrecision::kFast;
        INFO(c.name);
        const Run run = on_gpu(w, precision, serial % 5, {});
        if (!run.status.ok()) return "ends with an error";
        check_close(run.y, on_cpu(w, "oracle"),
                    precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product);
        return "";
      });
}

TEST_CASE("attention on tensor cores: what goes to the exact kernel") {
  const AttentionCase cases[] = {
      {"odd widths", 1, 2, 2, 17, 23, 13, 29},
      {"unaligned rows", 1, 2, 2, 17, 23, 16, 16, C::kNone, {}, Mask::kNone, {}, 0, 3},
      {"wider than registers", 1, 1, 1, 9, 20, 16, 132},
      {"a mask that all keys share", 1, 2, 2, 9, 18, 8, 8, C::kNone, {2, 9, 1}, Mask::kFloat},
  };
  for (const AttentionCase& c : cases) {
    INFO(c.name);
    AttentionAttributes t;
    t.heads = uint32_t(c.heads), t.kv_heads = uint32_t(c.kv_heads), t.scale = 0.2f;
    Work w{OpCode::kAttention,
           &t,
           {},
           heads_tensor(3, c.batch, c.heads, c.queries, c.value_dim, c.padding)};
    w.inputs = {heads_tensor(3, c.batch, c.heads, c.queries, c.dim, c.padding).random(1),
                heads_tensor(3, c.batch, c.heads, c.keys, c.dim, c.padding).random(2),
                heads_tensor(3, c.batch, c.heads, c.keys, c.value_dim, c.padding).random(3),
                mask_tensor(c)};
    const Run run = on_gpu(w, GpuPrecision::kFast, 0, {});
    CHECK(run.kernels == std::vector<std::string>{"ingot_attention"});
    int64_t at = -1;
    CHECK(run.y.same_bits(on_cpu(w), &at));
  }
}

TEST_CASE(
    "attention on tensor cores: rows that see nothing are zero; keys that nobody sees may hold "
    "anything; large "
    "scores") {
  AttentionAttributes t;
  t.heads = t.kv_heads = 1;
  Tensor q(DType::kF32, {1, 3, 8}), k(DType::kF32, {1, 5, 8}), v(DType::kF32, {1, 5, 8}),
      mask(DType::kBool, {3, 5});
  q.random(1), k.random(2), v.random(3);
  mask.values({0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0});
  for (int64_t d = 0; d < 8; d++) k.set(4 * 8 + d, d % 2 ? INFINITY : NAN);
  const Tensor y(DType::kF32, {1, 3, 8});
  check_attention({OpCode::kAttention, &t, {q, k, v, mask}, y}, "64");
  const Run run = on_gpu({OpCode::kAttention, &t, {q, k, v, mask}, y}, GpuPrecision::kFp16, 0, {});
  for (int64_t d = 0; d < 8; d++) CHECK(run.y.at(d) == 0);
  // Beyond a count nothing is read, not even to be multiplied by zero.
  Tensor held = v;
  for (int64_t i = 3 * 8; i < 5 * 8; i++) held.set(i, NAN);
  const Work counted{
      OpCode::kAttention, &t, {q, k, held, Tensor(), Tensor(DType::kI32, {}).values({3})}, y};
  check_attention(counted, "64");
  // One key has all the weight. In f16 operands of 300 are exact, and so is the result.
  t.scale = 1e3f;
  k.random(2);
  for (int64_t d = 0; d < 8; d++) k.set(2 * 8 + d, q.at(8 + d) * 3);
  const Run large = on_gpu({OpCode::kAttention, &t, {q, k, v}, y}, GpuPrecision::kFast, 0, {});
  for (int64_t d = 0; d < 8; d++)
    CHECK(large.y.at(8 + d) == doctest::Approx(v.at(16 + d)).epsilon(1e-3));
}

TEST_CASE("attention on tensor cores: a count outside the keys is named") {
  AttentionAttributes t;
  Work w{OpCode::kAttention, &t, {}, Tensor(DType::kF32, {1, 3, 8})};
  const Tensor x = Tensor(DType::kF32, {1, 3, 8}).random(1);
  for (const double count : {-1.0, 4.0}) {
    w.inputs = {x, x, x, Tensor(), Tensor(DType::kI64, {}).values({count})};
    CHECK(on_gpu(w, GpuPrecision::kFast, 0, {}).status.code() == Code::kBadIndexValue);
  }
}
