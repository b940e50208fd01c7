// SPDX-License-Identifier: Apache-2.0
// tests/import/decoder/decoder_test.cpp - a GGUF file as a program: its ports, its state, the order
// of its rows, and what is refused, each by its name.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/import/decoder/gguf_import.h"
#include "tools/import/decoder/rope.h"

using namespace ingot;
using graph::Dim;
using graph::Dims;
using namespace test::gguf;

TEST_CASE("decoder: ports are tokens, a position and logits, keys and values are state") {
  const importer::Program program = import(llama().bytes());
  const graph::Model& m = program.model;
  const Dims& tokens = named(m, "tokens").dims;
  REQUIRE(tokens.size() == 2);
  CHECK(tokens[1] == Dim::symbol("T", 1, 64));
  CHECK(m.symbols.at("T").high == 64);
  CHECK(named(m, "position").dtype == DType::kI64);
  CHECK(named(m, "position").dims == Dims{Dim(1)});
  CHECK(named(m, "logits").dims == Dims{Dim(1), Dim(10)});
  REQUIRE(program.states.size() == 4);
  CHECK(program.states[0].input == "keys.0");
  CHECK(program.states[3].input == "values.1");
  CHECK(named(m, "keys.0").dims == Dims{Dim(64), Dim(4)});
  CHECK(m.graph.inputs.size() == 6);
  CHECK(m.graph.outputs.size() == 5);
  CHECK(count(m, op::Attention) == 2);
  CHECK(count(m, op::ScatterND) == 4);
  CHECK(m.metadata.at("ingot.decoder.context") == "64");
}

TEST_CASE("decoder: the context and the tokens of a run have bounds") {
  importer::ImportOptions options;
  options.context = 16;
  importer::Program program = import(llama().bytes(), options);
  CHECK(named(program.model, "values.0").dims == Dims{Dim(16), Dim(4)});
  CHECK(program.model.symbols.at("T").high == 16);
  options.dims["T"] = {1, 8};
  CHECK(import(llama().bytes(), options).model.symbols.at("T").high == 8);
  options.dims["T"] = {1, 17};
  CHECK(refusal(llama(), options).find("1 to 16 tokens") != std::string::npos);
  options.dims["T"] = {0, 8};
  CHECK(refusal(llama(), options).find("1 to 16 tokens") != std::string::npos);
  options.dims.clear();
  options.context = 65;  // beyond what it was trained on: a warning with both numbers
  program = import(llama().bytes(), options);
  std::string notes;
  for (const std::string& note : program.model.notes) notes += note + "\n";
  CHECK(notes.find("65 is beyond the 64") != std::string::npos);
  options.context = int64_t(1) << 24;  // whose tables of angles are out of proportion
  CHECK(refusal(llama(), options).find("bytes of memory") != std::string::npos);
}

TEST_CASE("decoder: with slots each token has a position and a slot, and caches are one a slot") {
  importer::ImportOptions options;
  options.slots = 3;
  const importer::Program program = import(llama().bytes(), options);
  const graph::Model& m = program.model;
  const Dim t = Dim::symbol("T", 1, 64);
  for (const char* port : {"position", "slot", "rows"}) {
    CHECK(named(m, port).dtype == DType::kI64);
    CHECK(named(m, port).dims == Dims{Dim(1), t});
    CHECK(m.metadata.at("ingot.typical." + std::string(port)) == "0");
  }
  CHECK(named(m, "logits").dims == Dims{min(t, Dim(3)), Dim(10)});
  CHECK(named(m, "keys.0").dims == Dims{Dim(3), Dim(64), Dim(4)});
  CHECK(m.graph.inputs.size() == 8);
  options.dims["T"] = {1, 2};
  CHECK(refusal(llama(), options).find("--slots 3: a run takes 2 tokens") != std::string::npos);
}

