// SPDX-License-Identifier: Apache-2.0
// Block types against the format's reference decoder, whose figures are below; the file around
// them, cut at every place.
#include "tools/checkpoint/flat/gguf.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "tests/support/scratch.h"
#include "tools/checkpoint/tensors/compare_tensors.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"

using namespace ingot;
using namespace ingot::checkpoint;
using test::write_file;

namespace {

constexpr auto le = test::little_endian;

struct Row {
  uint32_t type;
  int halves[2];        // where 1.0 and 0.5 stand, -1: nowhere
  float at[4];          // elements 0, 1, the middle one, the last
  double weighted_sum;  // of (i + 1) y[i]
};
// Bytes are (37 i + 11) mod 256 elsewhere.
constexpr Row kRows[] = {
    {2, {0, -1}, {-3, 2, -3, 0}, -518.0},
    {3, {0, 2}, {15.5, 4.5, 9.5, 12.5}, 4247.0},
    {6, {0, -1}, {9, -2, 14, 1}, 112.0},
    {7, {0, 2}, {19.5, 24.5, 19.5, 5.5}, 8165.0},
    {8, {0, -1}, {85, 122, -91, -48}, -8080.0},
    {10, {80, 82}, {33, 0, 7.5, 4.5}, 243130.0},
    {11, {108, -1}, {81, -108, 2, 42}, 177145.0},
    {12, {0, 2}, {315.5, -25.5, 423, 48.5}, 7572840.0},
    {13, {0, 2}, {811.5, -25.5, 1047, 108.5}, 16027448.0},
    {14, {208, -1}, {-1431, 1696, -351, -60}, 784420.0},
    {20, {0, -1}, {-35, 25, -35, 1}, -6919.0},
    {23, {0, -1}, {65, -1, -585, -16}, -2091134.0},
    {39, {-1, -1}, {0, 0x6p-117f, 0x3p-117f, 0x6p-117f}, 638 * 0x1p-117},
};

std::string text(const std::string& s) { return le(s.size(), 8) + s; }

/// One fact, a plain tensor [2,3] and a Q8_0 tensor [1,32] of ones and a scale of a half.
std::string small_file() {
  std::string head = "GGUF" + le(3, 4) + le(2, 8) + le(2, 8);
  head += text("general.name") + le(8, 4) + text("tiny");
  head += text("x.list") + le(9, 4) + le(4, 4) + le(2, 8) + le(7, 4) + le(8, 4);
  head += text("a") + le(2, 4) + le(3, 8) + le(2, 8) + le(0, 4) + le(0, 8);
  head += text("q") + le(2, 4) + le(32, 8) + le(1, 8) + le(8, 4) + le(32, 8);
  head.resize((head.size() + 31) / 32 * 32, '\0');
  for (const float x : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})
    head.append(reinterpret_cast<const char*>(&x), 4);
  head.append(8, '\0');
  return head + le(0x3800, 2) + std::string(32, '\1');
}

}  // namespace

TEST_CASE("every block type decodes as the format's reference does") {
  for (const Row& row : kRows) {
    const GgufBlock* block = find_gguf_block(row.type);
    REQUIRE(block);
    CAPTURE(block->name);
    std::vector<uint8_t> bytes(block->bytes);
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = uint8_t(37 * i + 11);
    for (int i = 0; i < 2; i++) {
      if (row.halves[i] < 0) continue;
      bytes[size_t(row.halves[i])] = 0;
      bytes[size_t(row.halves[i]) + 1] = i ? 0x38 : 0x3c;
    }
    std::vector<float> y(block->elements);
    block->decode(bytes.data(), y.data());
    CHECK(y[0] == row.at[0]);
    CHECK(y[1] == row.at[1]);
    CHECK(y[block->elements / 2] == row.at[2]);
    CHECK(y[block->elements - 1] == row.at[3]);
    double sum = 0;
    for (size_t i = 0; i < y.size(); i++) sum += double(i + 1) * double(y[i]);
    CHECK(sum == row.weighted_sum);
  }
  CHECK(find_gguf_block(99) == nullptr);
}

