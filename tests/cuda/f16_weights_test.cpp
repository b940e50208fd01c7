// SPDX-License-Identifier: Apache-2.0
// Weights as packed f16 weights in the memory of a GPU, over the fake driver: what the file stores
// and in which precision decides how many bytes; results are those of the CPU as far as f16 goes,
// and the same however the file stores the same numbers.
#include "runtime/op/f16_weights.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/op/linear.h"
#include "tests/cuda/session_answers.h"
#include "tools/compile/lower/packing.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr uint8_t kExact = 0, kFast = 1, kFp16 = 2, kBf16 = 3;
constexpr int64_t kRows = 5, kIn = 36, kMiddle = 21, kOut = 7;

struct Network {
  uint8_t precision = kFp16;
  DType stored = DType::kInvalid;  // of both matrices
  bool split = false;              // a step in f64 between the products, which the GPU has not
  bool symbolic = false;
};

/// Numbers that f16 has, and bf16 too: rounding them loses nothing.
std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> v(count);
  for (float& x : v) x = float(int(seed = seed * 1664525u + 1013904223u) >> 26) / 64;
  return v;
}

convert::FileSpec products_network(const Network& n) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  p.precision = n.precision;
  if (n.stored != DType::kInvalid) p.required_features = {"widened"};
  const Dim rows = n.symbolic ? p.add_symbol("rows", 1, kRows) : kRows;
  const auto add_constant = [&](const char* name, std::vector<int64_t> dims, Packing packing,
                                uint32_t seed) {
    int64_t count = 1;
    for (const int64_t d : dims) count *= d;
    const std::vector<float> packed = pack_weights(packing, dims, numbers(size_t(count), seed));
    const auto* bytes = reinterpret_cast<const uint8_t*>(packed.data());
    convert::ValueSpec value = constant(name, std::vector<Dim>(dims.begin(), dims.end()));
    value.packing = packing;
    value.bytes.held =
        std::make_shared<const std::vector<uint8_t>>(bytes, bytes + packed.size() * 4);
    if (packing == Packing::kPanels16) value.stored = n.stored;
    return p.add_value(value);
  };
  const auto f64 = [](convert::ValueSpec value) {
    value.dtype = DType::kF64;
    return value;
  };
  const int32_t x = p.add_value(input("x", {rows, kIn}));
  const int32_t w = add_constant("w", {kMiddle, kIn}, Packing::kPanels16, 1);
  const int32_t v = add_constant("v", {kOut, kMiddle}, Packing::kPanels16, 2);
  const int32_t b = add_constant("b", {kMiddle}, Packing::kVector16, 3);
  const int32_t c = add_constant("c", {kOut}, Packing::kDense, 4);
  int32_t a = p.add_value(activation("a", {rows, kMiddle}));
  p.add_instruction(LinearAttributes(), {x, w, b}, {a});
  if (n.split) {
    const int32_t wide = p.add_value(f64(activation("wide", {rows, kMiddle})));
    const int32_t e = p.add_value(f64(activation("e", {rows, kMiddle})));
    const int32_t back = p.add_value(activation("back", {rows, kMiddle}));
    ElementwiseAttributes sine = step(ElementwiseOp::kSin), convert;
    sine.compute = ComputeType::kF64;
    p.add_instruction(convert, {a}, {wide});
    p.add_instruction(sine, {wide}, {e});
    p.add_instruction(convert, {e}, {back});
    a = back;
  }
  const int32_t t = p.add_value(activation("t", {rows, kOut})),
                y = p.add_value(output("y", {rows, kOut}));
  p.add_instruction(LinearAttributes(), {a, v}, {t});
  p.add_instruction(step(ElementwiseOp::kAdd), {t, c}, {y});
  add_ports(&file);
  return file;
}

