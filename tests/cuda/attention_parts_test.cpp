// SPDX-License-Identifier: Apache-2.0
// Attention of few queries, whose keys are cut into parts that blocks of their own take: against
// the naive one, by the tolerance table; the same bits in every order of threads; how many parts
// there are; and with less scratch fewer.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/tensorcore/attention_split.h"
#include "tests/conformance/attention_case.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using C = CausalMask;
using Mask = MaskKind;

Work work_of(const AttentionCase& c, AttentionAttributes* t) {
  t->heads = uint32_t(c.heads), t->kv_heads = uint32_t(c.kv_heads);
  t->scale = 0.7f / std::sqrt(float(c.dim + 1)), t->causal = c.causal, t->softcap = c.softcap;
  Work w{OpCode::kAttention,
         t,
         {},
         heads_tensor(3, c.batch, c.heads, c.queries, c.value_dim, 3 * c.padding)};
  w.inputs = {heads_tensor(3, c.batch, c.heads, c.queries, c.dim, c.padding).random(1),
              heads_tensor(4, c.batch, c.kv_heads, c.keys, c.dim, 2 * c.padding).random(2),
              heads_tensor(4, c.batch, c.kv_heads, c.keys, c.value_dim, c.padding).random(3)};
  if (c.kind != Mask::kNone || !c.counts.empty()) w.inputs.push_back(mask_tensor(c));
  if (!c.counts.empty())
    w.inputs.push_back(Tensor(DType::kI64, {int64_t(c.counts.size())}).values(c.counts));
  return w;
}

}  // namespace

TEST_CASE(
    "attention on tensor cores, keys in parts: few queries, masks, causal order, counts, empty "
    "rows") {
  const AttentionCase cases[] = {
      {"one query", 1, 2, 2, 1, 700, 64, 64},
      {"wide heads", 1, 1, 1, 3, 530, 128, 128},
      {"widths that differ", 1, 2, 1, 2, 600, 16, 100},
      {"a group of heads, causal from the end", 2, 4, 1, 3, 650, 32, 32, C::kBottomRight},
      {"causal from the start: most parts see nothing", 1, 1, 1, 5, 640, 8, 8, C::kTopLeft},
      {"mask", 1, 2, 2, 2, 777, 32, 32, C::kNone, {2, 777}, Mask::kFloat, {}, 0, 4},
      {"bools", 1, 2, 2, 2, 700, 32, 32, C::kNone, {700}, Mask::kBool},
      {"counts", 3, 1, 1, 1, 700, 16, 16, C::kNone, {}, Mask::kNone, {700, 0, 130}},
      {"softcap", 1, 1, 1, 1, 900, 8, 8, C::kNone, {}, Mask::kNone, {}, 0.5f},
  };
  for (const AttentionCase& c : cases)
    for (const GpuPrecision precision : {GpuPrecision::kFp16, GpuPrecision::kFast}) {
      INFO(c.name);
      CAPTURE(int(precision));
      for (const EmptyRows empty : {EmptyRows::kZero, EmptyRows::kNan}) {
        if (empty == EmptyRows::kNan && c.counts.empty()) continue;
        AttentionAttributes t;
        t.empty_rows = empty;
        const Work w = work_of(c, &t);
        GpuTraits traits;
        traits.multiprocessors = 8;
        const Run run = on_gpu(w, precision, 0, traits);
        CHECK(run.status.ok());
        CHECK(run.splits > 1);
        CHECK(run.ran("attention_parts"));
        const auto tolerance =
            precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product;
        check_close(run.y, on_cpu(w, "oracle"), tolerance);
        for (const uint32_t order : {1u, 33u}) {
          CAPTURE(order);
          int64_t at = -1;
          const bool same = on_gpu(w, precision, order, traits).y.same_bits(run.y, &at);
          CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
        }
      }
    }
}

TEST_CASE(
    "attention on tensor cores, keys in parts: a row that a bool mask hides is the mean of all "
    "parts") {
  AttentionAttributes t;
  AttentionCase c = {"", 1, 1, 1, 2, 700, 8, 8, C::kNone, {2, 700}, Mask::kBool};
  Work w = work_of(c, &t);
  t.empty_rows = EmptyRows::kMean;
  for (int64_t i = 0; i < 1400; i++) w.inputs[3].set(i, i >= 700 && i % 3 == 0);
  GpuTraits traits;
  traits.multiprocessors = 8;
  const Run run = on_gpu(w, GpuPrecision::kFast, 0, traits);
  CHECK(run.splits > 1);
  check_close(run.y, on_cpu(w, "oracle"), check::kTf32Product);
}

TEST_CASE("attention on tensor cores, keys in parts: how many there are") {
  using cuda::key_parts;
  CHECK(key_parts(1, 1, 132) == 1);
  CHECK(key_parts(1, 4, 132) == 1);         // a second launch costs more than two tiles of keys
  CHECK(key_parts(12, 64, 132) == 16);      // twelve heads, 4096 keys of 64
  CHECK(key_parts(8, 2048, 132) == 32);     // the most
  CHECK(key_parts(12 * 64, 64, 132) == 1);  // many queries fill the machine
  CHECK(key_parts(16, 64, 8) == 1);
}

TEST_CASE(
    "attention on tensor cores, keys in parts: with less scratch there are fewer, down to one") {
  AttentionAttributes t;
  const AttentionCase c = {"", 1, 2, 2, 1, 2048, 64, 64};
  const Work w = work_of(c, &t);
  const std::vector<TensorView> views = views_of(w.inputs);
  const TensorView y = w.output.view();
  const OpArguments a = arguments_of(w, views, y);
  GpuTraits traits;
  traits.multiprocessors = 132;
  const GpuKernelEntry* const row =
      find_gpu_row(ingot_cuda_kernel_set, w.op, a, traits, GpuPrecision::kFp16);
  REQUIRE(row);
  const uint64_t wanted = gpu_scratch(*row, a, traits, GpuPrecision::kFp16, nullptr);
  CHECK(wanted == 2u * 16 * (64 + 4) * 4);
  CHECK(least_gpu_scratch(*row, a, traits, GpuPrecision::kFp16) == 0);
  struct Seen {
    uint32_t parts = 0, launches = 0;
  };
  const auto parts_with = [&](uint64_t bytes) {
    Seen seen;
    std::vector<uint8_t> scratch(bytes + 256);
    GpuWork work;
    work.arguments = &a, work.traits = traits, work.precision = GpuPrecision::kFp16;
    work.scratch = scratch.data(), work.scratch_bytes = bytes;
    work.sink = {&seen, [](void* user, const GpuLaunch& l) {
                   Seen& s = *static_cast<Seen*>(user);
                   if (s.launches++ == 0) s.parts = l.grid_y;
                   return Status();
                 }};
    REQUIRE(row->plan(work).ok());
    CHECK(seen.launches == (seen.parts > 1 ? 2 : 1));
    return seen.parts;
  };
  CHECK(parts_with(wanted) == 16);
  CHECK(parts_with(wanted - 1) == 8);
  CHECK(parts_with(wanted / 8) == 2);
  CHECK(parts_with(0) == 1);
}
