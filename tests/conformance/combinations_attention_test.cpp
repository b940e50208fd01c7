// SPDX-License-Identifier: Apache-2.0
// Attention over the product of masks, their broadcasts, causal order, groups of heads, counts of
// keys, caps, scales, lengths, layouts.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/attention_case.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct HeadCounts {
  int64_t query, key;
};
struct Lengths {
  int64_t queries, keys;
};
struct Widths {
  int64_t key, value;
};
enum class Hiding { kNothing, kSomeKeys, kWholeRows };

/// Which of [B, heads, Tq, Tk] a mask has in full; the leading ones that it has not are left out
/// where `short_rank`.
std::vector<int64_t> mask_dims(int full, bool short_rank, const std::vector<int64_t>& whole) {
  std::vector<int64_t> dims;
  for (int i = 0; i < 4; i++)
    if (full >> i & 1)
      dims.push_back(whole[size_t(i)]);
    else if (!short_rank || !dims.empty())
      dims.push_back(1);
  return dims;
}

void hide(Tensor& mask, Hiding hiding, float hidden) {
  const int64_t n = mask.view().elements(), width = mask.view().row_length();
  const bool is_bool = mask.view().dtype == DType::kBool;
  if (is_bool) mask.values({1});
  for (int64_t i = 0; i < n && hiding != Hiding::kNothing; i++)
    if (i * 5 % 7 > 4 || (hiding == Hiding::kWholeRows && i / width % 3 != 1))
      mask.set(i, is_bool ? 0.0 : double(hidden));
}

}  // namespace

TEST_CASE("combinations: attention") {
  Combinations all("attention", 4000, 3, 16);
  const auto lengths = all.axis<Lengths>("lengths", {{1, 1},
                                                     {1, 37},
                                                     {1, 300},
                                                     {5, 20},
                                                     {20, 5},
                                                     {43, 60},
                                                     {60, 43},
                                                     {60, 60},
                                                     {90, 90},
                                                     {14, 270},
                                                     {3, 16}});
  const auto heads = all.axis<HeadCounts>("heads", {{1, 1}, {2, 2}, {4, 2}, {3, 1}});
  const auto widths = all.axis<Widths>("widths", {{8, 8}, {16, 8}, {5, 19}, {1, 3}, {24, 33}});
  const auto batch = all.axis<int64_t>("batch", {1, 2});
  const auto causal = all.axis<CausalMask>(
      "causal", {CausalMask::kNone, CausalMask::kTopLeft, CausalMask::kBottomRight});
  const auto mask =
      all.axis<MaskKind>("mask", {MaskKind::kNone, MaskKind::kFloat, MaskKind::kBool});
  const auto mask_full = all.axis("mask_dims", 16);
  const auto mask_rank = all.axis<bool>("mask_short", {false, true});
  const auto hiding =
      all.axis<Hiding>("hiding", {Hiding::kNothing, Hiding::kSomeKeys, Hiding::kWholeRows});
  const auto hidden = all.axis<float>("hidden", {-INFINITY, -3.40282347e38f, -1e9f});
  const auto empty =
      all.axis<EmptyRows>("empty_rows", {EmptyRows::kZero, EmptyRows::kNan, EmptyRows::kMean});
  const auto counts = all.axis("counts", 3);  // none, one number, one a batch
  const auto sinks = all.axis<bool>("sinks", {false, true});
  const auto softcap = all.axis<float>("softcap", {0, 0.5f});
  const auto scale = all.axis<float>("scale", {0.25f, 1.7f, -0.4f});
  const auto q_rank = all.axis<int>("q_rank", {3, 4});
  const auto k_rank = all.axis<int>("k_rank", {3, 4});
  const auto y_rank = all.axis<int>("y_rank", {3, 4});
  const auto padding = all.axis<int64_t>("padding", {0, 5});
  const auto kept = all.axis<DType>("kept", {DType::kF32, DType::kF16});
  AttentionAttributes t;
  all.run([&](Case& c) {
    const auto [queries, keys] = lengths();
    const int64_t b = batch(), h = heads().query, kv = heads().key, p = padding();
    t = {};
    t.heads = uint32_t(h), t.kv_heads = uint32_t(kv), t.scale = scale(), t.causal = causal(),
    t.softcap = softcap(), t.empty_rows = empty();
    c.op = OpCode::kAttention, c.attributes = &t, c.tolerance = {2e-5, 2e-5};  // scores of up to 40
    c.inputs = {heads_tensor(q_rank(), b, h, queries, widths().key, p).random(1),
                heads_tensor(k_rank(), b, kv, keys, widths().key, 2 * p, kept()).random(2),
                heads_tensor(k_rank(), b, kv, keys, widths().value, p, kept()).random(3)};
    if (mask() == MaskKind::kNone &&
        (mask_full() != 0 || mask_rank() || hiding() != Hiding::kNothing))
      return false;
    if (mask() == MaskKind::kBool && hidden() != -INFINITY) return false;
    if (mask() == MaskKind::kFloat && empty() == EmptyRows::kMean) return false;
    Tensor operand;
    if (mask() != MaskKind::kNone) {
      const bool is_bool = mask() == MaskKind::kBool;
      operand = Tensor(is_bool ? DType::kBool : DType::kF32,
                       mask_dims(mask_full(), mask_rank(), {b, h, queries, keys}), is_bool ? 0 : p);
      operand.random(7, -2, 2);
      hide(operand, hiding(), hidden());
    }
    c.inputs.push_back(operand);
    if (counts() != 0) {
      Tensor some(counts() == 1 ? DType::kI32 : DType::kI64, {counts() == 1 ? 1 : b});
      c.inputs.push_back(some.values({double(keys - keys / 3), double(keys / 5)}));
    }
    if (sinks() && empty() != EmptyRows::kZero) return false;
    if (sinks()) {
      c.inputs.resize(attention::kSinks);
      c.inputs.push_back(Tensor(DType::kF32, {h}).values({1.5, -2, -INFINITY, 20}));
    }
    c.outputs = {heads_tensor(y_rank(), b, h, queries, widths().value, 3 * p)};
    return true;
  });
}
