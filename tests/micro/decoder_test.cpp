// SPDX-License-Identifier: Apache-2.0
// A language model in a microcontroller's core: token by token it has the bits of the whole
// runtime, logits and caches, which are written where they lie.
#include <doctest/doctest.h>

#include "tests/import/decoder/gguf_source.h"
#include "tests/micro/side_by_side.h"
#include "tests/support/scratch.h"
#include "tools/compile/convert/convert.h"
#include "tools/compile/write/file_writer.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr uint32_t kContext = 12, kLayers = 2, kKeyWidth = 16, kTokens = 10;

/// The small Llama, `width` wide, so that a row of weights has whole blocks.
gguf::Source wide_llama(uint32_t width) {
  gguf::Source source = gguf::llama();
  source.is_random = true;
  source.metadata["llama.embedding_length"] = gguf::whole(width);
  source.metadata["llama.feed_forward_length"] = gguf::whole(2 * width);
  for (auto& [name, dims] : source.tensors)
    for (uint64_t& dim : dims)
      dim = dim == 12 ? 2 * width : dim == kTokens ? kTokens : dim * width / 8;
  return source;
}

std::vector<uint8_t> decoder(uint32_t width = 2 * kKeyWidth,
                             const std::optional<BlockType>& blocks = {}) {
  const Scratch folder;
  convert::ConvertOptions options;
  options.targets = {"mcu"};
  options.dims = {"T=1"};
  options.context = kContext;
  options.for_core = true;
  options.blocks = blocks;
  const std::string path = folder.write("model.gguf", wide_llama(width).bytes());
  return convert::write_memory(convert::convert_source(path, options).file);
}

/// Inputs by their sizes: a token of 4 bytes, a position of 8.
FillInput step(int32_t token, int64_t position) {
  return [=](uint32_t, void* to, uint64_t bytes) {
    if (bytes == sizeof token)
      std::memcpy(to, &token, sizeof token);
    else
      std::memcpy(to, &position, sizeof position);
  };
}

}  // namespace

TEST_CASE("decoder: tokens in a row fill the caches with the bits of the whole runtime") {
  SideBySide both(decoder());
  REQUIRE(both.is_open());
  const std::vector<uint8_t> fresh = both.states();
  REQUIRE(fresh.size() == 2 * kLayers * kContext * kKeyWidth * sizeof(float));
  for (int pass = 0; pass < 2; pass++) {
    std::vector<uint8_t> before = fresh;
    for (uint32_t i = 0; i < kContext; i++) {
      CAPTURE(i);
      CHECK(both.run(step(int32_t((7 * i + 3) % kTokens), i)) == "");
      CHECK(both.states() != before);
      before = both.states();
    }
    CHECK(both.reset() == "");
    CHECK(both.states() == fresh);
  }
  CHECK(both.has_moved());
}

TEST_CASE("decoder: weights in blocks have the bits of the whole runtime") {
  const std::pair<BlockType, uint32_t> kCases[] = {{BlockType::kQ8_0, 32}, {BlockType::kQ4_K, 256}};
  for (const auto& each : kCases) {
    const BlockType type = each.first;
    const uint32_t width = each.second;
    CAPTURE(int(type));
    const std::vector<uint8_t> file = decoder(width, type);
    CHECK(file.size() < decoder(width).size());
    SideBySide both(file);
    REQUIRE(both.is_open());
    for (uint32_t i = 0; i < kContext; i++)
      CHECK(both.run(step(int32_t((7 * i + 3) % kTokens), i)) == "");
    CHECK(both.has_moved());
  }
}

TEST_CASE("decoder: the arena holds each cache once") {
  SideBySide both(decoder());
  REQUIRE(both.is_open());
  const uint32_t cache = kContext * kKeyWidth * sizeof(float), caches = 2 * kLayers * cache;
  // places are multiples of 64, as a cache here; what else lives is a token's, far below a copy
  CHECK(both.arena_bytes() >= caches);
  micro::MicroModel model;
  std::memcpy(static_cast<void*>(&model), &both.core(), sizeof model);
  uint32_t written = 0;
  for (uint32_t i = 0; i < model.instructions.count; i++) {
    micro::MicroCall call;
    REQUIRE(micro::read_call(model, i, &call, nullptr));
    if (call.op != OpCode::kScatterNd) continue;
    const auto place = [&](int32_t value) {
      micro::MicroValue v;
      REQUIRE(micro::read_value(model, uint32_t(value), &v, nullptr));
      return micro::address_of(model, uint32_t(value), v);
    };
    CHECK(place(call.values[0]) == place(call.values[call.arguments.input_count]));
    written++;
  }
  CHECK(written == 2 * kLayers);
}

TEST_CASE("decoder: a position outside the caches ends the run as on a host") {
  SideBySide both(decoder());
  REQUIRE(both.is_open());
  ingot_micro_error error;
  for (const int64_t position : {int64_t{kContext}, int64_t{1} << 40}) {
    CAPTURE(position);
    CHECK(both.run(step(1, position)) == "");  // the same code
    CHECK(ingot_micro_run(&both.core(), nullptr, nullptr, &error) == int32_t(Code::kBadIndexValue));
  }
  CHECK(both.reset() == "");
  CHECK(both.run(step(1, 0)) == "");
  CHECK(both.has_moved());
}
