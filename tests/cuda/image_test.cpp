// SPDX-License-Identifier: Apache-2.0
// tests/cuda/image_test.cpp - the container of device code: what this build carries, what runs
// where, and damage.
#include "kernels/cuda/embed/image.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_kernels.h"
#include "runtime/device/cuda/image_reader.h"
#include "runtime/device/cuda/lzma.h"

using namespace ingot;
using namespace ingot::cuda;

namespace {

std::vector<ImageEntry> entries(Span<const uint8_t> all) {
  std::vector<ImageEntry> out;
  ImageEntry one;
  for (uint32_t i = 0; image_at(all, i, &one); i++) out.push_back(one);
  return out;
}

// Made by Python's lzma with pack.py's settings, of a text with short and long matches at several
// distances.
const uint8_t kPacked[] = {
#include "tests/cuda/data/packed_text.inc"
};
std::string plain_text() {
  std::string out;
  for (int i = 0; i < 40; i++)
    out += "line " + std::to_string(i * 7919 % 97) +
           (i % 3 ? " of sixteen bytes\n" : " aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
  return out;
}

}  // namespace

TEST_CASE("image: every unit has an entry for the emulator, and every entry unpacks") {
  const Span<const uint8_t> all = device_images();
  if (all.empty()) {
    std::printf("[skip] device images: this build packed none\n");
    return;
  }
  std::set<int> architectures;
  for (const ImageEntry& entry : entries(all)) {
    std::vector<uint8_t> bytes(entry.stream_bytes);
    const uint8_t* module = unpack_image(entry, bytes.data());
    REQUIRE(module);
    if (entry.sm)
      CHECK(memcmp(module,
                   "\x7f"
                   "ELF",
                   4) == 0);
    else
      CHECK(std::string(bytes.begin(), bytes.end()) == std::string("emulated", 9));
    architectures.insert(entry.sm);
  }
  const char* const decides =
      ingot_cuda_kernel_set.units[ingot_cuda_kernel_set.kernels[ingot_cuda_kernel_set.decide].unit];
  for (const char* unit : ingot_cuda_kernel_set.units)
    for (const int sm : architectures) {
      ImageEntry entry;
      INFO(std::string(unit) << " for " << sm);
      // What decides inside graphs needs a compiler of CUDA 12.3, which an old one for Jetsons is
      // not.
      const bool is_optional = unit == decides &&
                               find_image(all, ingot_cuda_kernel_set.units[0], sm, &entry) &&
                               entry.compiler && entry.compiler < 12030;
      const bool is_there = find_image(all, unit, sm, &entry);
      if (is_optional && !is_there) continue;
      REQUIRE(is_there);
      CHECK(entry.sm == sm);
      CHECK(std::string(entry.unit) == unit);
    }
  ImageEntry entry;
  CHECK_FALSE(find_image(all, "no such unit", 0, &entry));
  CHECK_FALSE(find_image(all, ingot_cuda_kernel_set.units[0], 61, &entry));  // Pascal: never built
}

TEST_CASE("image: what runs where") {
  CHECK(image_runs_on(80, 80));
  CHECK(image_runs_on(80, 86));
  CHECK(image_runs_on(86, 89));
  CHECK(image_runs_on(120, 121));
  CHECK(image_runs_on(100, 103));
  CHECK(image_runs_on(0, 0));
  CHECK_FALSE(image_runs_on(86, 80));
  CHECK_FALSE(image_runs_on(75, 80));
  CHECK_FALSE(image_runs_on(90, 100));
  CHECK_FALSE(image_runs_on(100, 110));
  CHECK_FALSE(image_runs_on(100, 120));
  CHECK_FALSE(image_runs_on(0, 5));
  CHECK_FALSE(image_runs_on(80, 0));
  for (const int tegra : {72, 87, 110}) {  // integrated: their own, and it runs nowhere else
    CHECK(image_runs_on(tegra, tegra));
    CHECK_FALSE(image_runs_on(tegra, tegra + 2));
    CHECK_FALSE(image_runs_on(tegra - tegra % 10, tegra + (tegra % 10 == 0)));
  }
  CHECK_FALSE(image_runs_on(86, 87));
  CHECK_FALSE(image_runs_on(87, 89));
}

TEST_CASE("image: drivers before CUDA 13 are given the module of an older compiler, or none") {
  const auto number = [](std::vector<uint8_t>* to, size_t at, uint32_t value) {
    memcpy(to->data() + at, &value, 4);
  };
  std::vector<uint8_t> all(16 + 3 * 64);
  memcpy(all.data(), "INGOTGPU", 8);
  number(&all, 8, 2);
  number(&all, 12, 3);
  const int modules[][2] = {{86, 13000}, {87, 11080}, {87, 13000}};
  for (size_t i = 0; i < 3; i++) {
    memcpy(all.data() + 16 + 64 * i, "unit", 4);
    number(&all, 16 + 64 * i + 16, uint32_t(modules[i][0]));
    number(&all, 16 + 64 * i + 20, uint32_t(modules[i][1]));
    number(&all, 16 + 64 * i + 28, uint32_t(all.size()));
  }
  const Span<const uint8_t> container = {all.data(), all.size()};
  ImageEntry entry;
  REQUIRE(find_image(container, "unit", 87, &entry, 11040));
  CHECK(entry.compiler == 11080);
  REQUIRE(find_image(container, "unit", 86, &entry, 13000));
  CHECK(entry.compiler == 13000);
  CHECK(find_image(container, "unit", 89, &entry));
  CHECK_FALSE(find_image(container, "unit", 86, &entry, 12090));
  CHECK_FALSE(find_image(container, "unit", 89, &entry, 12090));
}

TEST_CASE("image: LZMA is decoded, cut and damaged streams are refused") {
  const std::string plain = plain_text();
  std::vector<uint8_t> out(plain.size());
  REQUIRE(lzma_decode(kPacked, out.data(), out.size()));
  CHECK(std::string(out.begin(), out.end()) == plain);
  for (size_t cut = 0; cut < sizeof kPacked; cut++)
    CHECK_FALSE(lzma_decode({kPacked, cut}, out.data(), out.size()));
  for (const size_t size : {size_t(0), size_t(1), plain.size() - 1})
    CHECK_FALSE(lzma_decode(kPacked, out.data(), size));
  for (size_t size = 0; size <= plain.size(); size++) {
    std::vector<uint8_t> start(size);  // of exactly this size
    CHECK(lzma_decode(kPacked, start.data(), size, true));
    CHECK(std::string(start.begin(), start.end()) == plain.substr(0, size));
  }
  std::vector<uint8_t> longer(plain.size() + 1);
  CHECK_FALSE(lzma_decode(kPacked, longer.data(), longer.size()));
  CHECK_FALSE(lzma_decode(kPacked, longer.data(), longer.size(), true));
  std::vector<uint8_t> more(kPacked, kPacked + sizeof kPacked);
  more.push_back(0);
  CHECK_FALSE(lzma_decode({more.data(), more.size()}, out.data(), out.size()));
  for (size_t byte = 0; byte < sizeof kPacked; byte++)
    for (int bit = 0; bit < 8; bit++) {
      std::vector<uint8_t> bad(kPacked, kPacked + sizeof kPacked);
      bad[byte] ^= uint8_t(1 << bit);
      // of exactly this size: a write outside is seen by the sanitizer
      std::vector<uint8_t> place(plain.size());
      if (lzma_decode({bad.data(), bad.size()}, place.data(), place.size()))
        CHECK(std::string(place.begin(), place.end()) != plain);
    }
}

TEST_CASE("image: a damaged container is refused, never believed") {
  const Span<const uint8_t> all = device_images();
  if (all.empty()) return;
  const std::vector<uint8_t> good(all.begin(), all.end());
  const size_t directory = 16 + 64 * entries(all).size();
  std::vector<uint8_t> place;
  auto unpack_all = [&](const std::vector<uint8_t>& bytes) {
    size_t damaged = 0, looked_at = 0;
    for (const ImageEntry& entry : entries({bytes.data(), bytes.size()})) {
      if (looked_at++ == 3) break;  // what is damaged below is the header and the first entry
      place.assign(entry.stream_bytes, 0);
      damaged += !unpack_image(entry, place.data());
    }
    return damaged;
  };
  const size_t count = entries(all).size();
  for (size_t size = 0; size < directory; size += 7)
    CHECK(entries({good.data(), size}).size() < count);
  CHECK(unpack_all(good) == 0);
  for (size_t byte = 0; byte < 16 + 64; byte++) {  // the header and the first entry
    std::vector<uint8_t> bad = {good.begin(), good.end()};
    bad[byte] ^= 0x81;
    // of these a change is another name, not damage
    const bool is_name_or_target = byte >= 16 && byte < 16 + 26;
    const bool noticed = entries({bad.data(), bad.size()}).size() < count || unpack_all(bad) > 0;
    INFO("byte " << byte);
    CHECK((noticed || is_name_or_target));
  }
}
