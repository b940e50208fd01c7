// SPDX-License-Identifier: Apache-2.0
// tests/import/decoder/latents_test.cpp - keys and values that come from one latent, which is kept
// in place of them; where rows of matrices lie, and what is refused, each by its name.
#include "tests/import/decoder/gguf_import.h"
#include "tools/checkpoint/flat/gguf.h"

using namespace ingot;
using graph::Dim;
using graph::Dims;
using namespace test::gguf;

namespace {

const std::string kAt = "deepseek2.";

const float* floats(const graph::Model& model, const std::string& name) {
  return reinterpret_cast<const float*>(named(model, name).constant->bytes->data());
}

}  // namespace

TEST_CASE("decoder: a latent and what turns are kept, once for all heads") {
  importer::ImportOptions options;
  const importer::Program program = import(deepseek2().bytes());
  const graph::Model& m = program.model;
  CHECK(program.states.size() == 2);
  CHECK(named(m, "keys.0").dims == Dims{Dim(64), Dim(8)});
  for (const graph::Node& node : m.graph.nodes)
    if (node.op == op::Attention) {
      CHECK(node.integer(attr::kv_heads, 0) == 1);
      CHECK(node.inputs[1] == node.inputs[2]);
      CHECK(node.number(attr::scale, 0) == 0.5);  // of keys 4 wide
    }
  CHECK(count(m, op::Attention) == 2);
  CHECK(count(m, op::GroupedLinear) == 3);
  options.slots = 3;
  CHECK(named(import(deepseek2().bytes(), options).model, "keys.1").dims ==
        Dims{Dim(3), Dim(64), Dim(8)});
}

TEST_CASE("decoder: what turns stands in front, neighbors as halves") {
  const Source source = deepseek2();
  const graph::Model m = import(source.bytes()).model;
  const auto all = source.values();
  const float* const q = floats(m, "blk.0.attn_q.weight");
  constexpr int64_t kRows[] = {2, 3, 0, 1, 6, 7, 4, 5};  // heads of 2 that stay and 2 that turn
  const float* const kv = floats(m, "blk.1.attn_kv_a_mqa.weight");
  constexpr int64_t kKeyRows[] = {6, 7, 0, 1, 2, 3, 4, 5};
  for (int r = 0; r < 8; r++)
    for (int c = 0; c < 8; c++) {
      CHECK(q[r * 8 + c] == all.at("blk.0.attn_q.weight")[size_t(kRows[r] * 8 + c)]);
      CHECK(kv[r * 8 + c] == all.at("blk.1.attn_kv_a_mqa.weight")[size_t(kKeyRows[r] * 8 + c)]);
    }
}

TEST_CASE("decoder: matrices of heads are those of newer files, whatever a file has") {
  Source source = deepseek2();
  const graph::Model m = import(source.bytes()).model;
  for (const std::string name : {"blk.0.attn_k_b.weight", "blk.1.attn_v_b.weight"}) {
    const std::vector<float> own = source.values().at(name);
    CHECK(std::equal(own.begin(), own.end(), floats(m, name)));
  }
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    source.tensors.erase(layer + "attn_k_b.weight");
    source.tensors.erase(layer + "attn_v_b.weight");
    source.tensors[layer + "attn_kv_b.weight"] = {10, 6};  // heads of a key of 2, a value of 3
  }
  const graph::Model old = import(source.bytes()).model;
  CHECK(named(old, "blk.1.attn_k_b.weight").dims == Dims{Dim(2), Dim(6), Dim(2)});
  CHECK(named(old, "blk.1.attn_v_b.weight").dims == Dims{Dim(2), Dim(3), Dim(6)});
  const float* const k = floats(old, "blk.1.attn_k_b.weight");
  const float* const v = floats(old, "blk.1.attn_v_b.weight");
  const auto own = source.values().at("blk.1.attn_kv_b.weight");
  for (int head = 0; head < 2; head++)
    for (int r = 0; r < 6; r++) {
      for (int c = 0; c < 2; c++)
        CHECK(k[(head * 6 + r) * 2 + c] == own[size_t((head * 5 + c) * 6 + r)]);
      for (int c = 0; c < 3; c++)
        CHECK(v[(head * 3 + c) * 6 + r] == own[size_t((head * 5 + 2 + c) * 6 + r)]);
    }
}

TEST_CASE("decoder: experts are chosen from all groups, or from the best") {
  Source source = deepseek2();
  const int sorts = count(import(source.bytes()).model, op::TopK);
  const auto groups = [&](uint32_t all, uint32_t used) {
    source.metadata[kAt + "expert_group_count"] = whole(all);
    source.metadata[kAt + "expert_group_used_count"] = whole(used);
    return count(import(source.bytes()).model, op::TopK) - sorts;
  };
  CHECK(groups(1, 1) == 0);
  CHECK(groups(0, 0) == 0);
  CHECK(groups(2, 2) == 0);
  CHECK(groups(2, 1) == 2);
}

