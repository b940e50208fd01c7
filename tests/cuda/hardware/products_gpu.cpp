// SPDX-License-Identifier: Apache-2.0
// Products of tensor cores: the emulator beside the hardware on random and special operands,
// element by element. Planted mistakes have to be found. Over the fake driver both sides are the
// emulator. Exit 77 without a GPU, or without device code for it.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cuda/fragment_layouts.h"
#include "tests/cuda/hardware/judge.h"
#include "tests/cuda/hardware/module_gpu.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// How a type of operands is written into words.
struct Type {
  const char* name;
  const char* kernel;
  void (*body)(const cuda::FragmentProductParams&);
  Layout layout;
  int bits, oldest;
  uint32_t (*encode)(double);
  double (*decode)(uint32_t);
  float smallest_subnormal, large;  // subnormal operands are 1 to 7 times the former
};

const Type kF16 = {"f16",
                   "ingot_fragment_f16",
                   cuda::ingot_emulated_fragment_f16,
                   kM16N8K16,
                   16,
                   75,
                   [](double x) { return uint32_t(cpu::f32_to_f16(float(x))); },
                   [](uint32_t w) { return double(cpu::f16_to_f32(uint16_t(w))); },
                   0x1p-24f,
                   65504.0f};
const Type kBf16 = {"bf16",
                    "ingot_fragment_bf16",
                    cuda::ingot_emulated_fragment_bf16,
                    kM16N8K16,
                    16,
                    80,
                    [](double x) { return uint32_t(cpu::f32_to_bf16(float(x))); },
                    [](uint32_t w) { return double(cpu::bf16_to_f32(uint16_t(w))); },
                    0x1p-133f,
                    1e30f};
/// The low 13 bits hold anything and must not count.
const Type kTf32 = {
    "tf32",
    "ingot_fragment_tf32",
    cuda::ingot_emulated_fragment_tf32,
    kM16N8K8,
    32,
    80,
    [](double x) { return (bits_of(float(x)) & ~0x1fffu) | (std::isfinite(x) ? 0x1234u : 0u); },
    [](uint32_t w) { return double(float_of(w & ~0x1fffu)); },
    0x1p-136f,
    1e30f};
/// Bytes of A have a sign, those of B none; which is which no encoding says.
template <class Kernel>
constexpr Type bytes_type(const char* name, const char* kernel, Kernel emulated) {
  return {name,
          kernel,
          emulated,
          kM16N8K32,
          8,
          75,
          [](double x) { return uint32_t(int(x)) & 255; },
          [](uint32_t w) { return double(int8_t(w)); },
          1,
          127};
}
const Type kS8U8 = bytes_type("s8u8", "ingot_fragment_s8u8", cuda::ingot_emulated_fragment_s8u8),
           kS8U8Halves = bytes_type("s8u8 in two halves of k", "ingot_fragment_s8u8_halves",
                                    cuda::ingot_emulated_fragment_s8u8_halves);

/// One case: numbers as they are after encoding, rows of A, of B (by k), of C.
struct Case {
  std::vector<double> a, b;
  std::vector<float> c;
};

/// Registers of all cases.
struct Registers {
  Words a = Words(kCases * 32 * cuda::kFragmentA), b = Words(kCases * 32 * cuda::kFragmentB),
        c = Words(kCases * 32 * cuda::kFragmentD);
};

void place(const Type& type, const Case& from, uint32_t index, Registers* to) {
  const int k = type.layout.k, per_word = 32 / type.bits;
  for (int lane = 0; lane < 32; lane++) {
    const size_t at = size_t(index) * 32 + size_t(lane);
    for (int i = 0; i < cuda::kFragmentA * per_word; i++) {
      const Place p = type.layout.a(lane, i);
      to->a[at * cuda::kFragmentA + size_t(i / per_word)] |=
          type.encode(from.a[size_t(p.row * k + p.column)]) << i % per_word * type.bits;
    }
    for (int i = 0; i < cuda::kFragmentB * per_word; i++) {
      const Place p = type.layout.b(lane, i);
      to->b[at * cuda::kFragmentB + size_t(i / per_word)] |=
          type.encode(from.b[size_t(p.row * 8 + p.column)]) << i % per_word * type.bits;
    }
    for (int i = 0; i < cuda::kFragmentD; i++) {
      const Place p = place_d(lane, i);
      const float c = from.c[size_t(p.row * 8 + p.column)];
      to->c[at * cuda::kFragmentD + size_t(i)] = type.bits == 8 ? uint32_t(int(c)) : bits_of(c);
    }
  }
}

/// What operands a class is made of: a(i), b(i, column), c(column).
struct Kind {
  const char* name;
  bool is_exact;  // whole numbers: any order gives the same bits
  float (*a)(const Type&, Random&);
  float (*b)(const Type&, Random&, int column);
  float (*c)(const Type&, Random&, int column);
};
float zero(const Type&, Random&, int) { return 0; }
float small_number(const Type&, Random& r, int) { return uniform(r, -1, 1); }
float sign_of(int column) { return column % 2 ? -1.0f : 1.0f; }

