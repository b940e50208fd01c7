// SPDX-License-Identifier: Apache-2.0
// The arena of an fp16 file on a GPU (runtime/session/f16_plan.h), over the fake driver: what
// requirements() says, what is taken and what is touched are one number, smaller than that of f32;
// answers have the bits of a session whose values all have places for f32.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "runtime/api/translate.h"
#include "runtime/op/linear.h"
#include "runtime/op/reduce.h"
#include "runtime/op/softmax.h"
#include "runtime/op/sort.h"
#include "runtime/session/session.h"
#include "tests/cuda/branching_networks.h"
#include "tests/cuda/session_answers.h"
#include "tools/compile/lower/packing.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int64_t kMaxRows = 9;
constexpr uint8_t kExactNetwork = 0, kFp16Network = 2;

/// A straight program of random instructions: products, steps, steps in place, what reads f32
/// alone, and products into parts of one storage, some of them where f16 is not aligned.
class RandomNetwork {
 public:
  RandomNetwork(uint32_t seed, uint8_t precision, bool is_static, int instructions)
      : random_(seed) {
    p_.precision = precision;
    rows_ = is_static ? Dim(kMaxRows) : p_.add_symbol("rows", 1, kMaxRows);
    const int32_t x = p_.add_value(input("x", {rows_, 24}));
    values_.push_back({x, 24});
    for (int i = 0; i < instructions; i++) add();
    const Value last = values_.back();
    const int32_t y = p_.add_value(output("y", {rows_, last.width}));
    p_.add_instruction(step(ElementwiseOp::kAbs), {last.index}, {y});
    add_ports(&file);
  }
  convert::FileSpec file;

 private:
  struct Value {
    int32_t index;
    int64_t width;
    bool is_strided = false;  // products alone take it
  };
  uint32_t below(uint32_t count) { return uint32_t(random_() % count); }
  Value any() {
    return values_[values_.size() - 1 - below(uint32_t(std::min<size_t>(values_.size(), 5)))];
  }
  Value make(int64_t width) {
    const std::string name = "v" + std::to_string(p_.values.size());
    return {p_.add_value(activation(name.c_str(), {rows_, width})), width};
  }
  int32_t weights(int64_t outputs, int64_t inputs) {
    std::vector<float> numbers(size_t(outputs * inputs));
    for (float& x : numbers) x = float(int(below(65)) - 32) / 128;
    const std::vector<int64_t> dims = {outputs, inputs};
    const std::vector<float> packed = pack_weights(Packing::kPanels16, dims, numbers);
    const std::string name = "w" + std::to_string(p_.values.size());
    convert::ValueSpec value = constant(name.c_str(), {outputs, inputs});
    value.packing = Packing::kPanels16;
    const auto* bytes = reinterpret_cast<const uint8_t*>(packed.data());
    value.bytes.held =
        std::make_shared<const std::vector<uint8_t>>(bytes, bytes + packed.size() * 4);
    return p_.add_value(value);
  }
  void product(const Value& from, const Value& to) {
    p_.add_instruction(LinearAttributes(), {from.index, weights(to.width, from.width)}, {to.index});
  }
  void add() {
    const int64_t widths[] = {16, 24, 40, 21, 8};
    const Value from = any();
    Value to = make(from.width);
    switch (from.is_strided ? below(3) : below(6)) {
      case 0:
      case 1: {  // a product
        p_.values.back().dims[1] = to.width = widths[below(5)];
        product(from, to);
        break;
      }
      case 2: {  // two into the parts of one
        const int64_t left = 1 + below(23), all = 24;
        p_.values.back().dims[1] = to.width = all;
        const int32_t a = p_.add_value(
                          view_of(activation("left", {rows_, left}), to.index, 0, all)),
                      b = p_.add_value(
                          view_of(activation("right", {rows_, all - left}), to.index, left, all));
        product(from, {a, left});
        product(any(), {b, all - left});
        if (below(2)) values_.push_back({b, all - left, true});  // read where it lies
        break;
      }
      case 3: p_.add_instruction(step(ElementwiseOp::kNeg), {from.index}, {to.index}); break;
      case 4: {  // a step over a fresh value, in its place
        p_.add_instruction(step(ElementwiseOp::kNeg), {from.index}, {to.index});
        const int32_t over =
            p_.add_value(in_place_of(activation("over", {rows_, from.width}), to.index));
        p_.add_instruction(step(ElementwiseOp::kAbs), {to.index}, {over});
        to.index = over;
        break;
      }
      case 5: {  // f32 alone
        CumSumAttributes sum;
        sum.axis = 1;
        p_.add_instruction(sum, {from.index}, {to.index});
        const Value less = make(from.width);
        p_.add_instruction(SoftmaxAttributes{1}, {to.index}, {less.index});
        to = less;
        break;
      }
    }
    values_.push_back(to);
  }