TEST_CASE("decoder: caches may be f16; what is computed stays f32") {
  importer::ImportOptions options;
  options.cache = DType::kF16;
  const importer::Program program = import(llama().bytes(), options);
  const graph::Model& m = program.model;
  CHECK(named(m, "keys.0").dtype == DType::kF16);
  CHECK(named(m, "values.1").dtype == DType::kF16);
  CHECK(named(m, "logits").dtype == DType::kF32);
  CHECK(count(m, op::Cast) == 4);
  std::string notes;
  for (const std::string& note : m.notes) notes += note + "\n";
  CHECK(notes.find("as state in f16, 2048 bytes") != std::string::npos);  // 4 [64, 4]
  options.cache = DType::kU8;
  CHECK(refusal(llama(), options).find("--cache q8: heads are 4 wide") != std::string::npos);
}

TEST_CASE("decoder: layers of convolutions keep snapshots of the last positions") {
  importer::ImportOptions options;
  importer::Program program = import(lfm2().bytes());
  CHECK(program.states.size() == 5);
  CHECK(named(program.model, "snapshots.0").dims == Dims{Dim(16), Dim(16)});  // two rows of 8
  CHECK(named(program.model, "snapshots.2").dtype == DType::kF32);
  CHECK(named(program.model, "snapshots.positions").dims == Dims{Dim(16), Dim(1)});
  CHECK(named(program.model, "keys.1").dims == Dims{Dim(64), Dim(4)});
  CHECK(count(program.model, op::Attention) == 1);
  CHECK(count(program.model, op::ScatterND) == 5);
  std::string notes;
  for (const std::string& note : program.model.notes) notes += note + "\n";
  CHECK(notes.find("kept as state, 2176 bytes") != std::string::npos);
  options.slots = 3, options.cache = DType::kF16;
  program = import(lfm2().bytes(), options);
  CHECK(named(program.model, "snapshots.2").dims == Dims{Dim(3), Dim(16), Dim(16)});
  CHECK(named(program.model, "snapshots.2").dtype == DType::kF32);
  CHECK(named(program.model, "snapshots.positions").dims == Dims{Dim(3), Dim(16), Dim(1)});
  options.slots = 0, options.lookup = 20;  // so many tokens are gone back by
  CHECK(named(import(lfm2().bytes(), options).model, "snapshots.0").dims == Dims{Dim(22), Dim(16)});
  Source source = lfm2();
  source.metadata["lfm2.shortconv.l_cache"] = whole(1);  // nothing is behind
  for (const char* layer : {"blk.0.", "blk.2."})
    source.tensors[layer + std::string("shortconv.conv.weight")] = {8, 1};
  CHECK(import(source.bytes()).states.size() == 2);
}

TEST_CASE("decoder: a convolution that does not fit is refused by its name") {
  const std::vector<Case> cases = {
      {"no length", lacks("lfm2.shortconv.l_cache"), {"4 ", "'lfm2.shortconv.l_cache' is missing"}},
      {"a length of 0",
       says("lfm2.shortconv.l_cache", whole(0)),
       {"4 ", "l_cache' is 0, expected 1 to 32"}},
      {"a length beyond reason",
       says("lfm2.shortconv.l_cache", whole(4000000000u)),
       {"4 ", "l_cache' is 4000000000"}},
      {"heads of fewer layers",
       says("lfm2.attention.head_count_kv", list(std::vector<uint32_t>{0, 1})),
       {"4 ", "head_count_kv' has 2 numbers, expected 3"}},
      {"heads of more layers",
       says("lfm2.attention.head_count_kv", list(std::vector<uint32_t>{0, 1, 0, 0})),
       {"4 ", "head_count_kv' has 4 numbers, expected 3"}},
      {"no attention",
       says("lfm2.attention.head_count_kv", list(std::vector<uint32_t>{0, 0, 0})),
       {"4 ", "0 for all layers", "one layer of attention"}},
      {"no heads where none is known",
       [](Source& s) {
         s = llama();
         s.metadata["llama.attention.head_count_kv"] = list(std::vector<uint32_t>{1, 0});
       },
       {"4 ", "head_count_kv' is 0, expected 1"}},
      {"missing taps",
       lacks("blk.2.shortconv.conv.weight"),
       {"5 ", "'blk.2.shortconv.conv.weight' is missing, expected [8, 3]"}},
      {"a missing product",
       lacks("blk.0.shortconv.in_proj.weight"),
       {"5 ", "'blk.0.shortconv.in_proj.weight' is missing, expected [24, 8]"}},
      {"taps of another length",
       holds("blk.0.shortconv.conv.weight", {8, 4}),
       {"5 ", "'blk.0.shortconv.conv.weight' is [8, 4], expected [8, 3]"}},
      {"a product of two parts",
       holds("blk.0.shortconv.in_proj.weight", {16, 8}),
       {"5 ", "in_proj.weight' is [16, 8], expected [24, 8]"}},
      {"attention at a convolution",
       holds("blk.0.attn_q.weight", {8, 8}),
       {"5 ", "'blk.0.attn_q.weight' is not expected"}},
  };
  check_refusals(lfm2(), cases);
}

