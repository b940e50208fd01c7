// SPDX-License-Identifier: Apache-2.0
// tests/import/decoder/llama2c_test.cpp - llama2.c's .bin as a program: that of a GGUF file with
// the same weights, in both versions, with a head of its own or without; its tokenizer; refusals.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/import/decoder/gguf_source.h"
#include "tests/support/scratch.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"
#include "tools/import/decoder/import.h"
#include "tools/text/vocabulary.h"

using namespace ingot;
using test::little_endian;

namespace {

/// As export.py of llama2.c writes them; without an own head the embedding is the head.
std::string llama2c(const test::gguf::Source& source, int version, bool has_head) {
  auto values = source.values();
  const auto of = [&](const std::string& name) {
    const std::vector<float>& v = values.at(name + ".weight");
    return std::string(reinterpret_cast<const char*>(v.data()), 4 * v.size());
  };
  const auto each = [&](const std::string& name) {
    return of("blk.0." + name) + of("blk.1." + name);
  };
  const uint64_t rows = source.tensors.at("token_embd.weight")[0];
  std::string bytes;
  if (version) bytes = "24ka" + little_endian(uint64_t(version), 4);
  for (const uint64_t n : {uint64_t(8), uint64_t(12), uint64_t(2), uint64_t(2), uint64_t(1),
                           version || !has_head ? rows : -rows, uint64_t(64)})
    bytes += little_endian(n & 0xffffffff, 4);
  if (version) {
    bytes += char(!has_head);
    bytes.resize(256, '\0');
    bytes += each("attn_norm") + each("ffn_norm") + of("output_norm") + of("token_embd");
  } else {
    bytes += of("token_embd") + each("attn_norm");
  }
  bytes += each("attn_q") + each("attn_k") + each("attn_v") + each("attn_output");
  if (!version) bytes += each("ffn_norm");
  bytes += each("ffn_gate") + each("ffn_down") + each("ffn_up");
  if (!version) bytes += of("output_norm") + std::string(64 * 4 * 4, '\x7f');
  return has_head ? bytes + of("output") : bytes;
}

importer::Program import_file(const std::string& file) {
  const host::WorkBudget budget(file, std::filesystem::file_size(file));
  const importer::OpenedFile opened(file);
  if (decoder::is_gguf(opened)) return decoder::import_gguf(opened, {});
  REQUIRE(decoder::is_llama2c(opened));
  return decoder::import_llama2c(opened, {});
}

/// What a graph computes, by its nodes and the bytes of its constants.
std::string program_text(const importer::Program& program) {
  std::string all;
  for (const graph::Node& node : program.model.graph.nodes) {
    all += std::to_string(int(node.op)) + ":";
    for (const graph::ValueId id : node.inputs) all += std::to_string(id) + ",";
    all += "\n";
  }
  for (const graph::Value& value : program.model.values)
    if (value.constant && value.constant->bytes)
      all.append(value.constant->bytes->begin(), value.constant->bytes->end());
  return all;
}

std::string refusal_of(const std::string& file) {
  try {
    (void)import_file(file);
  } catch (const graph::ConversionError& error) {
    return error.message;
  } catch (const host::Failure& failure) {
    return failure.message();
  }
  return "imported";
}

/// The letters from a on behind <unk>, <s>, </s> and a byte; a space, and one piece of two.
std::string tokenizer(uint32_t count) {
  std::string bytes = little_endian(6, 4);
  for (uint32_t i = 0; i < count; i++) {
    std::string piece = std::string(1, char('a' + i - 5));
    if (i < 5) piece = std::vector<std::string>{"<unk>", "\n<s>\n", "\n</s>\n", "<0x0A>", " "}[i];
    if (i == count - 1) piece = " a";
    const float score = i == count - 1 ? -1.f : -float(10 + i);
    uint32_t bits;
    std::memcpy(&bits, &score, 4);
    bytes += little_endian(bits, 4) + little_endian(piece.size(), 4) + piece;
  }
  return bytes;
}

}  // namespace