  std::mt19937 random_;
  convert::ProgramSpec& p_ = file.program;
  Dim rows_ = 0;
  std::vector<Value> values_;
};

ingot_requirements needs(const Model& model, const ingot_session_options& options) {
  const auto need = model.requirements(options);
  if (!need) throw std::runtime_error(need.error().text());
  return *need;
}

/// From the start of the activations to one past the highest byte that lost the driver's pattern.
uint64_t touched_activations(Session& session) {
  const RunSession& s = *api::unwrap(session.get());
  const uint8_t* first = s.device_memory + s.layout.activations;
  uint64_t bytes = s.layout.activations_bytes;
  while (bytes && first[bytes - 1] == 0xfb) bytes--;
  return bytes;
}

ingot_session_options bound_to(const ingot_binding& rows, uint32_t flags = 0) {
  ingot_session_options options = on("cuda", flags);
  options.bindings = &rows, options.binding_count = 1;
  return options;
}

}  // namespace

TEST_CASE_FIXTURE(FakeDriverCase,
                  "f16 plan: random programs have the bits of a session with places for f32") {
  int smaller = 0;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    CAPTURE(seed);
    FileBytes bytes(RandomNetwork(seed, kFp16Network, false, 4 + int(seed % 20)).file);
    Model model = open_bytes_or_fail(bytes, scalar());
    for (const int64_t rows : {kMaxRows, int64_t(6), int64_t(3)}) {
      CAPTURE(rows);
      const ingot_binding binding = {"rows", rows};
      const ingot_session_options fixed = bound_to(binding),
                                  wide = bound_to(binding, INGOT_REBINDABLE);
      const ingot_requirements need = needs(model, fixed);
      const uint64_t before = fake_cuda().bytes;
      Session planned = make(model, fixed);
      CHECK(fake_cuda().bytes - before == need.arena_bytes + need.weights_shared);
      Session placed = make(model, wide);
      CHECK(answer(planned) == answer(placed));
      CHECK(answer(planned) == answer(placed));  // again: nothing was lost on the way
      CHECK(need.activations >= need.activations_lower_bound);
      const uint64_t touched = touched_activations(planned);
      CHECK(touched <= need.activations);
      CHECK(touched + 64 > need.activations);
      if (rows == kMaxRows) smaller += need.activations < needs(model, wide).activations;
    }
  }
  CHECK(smaller > 50);
}