TEST_CASE("decoder: rows of neighbors are put in the order of halves") {
  using decoder::halves_of_neighbors;
  CHECK(halves_of_neighbors(0, 1, 4, 4) == std::vector<int64_t>{0, 2, 1, 3});
  CHECK(halves_of_neighbors(8, 2, 4, 4) == std::vector<int64_t>{8, 10, 9, 11, 12, 14, 13, 15});
  CHECK(halves_of_neighbors(0, 1, 6, 4) == std::vector<int64_t>{0, 2, 1, 3, 4, 5});
  const importer::Program program = import(llama().bytes());
  const graph::Value& k = named(program.model, "blk.0.attn_k.weight");
  REQUIRE(k.constant->elements() == 32);
  const auto have = k.constant->as<float>();
  const float row = 8.f / 1024;  // what a row of the source is more than the one before
  CHECK(have[8] == have[0] + 2 * row);
  CHECK(have[16] == have[0] + row);
  CHECK(have[24] == have[0] + 3 * row);
}

TEST_CASE("decoder: angles of every kind of scaling") {
  decoder::RopeNumbers n;
  n.width = 4;
  decoder::RopeTables plain = decoder::rope_tables(n, 3);
  CHECK(plain.cosine[0] == 1);
  CHECK(plain.sine[2 * 2] == doctest::Approx(std::sin(2.0)));
  CHECK(plain.sine[2 * 2 + 1] == doctest::Approx(std::sin(2.0 / 100)));
  n.divisor = 2;
  CHECK(decoder::rope_tables(n, 3).sine[4] == plain.sine[2]);
  n.divisor = 1;
  n.divisors = {1, 4};
  CHECK(decoder::rope_tables(n, 3).sine[5] == doctest::Approx(std::sin(2.0 / 400)));
  n.divisors.clear();
  n.is_yarn = true, n.divisor = 4, n.original_context = 64;
  const decoder::RopeTables yarn = decoder::rope_tables(n, 3);
  CHECK(yarn.sine[5] == doctest::Approx(std::sin(2.0 / 400)));  // low frequencies are divided
  CHECK(yarn.sine[4] == plain.sine[4]);                         // high ones are not
}