TEST_CASE("blocks of any finite numbers below 2^15 decode as numbers near them") {
  std::vector<std::vector<float>> rows;
  for (const float x : {0.f, 1e-40f, -1e-7f, 0.3f, 32767.f}) rows.emplace_back(256, x);
  for (const float x : {1e-3f, -32767.f}) rows.emplace_back(256, 0.f), rows.back()[77] = x;
  std::vector<float> rising(256), apart(256), mixed(256);
  for (int i = 0; i < 256; i++) {
    const float wave = float(37 * i % 64 - 32) / 32;
    rising[size_t(i)] = 5 + float(i) / 256, apart[size_t(i)] = wave - 3;
    mixed[size_t(i)] = std::ldexp(wave, i / 32 * 4 - 14);
  }
  for (auto* row : {&rising, &apart, &mixed}) rows.push_back(*row);
  for (const Row& each : kRows) {
    const GgufBlock& block = *find_gguf_block(each.type);
    if (!block.encode) continue;
    const std::string name = block.name;
    CAPTURE(name);
    const float steps = name[1] == '4' ? 15.f : name[1] == '5' ? 31.f : 63.f;
    for (const std::vector<float>& x : rows) {
      std::vector<uint8_t> bytes(block.bytes * size_t(256 / block.elements), 0xaa);
      std::vector<float> y(256);
      for (size_t i = 0; i < 256 / block.elements; i++)
        block.encode(&x[i * block.elements], &bytes[i * block.bytes]);
      decode_gguf_blocks(block, bytes.data(), bytes.size(), y.data());
      // of numbers around -most .. most, the step; f16 ends at 2^-24
      float most = 0;
      for (const float w : x) most = std::max(most, std::fabs(w));
      for (size_t i = 0; i < 256; i++) CHECK(std::fabs(y[i] - x[i]) <= 2 * most / steps + 1e-5f);
    }
  }
}

TEST_CASE("blocks of numbers near the least scale of 16 bits are no zeros") {
  for (const float most : {1e-5f, 1e-6f})
    for (const Row& each : kRows) {
      const GgufBlock& block = *find_gguf_block(each.type);
      if (!block.encode) continue;
      CAPTURE(block.name);
      CAPTURE(most);
      std::vector<float> x(256), y(256);
      for (int i = 0; i < 256; i++) x[size_t(i)] = most * float(37 * i % 64 - 32) / 32;
      std::vector<uint8_t> bytes(block.bytes * size_t(256 / block.elements));
      for (size_t i = 0; i < 256 / block.elements; i++)
        block.encode(&x[i * block.elements], &bytes[i * block.bytes]);
      decode_gguf_blocks(block, bytes.data(), bytes.size(), y.data());
      double lost = 0, all = 0;
      for (size_t i = 0; i < 256; i++) {
        lost += double(y[i] - x[i]) * double(y[i] - x[i]), all += double(x[i]) * double(x[i]);
      }
      CHECK(lost < all / 16);
    }
}

TEST_CASE("a small GGUF file, whole and cut") {
  const host::TemporaryPath file(".gguf");
  const std::string whole = small_file();
  write_file(file.path(), whole);
  const Checkpoint c = read_checkpoint(file.path());
  REQUIRE(c.tensors.size() == 2);
  CHECK(c.format == "gguf");
  CHECK(c.tensors[0].dims == std::vector<int64_t>{2, 3});
  CHECK(as_numbers(c.tensors[0])[5] == 6);
  CHECK(as_numbers(c.tensors[1]) == std::vector<double>(32, 0.5));
  CHECK(std::get<std::string>(c.facts[0].value) == "tiny");
  for (size_t cut = 1; cut < whole.size(); cut++) {
    write_file(file.path(), whole.substr(0, cut));
    CHECK_THROWS_AS((void)read_checkpoint(file.path()), host::Failure);
  }
}

namespace {

/// A file of this metadata, `pairs` of them, and no tensors.
std::string metadata_file(const std::string& body, uint64_t pairs) {
  return "GGUF" + le(3, 4) + le(0, 8) + le(pairs, 8) + body;
}
std::string texts(const std::string& key, std::initializer_list<const char*> items) {
  std::string out = text(key) + le(9, 4) + le(8, 4) + le(items.size(), 8);
  for (const char* item : items) out += text(item);
  return out;
}
std::string floats(const std::string& key, std::initializer_list<float> items) {
  std::string out = text(key) + le(9, 4) + le(6, 4) + le(items.size(), 8);
  for (const float item : items) {
    uint32_t bits;
    std::memcpy(&bits, &item, 4);
    out += le(bits, 4);
  }
  return out;
}
std::string refusal(const std::string& path) {
  try {
    (void)GgufFile::open(path);
  } catch (const host::Failure& failure) {
    return failure.message();
  }
  return "";
}

}  // namespace