TEST_CASE("f16 plan: a file that has a plan of its own, one byte too few, all sessions alike") {
  fake_cuda();
  for (uint32_t seed = 1; seed <= 20; seed++) {
    CAPTURE(seed);
    FileBytes fp16(RandomNetwork(seed, kFp16Network, true, 16).file),
        exact(RandomNetwork(seed, kExactNetwork, true, 16).file);
    {
      Model model = open_bytes_or_fail(fp16, scalar()), plain = open_bytes_or_fail(exact, scalar());
      const ingot_requirements need = needs(model, on("cuda")), f32 = needs(plain, on("cuda"));
      CHECK(need.activations < f32.activations);
      CHECK(need.activations_lower_bound <= f32.activations_lower_bound);
      CHECK(need.activations >= need.activations_lower_bound);
      // on the CPU precision changes nothing
      CHECK(needs(model, on("cpu")).activations == needs(plain, on("cpu")).activations);
      CHECK(needs(model, on("cpu")).activations == f32.activations);
      ingot_session_options less = on("cuda");
      less.arena_bytes = need.arena_bytes - 1;
      const auto refused = model.session(less);
      REQUIRE(!refused.ok());
      CHECK(refused.error().code == INGOT_ARENA_TOO_SMALL);
      CHECK(refused.error().need == need.arena_bytes);
      CHECK(refused.error().have == need.arena_bytes - 1);
      less.arena_bytes = need.arena_bytes;
      Session first = make(model, less), second = make(model, on("cuda")),
              kept = make(model, on("cuda", INGOT_KEEP_VALUES)), cpu = make(plain, on("cpu"));
      CHECK(first.requirements().arena_bytes == need.arena_bytes);
      CHECK(touched_activations(first) == 0);
      const std::vector<float> got = answer(first), want = answer(cpu);
      CHECK(answer(second) == got);
      const uint64_t touched = touched_activations(first);
      CHECK(touched <= need.activations);
      CHECK(touched + 64 > need.activations);
      float largest = 0, worst = 0, beside = 0;
      const std::vector<float> apart = answer(kept);
      for (size_t i = 0; i < want.size(); i++) {
        largest = std::max(largest, std::fabs(want[i]));
        worst = std::max(worst, std::fabs(got[i] - want[i]));
        beside = std::max(beside, std::fabs(apart[i] - want[i]));
      }
      CHECK(worst <= 1e-2f * largest);
      CHECK(beside <= 1e-2f * largest);
    }
    CHECK(alive() == "");
  }
}

TEST_CASE("f16 plan: a session that may be rebound has room for f32, and no more") {
  fake_cuda();
  FileBytes fp16(RandomNetwork(7, kFp16Network, false, 20).file),
      exact(RandomNetwork(7, kExactNetwork, false, 20).file);
  Model model = open_bytes_or_fail(fp16, scalar()), plain = open_bytes_or_fail(exact, scalar());
  CHECK(needs(model, on("cuda", INGOT_REBINDABLE)).activations ==
        needs(plain, on("cuda", INGOT_REBINDABLE)).activations);
  Session session = make(model, on("cuda", INGOT_REBINDABLE));
  for (const int64_t rows : {kMaxRows, int64_t(2), int64_t(5), int64_t(1), kMaxRows}) {
    CAPTURE(rows);
    const ingot_binding binding = {"rows", rows};
    REQUIRE(ingot_session_rebind(session.get(), &binding, 1, nullptr) == INGOT_OK);
    Session fixed = make(model, bound_to(binding));
    CHECK(answer(session) == answer(fixed));
  }
}

TEST_CASE("f16 plan: programs with Ifs and Loops, states and splits have places for f32") {
  fake_cuda();
  const auto both = [](convert::FileSpec spec, const ingot_session_options& options) {
    uint64_t bytes[2];
    for (const uint8_t precision : {kExactNetwork, kFp16Network}) {
      spec.program.precision = precision;
      FileBytes file(spec);
      const ingot_requirements need = needs(open_bytes_or_fail(file, scalar()), options);
      bytes[precision != kExactNetwork] = need.activations + need.state;
    }
    CHECK(bytes[0] == bytes[1]);
  };
  both(looping_network(), on("cuda"));
  both(nested_network(), on("cuda"));
  both(split_network(), on("cuda"));
  both(counting_network(true), on("cuda"));
}