TEST_CASE("decoder: what does not fit is refused by its name") {
  const std::vector<Case> cases = {
      {"an unknown architecture",
       says("general.architecture", word("lama")),
       {"4 ", "'lama'", "nearest is 'llama'"}},
      {"no architecture",
       lacks("general.architecture"),
       {"4 ", "general.architecture", "--weights"}},
      {"a missing tensor",
       lacks("blk.1.attn_k.weight"),
       {"5 ", "'blk.1.attn_k.weight' is missing", "[4, 8]"}},
      {"a tensor of another name",
       [](Source& s) {
         s.tensors.erase("blk.1.ffn_up.weight");
         s.tensors["blk.1.ffn_upp.weight"] = {12, 8};
       },
       {"5 ", "'blk.1.ffn_up.weight' is missing", "there is 'blk.1.ffn_upp.weight'",
        "'blk.1.ffn_upp.weight' is not expected"}},
      {"a wrong shape",
       holds("blk.0.ffn_down.weight", {12, 8}),
       {"5 ", "'blk.0.ffn_down.weight' is [12, 8], expected [8, 12]"}},
      {"an embedding of another width",
       holds("token_embd.weight", {10, 6}),
       {"5 ", "'token_embd.weight' is [10, 6], expected [10, 8]"}},
      {"no embedding", lacks("token_embd.weight"), {"5 ", "'token_embd.weight' is missing"}},
      {"an unexpected tensor",
       holds("blk.0.attn_sinks.weight", {2}),
       {"5 ", "'blk.0.attn_sinks.weight' is not expected"}},
      {"a missing number", lacks("llama.embedding_length"), {"2 ", "'llama.embedding_length'"}},
      {"an unknown number",
       says("llama.attention.twist", whole(2)),
       {"4 ", "'llama.attention.twist' is not known"}},
      {"caches of other layers",
       says("llama.attention.shared_kv_layers", whole(1)),
       {"4 ", "'llama.attention.shared_kv_layers' is not known"}},
      {"experts", says("llama.expert_count", whole(8)), {"2 ", "'llama.expert_used_count'"}},
      {"experts without a router",
       [](Source& s) {
         s.metadata["llama.expert_count"] = whole(8),
         s.metadata["llama.expert_used_count"] = whole(2);
       },
       {"5 ", "'blk.1.ffn_gate_inp.weight' is missing", "[8, 8]"}},
      {"an unknown rope",
       says("llama.rope.scaling.type", word("spiral")),
       {"4 ", "'spiral'", "longrope"}},
      {"a temperature that is no number of f32",
       says("llama.attention.temperature_scale", real(3e38f)),
       {"4 ", "'llama.attention.temperature_scale' is ", "expected 0 to 1000"}},
      {"a vocabulary beyond the embedding",
       [](Source& s) {
         std::string tokens =
             test::little_endian(9, 4) + test::little_endian(8, 4) + test::little_endian(11, 8);
         for (int i = 0; i < 11; i++) tokens += text("t");
         s.metadata["tokenizer.ggml.tokens"] = tokens;
       },
       {"5 ", "11 tokens", "10 rows"}},
      {"layers beyond the tensors",
       says("llama.block_count", whole(900)),
       {"4 ", "block_count", "900"}},
      {"layers beyond reason",
       says("llama.block_count", whole(4000000000u)),
       {"4 ", "block_count", "4000000000"}},
      {"a width beyond reason",
       says("llama.embedding_length", whole(4000000000u)),
       {"4 ", "embedding_length"}},
      {"no heads", says("llama.attention.head_count", whole(0)), {"4 ", "head_count"}},
      {"heads that do not share",
       says("llama.attention.head_count_kv", whole(3)),
       {"4 ", "head_count_kv", "divisor"}},
      {"more heads than width",
       says("llama.attention.head_count", whole(16)),
       {"4 ", "head_count", "at most the width 8"}},
      {"an odd rotation",
       says("llama.rope.dimension_count", whole(3)),
       {"4 ", "dimension_count", "odd"}},
      {"a rotation beyond the head",
       says("llama.rope.dimension_count", whole(64)),
       {"4 ", "dimension_count"}},
      {"a base that is no number",
       says("llama.rope.freq_base", real(__builtin_nanf(""))),
       {"4 ", "freq_base", "not finite"}},
      {"a number as a text",
       says("llama.block_count", word("2")),
       {"2 ", "llama.block_count", "whole number"}},
      {"a part of a split file",
       [](Source& s) { s.metadata["split.count"] = whole(2), s.metadata["split.no"] = whole(1); },
       {"5 ", "not its first"}},
      {"the first part under another name",
       [](Source& s) { s.metadata["split.count"] = whole(2), s.metadata["split.no"] = whole(0); },
       {"5 ", "-00001-of-00002.gguf"}},
  };
  check_refusals(llama(), cases);
}

TEST_CASE("decoder: every cut of a file and every byte of its head is a graph or a refusal") {
  Source source = llama();
  source.metadata["llama.context_length"] = whole(8);  // tables of so many rows are made each time
  check_hostile(source);
  source = lfm2();
  source.metadata["lfm2.context_length"] = whole(8);
  check_hostile(source);
}