std::vector<float> answer_to_numbers(Session& session) {
  write(session.input(0), numbers(session.input(0)->bytes / 4, 9));
  if (const auto ran = session.run(); !ran) throw std::runtime_error(ran.error().text());
  return read<float>(session.output(0));
}
void check_close(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  float largest = 0;
  for (const float x : want) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < want.size(); i++) CHECK(std::fabs(got[i] - want[i]) <= 3e-3f * largest);
}

constexpr uint64_t rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }
/// Two panels of 36 rows, one of 21, and what stays f32.
constexpr uint64_t kPanels = 2 * 36 * 64, kOddPanels = 21 * 64, kBias = 32 * 4, kPlain = kOut * 4;
constexpr uint64_t kPacked = kPanels / 2, kOddPacked = 11 * 64;

}  // namespace

TEST_CASE(
    "packed f16 weights: the bytes of weights in a GPU's memory, by what the file stores and in "
    "which "
    "precision") {
  fake_cuda();
  std::vector<float> fp16, fast;
  for (const DType stored : {DType::kInvalid, DType::kF16, DType::kBF16})
    for (const uint8_t precision : {kExact, kFast, kBf16, kFp16}) {
      CAPTURE(int(stored));
      CAPTURE(int(precision));
      FileBytes bytes(products_network({precision, stored}));
      {
        Model model = open_bytes_or_fail(bytes, scalar());
        ingot_requirements need = {};
        need.size = sizeof need;
        const ingot_session_options options = on("cuda");
        REQUIRE(ingot_model_requirements(model.get(), &options, &need, nullptr) == INGOT_OK);
        Session first = make(model, options), second = make(model, options),
                cpu = make(model, on("cpu"));
        CHECK(fake_cuda().bytes == 2 * need.arena_bytes + need.weights_shared);
        const std::vector<float> y = answer_to_numbers(first);
        CHECK(y == answer_to_numbers(second));
        check_close(y, answer_to_numbers(cpu));
        if (precision == kFast) fast = y;
        if (precision == kBf16) CHECK(y == fast);
        if (precision != kFp16) {
          CHECK(need.weights_shared >= kPanels + kOddPanels + kBias + kPlain);
          continue;
        }
        CHECK(need.weights_shared == rounded(kPacked + kOddPacked + kBias + kPlain));
        CHECK(need.weights_widened == 0);
        CHECK(first.share(0).weights_bytes == kPacked + kOddPacked + kBias + kPlain);
        if (fp16.empty()) fp16 = y;
        CHECK(y == fp16);
      }
      CHECK(alive() == "");
    }
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "packed f16 weights: read from a file with its hashes, and at other extents") {
  for (const DType stored : {DType::kInvalid, DType::kF16}) {
    TemporaryFile file(products_network({kFp16, stored, false, true}));
    ingot_open_options open = open_options(scalar());
    open.trust = INGOT_TRUST_HASHES;
    auto model = Model::open(file.path(), open);
    REQUIRE(model.ok());
    ingot_session_options options = on("cuda"), cpu_options = on("cpu");
    options.flags |= INGOT_REBINDABLE, cpu_options.flags |= INGOT_REBINDABLE;
    Session gpu = make(*model, options), cpu = make(*model, cpu_options);
    for (const int64_t rows : {int64_t(1), int64_t(3), kRows, int64_t(2)}) {
      const ingot_binding binding = {"rows", rows};
      REQUIRE(ingot_session_rebind(gpu.get(), &binding, 1, nullptr) == INGOT_OK);
      REQUIRE(ingot_session_rebind(cpu.get(), &binding, 1, nullptr) == INGOT_OK);
      check_close(answer_to_numbers(gpu), answer_to_numbers(cpu));
    }
  }
}