TEST_CASE("gguf metadata is read by key, each type as itself") {
  const host::TemporaryPath path(".gguf");
  write_file(
      path.path(),
      metadata_file(text("a.name") + le(8, 4) + text("llama") + text("a.count") + le(4, 4) +
                        le(32, 4) + text("a.negative") + le(5, 4) + le(0xfffffffb, 4) +
                        text("a.base") + le(6, 4) + le(0x461c4000, 4) + text("a.flag") + le(7, 4) +
                        le(1, 1) + texts("a.words", {"x", "", "yz"}) +
                        floats("a.scores", {0.5f, -2}) + text("a.kinds") + le(9, 4) + le(5, 4) +
                        le(2, 8) + le(3, 4) + le(0xffffffff, 4) + text("a.nested") + le(9, 4) +
                        le(9, 4) + le(1, 8) + le(8, 4) + le(1, 8) + text("deep"),
                    9));
  const GgufFile file = GgufFile::open(path.path());
  CHECK(file.keys().size() == 9);
  CHECK(file.text("a.name") == "llama");
  CHECK(file.integer("a.count") == 32);
  CHECK(file.integer("a.negative") == -5);
  CHECK(file.number("a.count") == 32.0);
  CHECK(file.number("a.base") == 10000.0);
  CHECK(file.flag("a.flag") == true);
  CHECK(file.texts("a.words") == std::vector<std::string>{"x", "", "yz"});
  CHECK(file.numbers("a.scores") == std::vector<double>{0.5, -2});
  CHECK(file.integers("a.kinds") == std::vector<int64_t>{3, -1});
  CHECK(file.numbers("a.kinds") == std::vector<double>{3, -1});
  CHECK_FALSE(file.text("a.other").has_value());
  CHECK(file.texts("a.other").empty());
  CHECK_THROWS_AS((void)file.integer("a.base"), host::Failure);
  CHECK_THROWS_AS((void)file.integer("a.flag"), host::Failure);
  CHECK_THROWS_AS((void)file.text("a.count"), host::Failure);
  CHECK_THROWS_AS((void)file.number("a.words"), host::Failure);
  CHECK_THROWS_AS((void)file.texts("a.scores"), host::Failure);
  CHECK_THROWS_AS((void)file.texts("a.nested"), host::Failure);
  CHECK_THROWS_AS((void)file.integers("a.scores"), host::Failure);
  const Checkpoint facts = read_checkpoint(path.path());
  CHECK(facts.facts.size() == 13);
  CHECK(std::get<std::string>(facts.facts.back().value) == "deep");
  CHECK(path_text(facts.facts.back().path) == "a.nested/0/0");
}

TEST_CASE("gguf metadata that lies is refused by what it says") {
  const host::TemporaryPath path(".gguf");
  struct Case {
    const char* name;
    std::string bytes;
    const char* word;
  };
  std::string nested = text("n") + le(9, 4);
  for (int i = 0; i < 40; i++) nested += le(9, 4) + le(1, 8);
  const Case cases[] = {
      {"a list of 2^60 numbers",
       metadata_file(text("n") + le(9, 4) + le(4, 4) + le(uint64_t{1} << 60, 8), 1), "an array of"},
      {"a list of 2^40 texts",
       metadata_file(text("n") + le(9, 4) + le(8, 4) + le(uint64_t{1} << 40, 8), 1), "an array of"},
      {"a text of 2^63 bytes", metadata_file(text("n") + le(8, 4) + le(uint64_t{1} << 63, 8), 1),
       "a text of"},
      {"arrays that nest 40 deep", metadata_file(nested, 1), "nest too deep"},
      {"an unknown type", metadata_file(text("n") + le(13, 4) + le(0, 8), 1), "unknown type 13"},
      {"a list of an unknown type",
       metadata_file(text("n") + le(9, 4) + le(99, 4) + le(1, 8) + le(0, 8), 1), "unknown type 99"},
      {"one key twice",
       metadata_file(text("n") + le(7, 4) + le(1, 1) + text("n") + le(7, 4) + le(0, 1), 2),
       "'n' twice"},
      {"an alignment of 3", metadata_file(text("general.alignment") + le(4, 4) + le(3, 4), 1),
       "an alignment of 3"},
      {"2^62 pairs", metadata_file("", uint64_t{1} << 62), "facts"},
      {"one tensor twice",
       "GGUF" + le(3, 4) + le(2, 8) + le(0, 8) + text("t") + le(1, 4) + le(1, 8) + le(0, 4) +
           le(0, 8) + text("t") + le(1, 4) + le(1, 8) + le(0, 4) + le(0, 8) + std::string(64, '\0'),
       "'t' twice"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    write_file(path.path(), c.bytes);
    const std::string message = refusal(path.path());
    CHECK(message.find(c.word) != std::string::npos);
    CHECK(message.find(path.path()) == 0);
  }
}

TEST_CASE("two tensors of different types are compared as numbers") {
  Tensor a, b;
  a.dims = b.dims = {2};
  a.strides = b.strides = {1};
  a.storage = memory_storage({0, 0, 0x80, 0x3f, 0, 0, 0, 0x40});  // 1, 2
  b.type = ElementType::kF16;
  b.storage = memory_storage({0, 0x3c, 0, 0x44});  // 1, 4
  const Distance d = distance(a, b);
  CHECK_FALSE(d.same_bits);
  CHECK(d.differing == 1);
  CHECK(d.largest == 2);
  CHECK(d.largest_relative == 0.5);
}