const Kind kFloatKinds[] = {
    {"whole numbers", true, [](const Type&, Random& r) { return float(int(r() % 13) - 6); },
     [](const Type&, Random& r, int) { return float(int(r() % 13) - 6); },
     [](const Type&, Random& r, int) { return float(int(r() % 2001) - 1000); }},
    {"normal numbers", false, [](const Type&, Random& r) { return uniform(r, -2, 2); },
     [](const Type&, Random& r, int) { return uniform(r, -2, 2); }, small_number},
    {"of many sizes", false,
     [](const Type&, Random& r) { return std::ldexp(uniform(r, -2, 2), int(r() % 14) - 9); },
     [](const Type&, Random& r, int) { return std::ldexp(uniform(r, -2, 2), int(r() % 14) - 9); },
     small_number},
    {"subnormal operands", false,
     [](const Type& t, Random& r) { return t.smallest_subnormal * float(1 + r() % 7); },
     [](const Type&, Random& r, int) { return uniform(r, -2, 2) * 1024; }, zero},
    {"subnormal summands", false,
     [](const Type&, Random& r) { return uniform(r, -1, 1) * 0x1p-12f; }, zero,
     [](const Type&, Random& r, int) { return float_of(r() & 0x807fffff); }},
    {"large, one sign a column", false,
     [](const Type& t, Random& r) { return t.large * uniform(r, 0.5f, 1); },
     [](const Type& t, Random& r, int column) {
       return sign_of(column) * t.large * uniform(r, 0.5f, 1);
     },
     zero},
    {"infinities and NaN", false,
     [](const Type&, Random& r) { return r() % 40  ? uniform(r, -2, 2)
                                         : r() % 2 ? kInf
                                                   : 0.0f; },
     [](const Type&, Random& r, int) {
       return r() % 40 ? uniform(r, -2, 2) : r() % 3 ? (r() % 2 ? kInf : -kInf) : std::nanf("");
     },
     [](const Type&, Random& r, int) {
       return r() % 20 ? uniform(r, -2, 2) : r() % 3 ? (r() % 2 ? kInf : -kInf) : std::nanf("");
     }},
};
const Kind kByteKinds[] = {
    {"all bytes", true, [](const Type&, Random& r) { return float(int(r() % 256) - 128); },
     [](const Type&, Random& r, int) { return float(int(r() % 256) - 128); },
     [](const Type&, Random& r, int) { return float(int(r() % 2000001) - 1000000); }},
    {"extremes", true, [](const Type&, Random& r) { return r() % 2 ? 127.0f : -128.0f; },
     [](const Type&, Random& r, int) { return r() % 2 ? 127.0f : -128.0f; }, zero},
};

std::vector<Case> make_cases(const Type& type, const Kind& kind) {
  Random random(uint32_t(type.bits * 1000 + kind.name[0]));
  std::vector<Case> cases(kCases);
  for (Case& one : cases) {
    for (int i = 0; i < 16 * type.layout.k; i++) one.a.push_back(double(kind.a(type, random)));
    for (int i = 0; i < type.layout.k * 8; i++)
      one.b.push_back(double(kind.b(type, random, i % 8)));
    for (int i = 0; i < 16 * 8; i++) one.c.push_back(kind.c(type, random, i % 8));
  }
  return cases;
}

Words product_on_gpu(const Type& type, const Registers& r, int mistake) {
  const OnGpu a(r.a), b(r.b), c(r.c), d(Words(r.c.size(), 0xdddddddd));
  run_on_gpu(type.kernel, kCases, 32, 0,
             cuda::FragmentProductParams{a.as<uint32_t>(), b.as<uint32_t>(), c.as<uint32_t>(),
                                         d.as<uint32_t>(), mistake});
  return d.fetch();
}
Words product_emulated(const Type& type, const Registers& r) {
  Words d(r.c.size());
  run_emulated(type.body, kCases, 32, 0,
               cuda::FragmentProductParams{r.a.data(), r.b.data(), r.c.data(), d.data(), 0});
  return d;
}

/// The element of the sum that register `i` of a lane holds.
SumElement element_of(const Type& type, const Case& one, Place at) {
  SumElement e;
  for (int k = 0; k < type.layout.k; k++) {
    e.a.push_back(type.decode(type.encode(one.a[size_t(at.row * type.layout.k + k)])));
    e.b.push_back(type.decode(type.encode(one.b[size_t(k * 8 + at.column)])));
  }
  e.c = double(one.c[size_t(at.row * 8 + at.column)]);
  return e;
}