TEST_CASE("decoder: a latent that does not fit is refused by its name") {
  const auto groups = [](uint32_t all, uint32_t used) {
    return [=](Source& s) {
      s.metadata[kAt + "expert_group_count"] = whole(all);
      s.metadata[kAt + "expert_group_used_count"] = whole(used);
    };
  };
  const std::vector<Case> cases = {
      {"no rank",
       lacks(kAt + "attention.kv_lora_rank"),
       {"2 ", "has no 'deepseek2.attention.kv_lora_rank'"}},
      {"a rank of 0", says(kAt + "attention.kv_lora_rank", whole(0)), {"4 ", "kv_lora_rank' is 0"}},
      {"a rank beyond reason",
       says(kAt + "attention.kv_lora_rank", whole(4095)),
       {"4 ", "kv_lora_rank' is 4095, expected 1 to 4094"}},
      {"another rank",
       says(kAt + "attention.kv_lora_rank", whole(5)),
       {"5 ", "'blk.0.attn_kv_a_mqa.weight' is [8, 8], expected [7, 8]"}},
      {"no width of keys",
       [](Source& s) {
         s.metadata.erase(kAt + "attention.key_length_mla");
         s.metadata.erase(kAt + "attention.key_length");
       },
       {"2 ", "has no 'deepseek2.attention.key_length'"}},
      {"no width of values",
       lacks(kAt + "attention.value_length_mla"),
       {"2 ", "has no 'deepseek2.attention.value_length_mla'"}},
      {"nothing says what turns",
       lacks(kAt + "rope.dimension_count"),
       {"4 ", "rope.dimension_count' is missing"}},
      {"all of a key turns",
       says(kAt + "rope.dimension_count", whole(4)),
       {"4 ", "rope.dimension_count' is 4, expected 2 to 3"}},
      {"an odd number turns",
       says(kAt + "rope.dimension_count", whole(3)),
       {"4 ", "rope.dimension_count' is odd"}},
      {"heads of keys beyond one",
       says(kAt + "attention.head_count", whole(4)),
       {"5 ", "'blk.0.attn_q.weight' is [8, 8], expected [16, 8]"}},
      {"heads of keys that are neither one nor all",
       [](Source& s) {
         s.metadata[kAt + "attention.head_count"] = whole(4);
         s.metadata[kAt + "attention.head_count_kv"] = whole(2);
       },
       {"4 ", "head_count_kv' is 2, expected 1 or the 4 heads"}},
      {"a latent of queries that is not there",
       says(kAt + "attention.q_lora_rank", whole(4)),
       {"5 ", "'blk.0.attn_q_a.weight' is missing, expected [4, 8]"}},
      {"no latent",
       lacks("blk.1.attn_kv_a_mqa.weight"),
       {"5 ", "attn_kv_a_mqa.weight' is missing"}},
      {"no norm of it", lacks("blk.1.attn_kv_a_norm.weight"), {"5 ", "a_norm.weight' is missing"}},
      {"no keys",
       lacks("blk.0.attn_k_b.weight"),
       {"5 ", "'blk.0.attn_kv_b.weight' is missing, expected [10, 6]"}},
      {"no values", lacks("blk.0.attn_v_b.weight"), {"5 ", "'blk.0.attn_v_b.weight' is missing"}},
      {"keys as rows of their heads",
       holds("blk.0.attn_k_b.weight", {2, 2, 6}),
       {"5 ", "'blk.0.attn_k_b.weight' is [2, 2, 6], expected [2, 6, 2]"}},
      {"values that are transposed",
       holds("blk.0.attn_v_b.weight", {2, 6, 3}),
       {"5 ", "'blk.0.attn_v_b.weight' is [2, 6, 3], expected [2, 3, 6]"}},
      {"keys of more heads",
       holds("blk.0.attn_k_b.weight", {3, 6, 2}),
       {"5 ", "'blk.0.attn_k_b.weight' is [3, 6, 2], expected [2, 6, 2]"}},
      {"groups that do not divide",
       groups(3, 1),
       {"4 ", "expert_group_count' is 3, expected a divisor of the 4 experts"}},
      {"more groups used than there are",
       groups(2, 3),
       {"4 ", "expert_group_used_count' is 3, expected so many of the 2 groups"}},
      {"groups of too few experts",
       groups(4, 1),
       {"4 ", "expert_group_used_count' is 1, expected so many of the 4 groups"}},
      {"groups of one",
       groups(4, 2),
       {"4 ", "expert_group_count' is 4, expected two experts or more in each group"}},
      {"another choice of experts",
       says(kAt + "expert_gating_func", whole(3)),
       {"4 ", "expert_gating_func' is 3, expected 0 to 2"}},
      {"a softmax with a bias of the choice",
       says(kAt + "expert_gating_func", whole(1)),
       {"5 ", "'blk.1.exp_probs_b.bias' is not expected"}},
      {"a shared expert that is not there",
       lacks("blk.1.ffn_up_shexp.weight"),
       {"5 ", "'blk.1.ffn_up_shexp.weight' is missing, expected [5, 8]"}},
      {"a shared expert of no one",
       lacks(kAt + "expert_shared_count"),
       {"5 ", "'blk.1.ffn_down_shexp.weight' is not expected"}},
      {"a scale beyond reason",
       says(kAt + "rope.scaling.yarn_log_multiplier", real(1e30f)),
       {"4 ", "yarn_log_multiplier' is ", "expected 0 to 100"}},
      {"layers that propose",
       says(kAt + "nextn_predict_layers", whole(1000)),
       {"4 ", "'deepseek2.nextn_predict_layers' is 1000, expected 0 to "}},
  };
  check_refusals(deepseek2(), cases);
}

TEST_CASE("decoder: every byte of the head of a file of latents is a graph or a refusal") {
  Source source = deepseek2();
  source.metadata[kAt + "context_length"] = whole(8);
  check_hostile(source);
}
