// SPDX-License-Identifier: Apache-2.0
// tests/import/decoder/recurrences_test.cpp - layers with a recurrent state: what a program keeps
// of them, and what is refused, each by its name.
#include "tests/import/decoder/gguf_import.h"

using namespace ingot;
using graph::Dim;
using graph::Dims;
using namespace test::gguf;

TEST_CASE("decoder: recurrent layers keep states of few positions") {
  importer::ImportOptions options;
  importer::Program program = import(granite().bytes());
  CHECK(program.states.size() == 7);
  CHECK(named(program.model, "snapshots.0").dims == Dims{Dim(2), Dim(40)});  // two rows of 20
  CHECK(named(program.model, "snapshots.states.0").dims == Dims{Dim(2), Dim(24)});  // 2 of [3, 4]
  CHECK(named(program.model, "snapshots.positions").dims == Dims{Dim(2), Dim(1)});
  CHECK(count(program.model, op::LinearRecurrence) == 2);
  CHECK(count(program.model, op::Attention) == 1);
  std::string notes;
  for (const std::string& note : program.model.notes) notes += note + "\n";
  CHECK(notes.find("what recurrent layers need of the last tokens is kept as state, 1040 bytes") !=
        std::string::npos);  // 2 layers of 2 rows of 64 f32, and 2 positions
  options.slots = 3, options.cache = DType::kF16;
  program = import(qwen35().bytes(), options);
  CHECK(named(program.model, "snapshots.states.2").dims == Dims{Dim(3), Dim(2), Dim(24)});
  CHECK(named(program.model, "snapshots.states.2").dtype == DType::kF32);
  CHECK(count(program.model, op::LinearRecurrence) == 2);
  options.slots = 0, options.lookup = 5;  // so many tokens are gone back by
  CHECK(named(import(granite().bytes(), options).model, "snapshots.states.0").dims ==
        Dims{Dim(7), Dim(24)});
  Source source = qwen35();  // layers that only propose tokens are no part of it
  source.metadata["qwen35.block_count"] = whole(4);
  source.metadata["qwen35.nextn_predict_layers"] = whole(1);
  source.tensors["blk.3.nextn.eh_proj.weight"] = {8, 16};
  CHECK(import(source.bytes()).states.size() == 7);
}

