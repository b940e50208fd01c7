// SPDX-License-Identifier: Apache-2.0
// Matrix loads, asynchronous copies and conversions: the emulator beside the hardware, bit for bit.
// Planted mistakes have to be found.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cuda/hardware/judge.h"
#include "tests/cuda/hardware/module_gpu.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// The result of one number: a word of tf32, a half of a word else.
uint32_t half_of(int part, uint32_t word, int half) {
  return part == 2 ? word : word >> 16 * half & 0xffff;
}

}  // namespace

TEST_CASE("hardware: matrix loads and wide loads of shared memory") {
  if (!Hardware::get().has(75))
    return void(std::printf("[skip] matrix loads: this GPU has none\n"));
  Random random(5);
  Words from(kCases * 128);
  for (uint32_t& word : from) word = random();
  const size_t words = kCases * 32 * cuda::kFragmentMatrixWords;
  Words want(words);
  run_emulated(
      cuda::ingot_emulated_fragment_matrices, kCases, 32, 512,
      cuda::FragmentMatrixParams{reinterpret_cast<const uint16_t*>(from.data()), want.data(), 0});
  for (const int mistake : {0, 1}) {
    const OnGpu source(from), to(Words(words, 0xdddddddd));
    run_on_gpu("ingot_fragment_matrices", kCases, 32, 512,
               cuda::FragmentMatrixParams{source.as<uint16_t>(), to.as<uint32_t>(), mistake});
    CHECK((to.fetch() == want) == !mistake);
  }
  std::printf("ldmatrix x4, x2, transposed and not, ld.shared: %zu words compared\n", words);
}

TEST_CASE("hardware: asynchronous copies") {
  Random random(6);
  Words from(kCases * cuda::kFragmentCopyWords);
  for (uint32_t& word : from) word = random();
  size_t compared = 0;
  for (const uint32_t valid : {~0u, 0u, 0x5a5a1234u}) {
    Words want(from.size());
    run_emulated(cuda::ingot_emulated_fragment_copies, kCases, 64, cuda::kFragmentCopyWords * 4,
                 cuda::FragmentCopyParams{from.data(), want.data(), valid, 0});
    for (const int mistake : {0, 1}) {
      const OnGpu source(from), to(Words(from.size(), 0xdddddddd));
      run_on_gpu(
          "ingot_fragment_copies", kCases, 64, cuda::kFragmentCopyWords * 4,
          cuda::FragmentCopyParams{source.as<uint32_t>(), to.as<uint32_t>(), valid, mistake});
      CHECK((to.fetch() == want) == !mistake);
    }
    compared += want.size();
  }
  std::printf("cp.async of 16 and 4 bytes, with zeros: %zu words compared\n", compared);
}

TEST_CASE("judge: which results of a conversion agree") {
  constexpr uint32_t kNan = 0x7fffffff, kShortNan = 0xff8016ca;  // its payload in 13 bits
  using A = Agreement;
  using C = Conversion;
  CHECK(compare_conversion(C::kTf32, bits_of(1.5f), bits_of(1.5f), bits_of(1.5f)) == A::kSame);
  CHECK(compare_conversion(C::kTf32, bits_of(1.5f), bits_of(1.5f), kNan) == A::kWrong);
  // A NaN may be another one; where the mask leaves an infinity, a GPU may have kept the NaN.
  CHECK(compare_conversion(C::kTf32, 0x7fc00000, 0x7fc00000, kNan) == A::kOtherNan);
  CHECK(compare_conversion(C::kTf32, 0x7fc00000, 0x7fc00000, bits_of(kInf)) == A::kWrong);
  CHECK(compare_conversion(C::kTf32, kShortNan, bits_of(-kInf), kNan) == A::kOtherNan);
  CHECK(compare_conversion(C::kTf32, kShortNan, bits_of(-kInf), bits_of(kInf)) == A::kWrong);
  CHECK(compare_conversion(C::kTf32, bits_of(-kInf), bits_of(-kInf), kNan) == A::kWrong);
  CHECK(compare_conversion(C::kF16, kNan, 0x7fff, 0x7e00) == A::kOtherNan);
  CHECK(compare_conversion(C::kF16, kNan, 0x7fff, 0x7c00) == A::kWrong);
  CHECK(compare_conversion(C::kBf16, kNan, 0x7fff, 0x7fc0) == A::kOtherNan);
}

TEST_CASE("hardware: conversions to f16, bf16 and tf32") {
  if (!Hardware::get().has(75))
    return void(std::printf("[skip] conversions: kernels of this GPU use none\n"));
  Random random(7);
  constexpr uint32_t kBlocks = 1024;
  Words from(kBlocks * 64 * 2);
  for (size_t i = 0; i < from.size(); i++) {
    const float special[] = {0.0f,       -0.0f,    kInf,     -kInf,    std::nanf(""),
                             65504.0f,   65519.9f, 65520.0f, 0x1p-24f, 0x1p-25f,
                             0x1.8p-25f, 0x1p-14f, 3.4e38f,  0x1p-149f};
    const uint32_t shape = random() % 4;
    if (i < std::size(special))
      from[i] = bits_of(special[i]);
    else if (shape == 0)
      from[i] = random();  // any bits
    else if (shape == 1)
      // f16's range
      from[i] = bits_of(std::ldexp(uniform(random, -2, 2), int(random() % 44) - 27));
    else if (shape == 2)
      from[i] = (random() & 0xffffe000) | 0x1000;  // ties of f16 and tf32
    else
      from[i] = (random() & 0xffff0000) | 0x8000;  // ties of bf16
  }
  Words want(kBlocks * 64 * 3);
  run_emulated(
      cuda::ingot_emulated_fragment_converts, kBlocks, 64, 0,
      cuda::FragmentConvertParams{reinterpret_cast<const float*>(from.data()), want.data(), 0});
  for (const int mistake : {0, 1}) {
    const OnGpu source(from), to(Words(want.size(), 0xdddddddd));
    run_on_gpu("ingot_fragment_converts", kBlocks, 64, 0,
               cuda::FragmentConvertParams{source.as<float>(), to.as<uint32_t>(), mistake});
    const Words got = to.fetch();
    size_t wrong[3] = {}, payloads = 0;
    for (size_t i = 0; i < got.size(); i++) {
      const int part = int(i % 3);
      if (part && !Hardware::get().has(80)) continue;
      for (int half = 0; half < (part == 2 ? 1 : 2); half++) {
        const uint32_t operand = from[i / 3 * 2 + size_t(half)];
        const Agreement agreement = compare_conversion(
            Conversion(part), operand, half_of(part, want[i], half), half_of(part, got[i], half));
        wrong[part] += agreement == Agreement::kWrong;
        payloads += agreement == Agreement::kOtherNan;
      }
    }
    if (mistake) {
      CHECK(wrong[0] > 0);
      continue;
    }
    std::printf(
        "conversions of %zu numbers: f16 %zu wrong, bf16 %zu, tf32 %zu; NaN with another payload "
        "%zu\n",
        from.size(), wrong[0], wrong[1], wrong[2], payloads);
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
    CHECK(wrong[2] == 0);
  }
}