/// Differences of a class; with a mistake, what it makes wrong.
Tally compare(const Type& type, const Kind& kind, int mistake) {
  const std::vector<Case> cases = make_cases(type, kind);
  Registers registers;
  for (uint32_t i = 0; i < kCases; i++) place(type, cases[i], i, &registers);
  const Words got = product_on_gpu(type, registers, mistake),
              want = product_emulated(type, registers);
  Tally tally;
  for (size_t i = 0; i < got.size(); i++) {
    const int lane = int(i / cuda::kFragmentD % 32);
    const Case& one = cases[i / (32 * cuda::kFragmentD)];
    const SumElement e = element_of(type, one, place_d(lane, int(i % cuda::kFragmentD)));
    if (kind.is_exact) {
      tally.same += got[i] == want[i], tally.wrong += got[i] != want[i];
      if (got[i] != want[i] && tally.first_wrong.empty())
        tally.first_wrong = "words " + std::to_string(want[i]) + " and " + std::to_string(got[i]);
    } else {
      tally.add(e, float_of(want[i]), float_of(got[i]));
    }
  }
  return tally;
}

void compare_all(const Type& type, const Kind* kinds, size_t count) {
  if (!Hardware::get().has(type.oldest)) {
    std::printf("[skip] products of %s: this GPU, sm_%d, has none\n", type.name,
                Hardware::get().sm());
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const Tally tally = compare(type, kinds[i], 0);
    std::printf("%-4s k%-2d %-25s %s\n", type.name, type.layout.k, kinds[i].name,
                tally.text().c_str());
    CHECK_MESSAGE(tally.wrong == 0,
                  type.name << ", " << kinds[i].name << ": " << tally.first_wrong);
    // Weights in f16 are often below its smallest normal number: no tensor core flushes those.
    if (type.bits == 16 && type.smallest_subnormal > 0x1p-126f)
      CHECK((tally.flushed == 0 || kinds[i].c != zero));
  }
  CHECK_MESSAGE(compare(type, kinds[0], 1).wrong > 0, "a planted mistake was not found");
  CHECK_MESSAGE(compare(type, kinds[1], 1).wrong > 0, "a planted mistake was not found");
}

}  // namespace

TEST_CASE("hardware: products of f16") { compare_all(kF16, kFloatKinds, std::size(kFloatKinds)); }
TEST_CASE("hardware: products of bf16") { compare_all(kBf16, kFloatKinds, std::size(kFloatKinds)); }
TEST_CASE("hardware: products of tf32") { compare_all(kTf32, kFloatKinds, std::size(kFloatKinds)); }
TEST_CASE("hardware: products of s8 by u8") {
  compare_all(kS8U8, kByteKinds, std::size(kByteKinds));
  compare_all(kS8U8Halves, kByteKinds, std::size(kByteKinds));
}

// The bounds must let a real tensor core pass and nothing else. One that aligns all terms to the
// largest, cuts them to 24 bits and rounds towards zero is the worst that measurements of hardware
// describe; one that sums in f16 is wrong.
TEST_CASE(
    "judge: takes a tensor core that cuts its terms, and refuses one that sums in f16 or loses a "
    "term") {
  size_t near = 0, half_wrong = 0, lost_wrong = 0;
  for (const Kind& kind : {kFloatKinds[1], kFloatKinds[2]})
    for (const Case& one : make_cases(kF16, kind))
      for (int i = 0; i < 128; i++) {
        const SumElement e = element_of(kF16, one, {i / 8, i % 8});
        double largest = std::fabs(e.c), cut = 0, plain = e.c;
        float emulated = float(e.c), half = cpu::f16_to_f32(cpu::f32_to_f16(float(e.c)));
        for (size_t k = 0; k < e.a.size(); k++)
          largest = std::fmax(largest, std::fabs(e.a[k] * e.b[k]));
        const double unit = std::ldexp(1, std::ilogb(largest) - 23);
        const auto trunc = [unit](double x) { return std::trunc(x / unit) * unit; };
        cut = trunc(e.c);
        for (size_t k = 0; k < e.a.size(); k++) {
          cut += trunc(e.a[k] * e.b[k]), plain += e.a[k] * e.b[k],
              emulated += float(e.a[k] * e.b[k]);
          half = cpu::f16_to_f32(cpu::f32_to_f16(half + float(e.a[k] * e.b[k])));
        }
        const Verdict verdict = judge(e, emulated, float(cut));
        CHECK((verdict == Verdict::kSame || verdict == Verdict::kNear));
        near += verdict == Verdict::kNear;
        half_wrong += judge(e, emulated, half) == Verdict::kWrong;
        lost_wrong += judge(e, emulated, float(plain - e.a[3] * e.b[3])) == Verdict::kWrong;
      }
  CHECK(near > 1000);
  CHECK(half_wrong > 14000);  // of 16384
  CHECK(lost_wrong > 14000);
  SumElement subnormal;
  subnormal.a = {0x1p-130}, subnormal.b = {1024};
  CHECK(judge(subnormal, 0x1p-120f, 0) == Verdict::kFlushed);
  CHECK(judge(subnormal, 0x1p-120f, 0x1p-119f) == Verdict::kWrong);
  CHECK(judge(subnormal, kInf, 1) == Verdict::kWrong);
  CHECK(judge(subnormal, std::nanf(""), kInf) == Verdict::kWrong);
}