TEST_CASE("decoder: a recurrence that does not fit is refused by its name") {
  const auto numbers = [](const std::vector<uint32_t>& all) { return list(all); };
  const std::string at = "granitehybrid.";
  const std::vector<Case> cases = {
      {"no length", lacks(at + "ssm.conv_kernel"), {"4 ", "ssm.conv_kernel' is missing"}},
      {"a length of 1", says(at + "ssm.conv_kernel", whole(1)), {"4 ", "is 1, expected 2 to 32"}},
      {"no state", lacks(at + "ssm.state_size"), {"2 ", "has no 'granitehybrid.ssm.state_size'"}},
      {"a state of 0", says(at + "ssm.state_size", whole(0)), {"4 ", "state_size' is 0"}},
      {"a state beyond reason",
       says(at + "ssm.state_size", whole(4000000000u)),
       {"4 ", "state_size' is 4000000000, expected 1 to 4096"}},
      {"heads that do not divide",
       says(at + "ssm.time_step_rank", whole(3)),
       {"4 ", "inner_size' is 8, expected a multiple of the 3 heads"}},
      {"more heads than columns", says(at + "ssm.time_step_rank", whole(9)), {"4 ", "1 to 8"}},
      {"groups that do not divide",
       [=](Source& s) {
         s.metadata[at + "ssm.time_step_rank"] = whole(4);
         s.metadata[at + "ssm.group_count"] = whole(3);
       },
       {"4 ", "group_count' is 3, expected a divisor of the 4 heads"}},
      {"heads beyond reason",
       [=](Source& s) {
         s.metadata[at + "ssm.inner_size"] = whole(1 << 24);
         s.metadata[at + "ssm.time_step_rank"] = whole(1);
         s.metadata[at + "ssm.group_count"] = whole(1);
       },
       {"4 ", "inner_size' is 16777216, expected at most 4096 for each of the 1 heads"}},
      {"states beyond reason",
       [=](Source& s) {
         s.metadata[at + "ssm.inner_size"] = whole(1 << 24);
         s.metadata[at + "ssm.time_step_rank"] = whole(1 << 12);
         s.metadata[at + "ssm.group_count"] = whole(1);
         s.metadata[at + "ssm.state_size"] = whole(4096);
       },
       {"4 ", "state_size' is 4096, expected at most 2147483648 numbers"}},
      {"no attention",
       says(at + "attention.head_count_kv", numbers({0, 0, 0})),
       {"4 ", "0 for all layers"}},
      {"attention at a recurrence",
       says(at + "attention.head_count_kv", numbers({1, 1, 0})),
       {"5 ", "'blk.0.attn_q.weight' is missing"}},
      {"no decay", lacks("blk.0.ssm_a"), {"5 ", "'blk.0.ssm_a' is missing, expected [2]"}},
      {"no skip", lacks("blk.2.ssm_d"), {"5 ", "'blk.2.ssm_d' is missing, expected [2]"}},
      {"no step", lacks("blk.2.ssm_dt.bias"), {"5 ", "'blk.2.ssm_dt.bias' is missing"}},
      {"no norm", lacks("blk.2.ssm_norm.weight"), {"5 ", "'blk.2.ssm_norm.weight' is missing"}},
      {"a norm of other groups",
       holds("blk.2.ssm_norm.weight", {4, 2}),
       {"5 ", "'blk.2.ssm_norm.weight' is [4, 2], expected [2, 4]"}},
      {"a decay of each column",
       holds("blk.0.ssm_a", {8, 3}),
       {"5 ", "'blk.0.ssm_a' is [8, 3], expected [2]"}},
      {"taps of another length",
       holds("blk.0.ssm_conv1d.weight", {20, 4}),
       {"5 ", "'blk.0.ssm_conv1d.weight' is [20, 4], expected [20, 3]"}},
      {"a product of fewer parts",
       holds("blk.0.ssm_in.weight", {28, 8}),
       {"5 ", "'blk.0.ssm_in.weight' is [28, 8], expected [30, 8]"}},
  };
  check_refusals(granite(), cases);
  const std::vector<Case> of_delta_nets = {
      {"kinds of fewer layers",
       says("qwen35.attention.recurrent_layers", numbers({1, 0})),
       {"4 ", "recurrent_layers' has 2 items, expected one for each layer"}},
      {"an interval of 0", says("qwen35.full_attention_interval", whole(0)), {"4 ", "interval"}},
      {"as many layers that propose",
       says("qwen35.nextn_predict_layers", whole(3)),
       {"4 ", "nextn_predict_layers' is 3, expected 0 to 2"}},
      {"no gate", lacks("blk.0.attn_gate.weight"), {"5 ", "'blk.0.attn_gate.weight' is missing"}},
      {"no first product",
       lacks("blk.0.attn_qkv.weight"),
       {"5 ", "'blk.0.attn_qkv.weight' is missing, expected [20, 8]"}},
      {"queries without gates",
       holds("blk.1.attn_q.weight", {8, 8}),
       {"5 ", "'blk.1.attn_q.weight' is [8, 8], expected [16, 8]"}},
      {"no beta", lacks("blk.2.ssm_beta.weight"), {"5 ", "'blk.2.ssm_beta.weight' is missing"}},
  };
  check_refusals(qwen35(), of_delta_nets);
}

TEST_CASE("decoder: recurrences alone keep the text, which bounds positions") {
  importer::ImportOptions options;
  options.context = 16, options.slots = 3;
  const importer::Program program = import(mamba2().bytes(), options);
  CHECK(named(program.model, "text").dims == Dims{Dim(3), Dim(16), Dim(1)});
  CHECK(named(program.model, "text").dtype == DType::kI32);
  CHECK(program.states.size() == 6);
  CHECK(count(program.model, op::LinearRecurrence) == 2);
  CHECK(count(program.model, op::Attention) == 0);
  check_refusals(mamba2(), {{"no heads", lacks("mamba2.ssm.time_step_rank"), {"2 ", "has no"}},
                            {"a layer of feed-forward",
                             holds("blk.0.ffn_up.weight", {12, 8}),
                             {"5 ", "'blk.0.ffn_up.weight' is not expected"}}});
}

TEST_CASE("decoder: every byte of the head of a file of recurrences is a graph or a refusal") {
  Source source = granite();
  source.metadata["granitehybrid.context_length"] = whole(8);
  check_hostile(source);
  source = qwen35();
  source.metadata["qwen35.context_length"] = whole(8);
  check_hostile(source);
  check_hostile(mamba2());
}
