// SPDX-License-Identifier: Apache-2.0
// tests/cuda/unpack_images.cpp - unpack_images FILE: each entry of a container and the SHA-256 of
// what it unpacks to; tests/cuda/pack_test.py compares. With --time also microseconds (best of 9).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/device/cuda/image_reader.h"

using namespace ingot;

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<uint8_t> all((std::istreambuf_iterator<char>(file)), {});
  const bool timed = argc > 2 && strcmp(argv[2], "--time") == 0;
  cuda::ImageEntry entry;
  for (uint32_t i = 0; cuda::image_at({all.data(), all.size()}, i, &entry); i++) {
    std::vector<uint8_t> bytes(entry.stream_bytes + 1);  // never null
    const uint8_t* module = nullptr;
    double best = 1e9;
    bool good = true;
    for (int again = 0; again < (timed ? 9 : 1); again++) {
      const auto began = std::chrono::steady_clock::now();
      module = cuda::unpack_image(entry, bytes.data());
      good = module != nullptr;
      best = std::min(
          best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began)
                    .count());
    }
    uint8_t digest[kSha256Bytes];
    if (good) sha256(module, size_t(entry.unpacked_bytes), digest);
    std::printf("%s %d %d ", entry.unit, entry.sm, entry.compiler);
    if (good)
      for (const uint8_t byte : digest) std::printf("%02x", byte);
    else
      std::printf("damaged");
    if (timed) std::printf(" %zu %zu %.0f", size_t(entry.unpacked_bytes), entry.packed.size, best);
    std::printf("\n");
  }
}