TEST_CASE(
    "packed f16 weights: where the CPU runs a part of the program, weights on the GPU are packed "
    "too, and its "
    "own are not") {
  fake_cuda();
  for (const DType stored : {DType::kInvalid, DType::kF16}) {
    FileBytes bytes(products_network({kFp16, stored, true}));
    {
      Model model = open_bytes_or_fail(bytes, scalar());
      Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda"));
      check_close(answer_to_numbers(gpu), answer_to_numbers(cpu));
      CHECK(gpu.requirements().weights_shared ==
            kPacked + kOddPacked + rounded(kBias) + rounded(kPlain));
    }
    CHECK(alive() == "");
  }
}

TEST_CASE(
    "packed f16 weights: places of constants are found for the first GPU alone, and go with the "
    "model, "
    "whichever allocation fails") {
  struct Counted {
    int64_t alive = 0, calls = 0, fails_at = -1;
  };
  fake_cuda();
  TemporaryFile file(products_network({kFp16, DType::kF16}));
  for (int64_t fails_at = 0;; fails_at++) {
    Counted counted;
    const ingot_allocator allocator = {
        &counted,
        [](void* user, size_t bytes, size_t alignment) -> void* {
          Counted& c = *static_cast<Counted*>(user);
          if (c.calls++ == c.fails_at) return nullptr;
          c.alive++;
          return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        },
        [](void* user, void* at, size_t) { static_cast<Counted*>(user)->alive--, free(at); }};
    bool made = false;
    {
      ingot_open_options open = open_options(scalar());
      open.allocator = &allocator;
      auto model = Model::open(file.path(), open);
      REQUIRE(model.ok());
      Session cpu = make(*model, on("cpu"));
      const std::vector<float> want = answer_to_numbers(cpu);
      const int64_t before = counted.alive;
      counted.calls = 0, counted.fails_at = fails_at;
      auto first = model->session(on("cuda"));
      made = first.ok();
      if (!made) CHECK(first.error().code == INGOT_OUT_OF_MEMORY);
      if (!made) CHECK(alive() == "");
      counted.fails_at = -1;
      Session again = make(*model, on("cuda"));
      check_close(answer_to_numbers(again), want);
      CHECK(counted.alive > before);
    }
    CHECK(counted.alive == 0);
    CHECK(alive() == "");
    if (!made) continue;
    CHECK(fails_at >= 2);  // of the session, of the places
    break;
  }
}

TEST_CASE("packed f16 weights: rounding and interleaving, an odd row at the end, in place") {
  std::vector<float> rows(3 * 16);
  const float special[] = {0.0f,    -0.0f,         1.0f / 3, 65504.0f,    65519.996f, 65520.0f,
                           -1e9f,   0x1p-24f,      0x1p-25f, 0x1.8p-25f,  -0x1p-14f,  2049.0f,
                           2051.0f, std::nanf(""), INFINITY, 0x1.ffcp-15f};
  const uint16_t halves[] = {0x0000, 0x8000, 0x3555, 0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x0001,
                             0x0000, 0x0001, 0x8400, 0x6800, 0x6802, 0x7e00, 0x7c00, 0x0400};
  for (int i = 0; i < 16; i++)
    rows[size_t(i)] = special[i], rows[16 + size_t(i)] = special[15 - i],
    rows[32 + size_t(i)] = float(i);
  for (const bool in_place : {false, true}) {
    std::vector<float> from = rows;
    std::vector<uint32_t> to(2 * 16, 0xa5a5a5a5u);
    auto* out =
        in_place ? reinterpret_cast<uint8_t*>(from.data()) : reinterpret_cast<uint8_t*>(to.data());
    make_f16_weights(reinterpret_cast<const uint8_t*>(from.data()), 3, out);
    if (in_place) std::memcpy(to.data(), out, to.size() * 4);
    for (size_t i = 0; i < 16; i++) {
      CAPTURE(i);
      CHECK(to[i] == (halves[i] | uint32_t(halves[15 - i]) << 16));
      CHECK(to[16 + i] <= 0xffffu);
    }
    CHECK(to[16 + 1] == 0x3c00);
    CHECK(to[16 + 3] == 0x4200);
  }
}