TEST_CASE("f16 plan: 100 000 values that live in each other's way") {
  fake_cuda();
  constexpr int kSteps = 100'000;
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  p.precision = kFp16Network;
  std::mt19937 random(1);
  std::vector<int32_t> values = {p.add_value(input("x", {4, 24}))};
  CumSumAttributes sum;
  sum.axis = 1;
  for (int i = 0; i < kSteps; i++) {
    const size_t back = random() % 4 ? 1 : 1 + random() % std::min<size_t>(values.size(), 100);
    const int32_t from = values[values.size() - back];
    values.push_back(p.add_value(activation("v", {4, 24})));
    if (i % 1000 == 999)
      p.add_instruction(sum, {from}, {values.back()});  // f32
    else
      p.add_instruction(step(ElementwiseOp::kNeg), {from}, {values.back()});
  }
  const int32_t y = p.add_value(output("y", {4, 24}));
  p.add_instruction(step(ElementwiseOp::kAbs), {values.back()}, {y});
  add_ports(&file);
  FileBytes bytes(file);
  Model model = open_bytes_or_fail(bytes, scalar());
  const ingot_requirements need = needs(model, on("cuda"));
  CHECK(need.activations < needs(model, on("cpu")).activations * 3 / 4);
  CHECK(need.activations >= need.activations_lower_bound);
}

namespace {

convert::FileSpec product_network(uint8_t precision) {
  constexpr int64_t kIn = 2048, kOut = 64;
  std::vector<float> numbers(size_t(kIn * kOut));
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = float(int(i * 7 % 33) - 16) / 512;
  const std::vector<int64_t> dims = {kOut, kIn};
  const std::vector<float> packed = pack_weights(Packing::kPanels16, dims, numbers);
  const auto* held = reinterpret_cast<const uint8_t*>(packed.data());
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  p.precision = precision;
  const Dim rows = p.add_symbol("rows", 1, 1024);
  const int32_t x = p.add_value(input("x", {rows, kIn})),
                y = p.add_value(output("y", {rows, kOut}));
  convert::ValueSpec weights = constant("w", {kOut, kIn});
  weights.packing = Packing::kPanels16;
  weights.bytes.held = std::make_shared<const std::vector<uint8_t>>(held, held + packed.size() * 4);
  p.add_instruction(LinearAttributes(), {x, p.add_value(weights)}, {y});
  add_ports(&file);
  return file;
}

convert::FileSpec mean_network(uint8_t precision) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  p.precision = precision;
  const Dim rows = p.add_symbol("rows", 1, 1024);
  const int32_t x = p.add_value(input("x", {rows, 400, 16})),
                y = p.add_value(output("y", {rows, 1, 16}));
  ReduceAttributes mean;
  mean.kind = ReduceKind::kMean, mean.axes = 2;
  p.add_instruction(mean, {x}, {y});
  add_ports(&file);
  return file;
}

}  // namespace

TEST_CASE("f16 plan: a session is bound to fewer rows, whose sums would be cut into more parts") {
  fake_cuda();
  for (const auto network : {product_network, mean_network})
    for (const uint8_t precision : {uint8_t{1}, kFp16Network, uint8_t{3}}) {
      CAPTURE(int(precision));
      FileBytes bytes(network(precision));
      Model model = open_bytes_or_fail(bytes, scalar());
      Session session = make(model, on("cuda", INGOT_REBINDABLE));
      int wanted = 0;
      for (const int64_t n : {int64_t(64), int64_t(8), int64_t(1), int64_t(20)}) {
        CAPTURE(n);
        const ingot_binding binding = {"rows", n};
        wanted += needs(model, bound_to(binding)).scratch > session.requirements().scratch;
        REQUIRE(ingot_session_rebind(session.get(), &binding, 1, nullptr) == INGOT_OK);
        Session fixed = make(model, bound_to(binding));
        const std::vector<float> got = answer(session), want = answer(fixed);
        float largest = 0, worst = 0;
        for (size_t i = 0; i < want.size(); i++) {
          largest = std::max(largest, std::fabs(want[i]));
          worst = std::max(worst, std::fabs(got[i] - want[i]));
        }
        CHECK(worst <= 1e-5f * largest);  // sums in another order
      }
      CHECK(wanted > 1);
    }
}