TEST_CASE("llama2.c: both versions give the program of a GGUF file with their weights") {
  const test::Scratch folder;
  for (const bool has_head : {false, true}) {
    test::gguf::Source source = test::gguf::llama();
    source.is_random = true;
    if (has_head) source.tensors["output.weight"] = {10, 8};
    const importer::Program expected = import_file(folder.write("model.gguf", source.bytes()));
    for (const int version : {0, 1}) {
      CAPTURE(has_head);
      CAPTURE(version);
      const importer::Program found =
          import_file(folder.write("model.bin", llama2c(source, version, has_head)));
      CHECK(program_text(found) == program_text(expected));
      CHECK(found.states.size() == 4);
    }
  }
}

TEST_CASE("llama2.c: the tokenizer beside a model is in its file") {
  const test::Scratch folder;
  const std::string model = folder.write("model.bin", llama2c(test::gguf::llama(), 0, false));
  CHECK(import_file(model).text.empty());
  folder.write("tokenizer.bin", tokenizer(10));
  CHECK_FALSE(import_file(model).text.empty());
  const vocabulary::Vocabulary v = vocabulary::vocabulary_of_llama2c(folder / "tokenizer.bin", 10);
  CHECK(v.pieces[1].bytes == "<s>");
  CHECK(v.pieces[1].kind == PieceKind::kControl);
  CHECK(v.pieces[3].bytes == "\n");
  CHECK(v.pieces[3].kind == PieceKind::kByte);
  CHECK(v.pieces[9].bytes == " a");
  CHECK(v.prefix == std::vector<uint32_t>{1});
  folder.write("tok10.bin", tokenizer(9));  // the name with the number comes first
  CHECK(refusal_of(model).find("tok10.bin: ends in token 9 of 10") != std::string::npos);
  folder.write("tok10.bin", tokenizer(11));
  CHECK(refusal_of(model).find("has more than the 10 tokens of the model") != std::string::npos);
  std::string nan = tokenizer(10);
  nan.replace(4, 4, little_endian(0x7fc00000, 4));
  folder.write("tok10.bin", nan);
  CHECK(refusal_of(model).find("the score of token 0 is not a number") != std::string::npos);
}

TEST_CASE("llama2.c: cut files and unknown versions are refused by their names") {
  const test::Scratch folder;
  const std::string whole = llama2c(test::gguf::llama(), 0, false);
  const std::string cut = folder.write("cut.bin", whole.substr(0, whole.size() - 4));
  CHECK(refusal_of(cut).find("cut.bin: has " + std::to_string(whole.size() - 4) +
                             " bytes, its head asks for " + std::to_string(whole.size())) !=
        std::string::npos);
  CHECK(refusal_of(folder.write("int8.bin", llama2c(test::gguf::llama(), 2, false)))
            .find("is of version 2 with the magic word") != std::string::npos);
  std::string unknown = llama2c(test::gguf::llama(), 1, false);
  unknown.replace(4, 4, little_endian(0xffffffff, 4));
  CHECK(refusal_of(folder.write("minus.bin", unknown)).find("is of version -1") !=
        std::string::npos);
  unknown.replace(4, 4, little_endian(0, 4));  // the word belongs to later versions
  CHECK(refusal_of(folder.write("zero.bin", unknown)).find("is of version 0 with") !=
        std::string::npos);
  CHECK_FALSE(decoder::is_llama2c(importer::OpenedFile(folder.write("model.dat", whole))));
  for (size_t i = 0; i < 28; i++)  // each is a head of another file, or of none
    for (const char byte : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[i] = byte;
      const std::string file = folder.write("changed.bin", changed);
      if (changed == whole || !decoder::is_llama2c(importer::OpenedFile(file))) continue;
      CHECK(refusal_of(file) != "imported");
    }
}
