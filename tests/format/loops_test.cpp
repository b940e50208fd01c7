// SPDX-License-Identifier: Apache-2.0
// tests/format/loops_test.cpp - how loops are laid out, and that lifetimes cover whatever a run
// does.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "runtime/op/control.h"
#include "runtime/plan/lifetime.h"
#include "tests/format/small_files.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// Programs of elementwise steps, Ifs and Loops inside each other.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {
    spec.segment_alignment = 16;
    flag_ = spec.program.add_value(input("flag", {}, DType::kBool));
    const int32_t x = spec.program.add_value(input("x", {4}));
    const int32_t y = spec.program.add_value(output("y", {4}));
    const std::vector<int32_t> visible = block(0, {x}, 0);
    unary(0, pick(visible), y);
    add_ports(&spec);
  }
  convert::FileSpec spec;

 private:
  int32_t pick(const std::vector<int32_t>& from) { return from[random_() % from.size()]; }
  int32_t fresh() {
    return spec.program.add_value(
        activation("v" + std::to_string(spec.program.values.size()), {4}));
  }
  void unary(uint32_t subprogram, int32_t from, int32_t to) {
    spec.program.subprograms[subprogram].instructions.push_back(
        {step(ElementwiseOp::kNeg), {from}, {to}, {}, 1});
  }
  uint32_t open() {
    spec.program.subprograms.push_back({"s" + std::to_string(spec.program.subprograms.size()), {}});
    return uint32_t(spec.program.subprograms.size() - 1);
  }
  std::vector<int32_t> block(uint32_t subprogram, std::vector<int32_t> visible, int depth) {
    const int count = 3 + int(random_() % 4);
    for (int i = 0; i < count; i++) {
      const uint32_t kind = random_() % 6;
      if (kind == 0 && depth < 3) {
        const int32_t result = fresh();
        const uint32_t branches[] = {open(), open()};
        for (const uint32_t branch : branches)
          unary(branch, pick(block(branch, visible, depth + 1)), result);
        spec.program.subprograms[subprogram].instructions.push_back(
            {IfAttributes{branches[0], branches[1]}, {flag_}, {result}, {}, 1});
        visible.push_back(result);
      } else if (kind == 1 && depth < 3) {
        const int32_t carried = fresh();
        unary(subprogram, pick(visible), carried);
        const int32_t iteration =
            spec.program.add_value(activation("i" + std::to_string(carried), {}, DType::kI64));
        const uint32_t body = open();
        visible.push_back(carried);
        unary(body, pick(block(body, visible, depth + 1)), carried);
        spec.program.subprograms[subprogram].instructions.push_back(
            {LoopAttributes{body, 3}, {-1, -1, carried}, {iteration}, {}, 1});
      } else {
        const int32_t to = fresh();
        unary(subprogram, pick(visible), to);
        visible.push_back(to);
      }
    }
    return visible;
  }

  std::mt19937 random_;
  int32_t flag_ = -1;
};

/// The steps that one run takes, with branches and trip counts at random.
std::vector<uint32_t> trace(const ProgramDef& p, std::mt19937* random) {
  std::vector<uint32_t> taken;
  int64_t left[kMaxSubprogramDepth] = {};
  for (uint32_t s = 0; s < p.steps.size;) {
    const StepDef& at = p.steps[s];
    taken.push_back(s++);
    if (at.kind == StepKind::kJump) s = at.target;
    if (at.kind == StepKind::kIf && (*random)() % 2) s = at.target;
    if (at.kind == StepKind::kLoop) {
      left[at.loop] = int64_t((*random)() % 4);
      if (left[at.loop] == 0) s = at.target;
    }
    if (at.kind == StepKind::kRepeat && --left[at.loop] > 0) s = at.target;
  }
  return taken;
}

/// From each write to each read of what it wrote, every step of the run lies in the value's
/// lifetime.
void check_run(const Opened& o, const std::vector<Lifetime>& lifetimes,
               const std::vector<uint32_t>& run) {
  const ProgramDef& p = o.program;
  std::vector<size_t> written(p.values.size, 0);
  const auto covers = [&](int32_t value, size_t from, size_t to) {
    const Lifetime& life = lifetimes[size_t(p.values[size_t(value)].root)];
    for (size_t t = from; t <= to; t++)
      if (run[t] < life.first_step || run[t] > life.last_step) return false;
    return true;
  };
  for (size_t t = 0; t < run.size(); t++) {
    const StepDef& at = p.steps[run[t]];
    if (at.kind == StepKind::kJump) continue;
    const InstructionDef& i = p.instructions[at.index];
    for (uint32_t k = 0; k < i.input_count; k++)
      if (i.inputs[k] >= 0)
        CHECK_MESSAGE(covers(i.inputs[k], written[size_t(i.inputs[k])], t), i.inputs[k]);
    for (uint32_t k = 0; k < i.output_count && at.kind != StepKind::kIf; k++) {
      if (i.outputs[k] < 0) continue;
      written[size_t(i.outputs[k])] = t;
      CHECK(covers(i.outputs[k], t, t));
    }
  }
  for (const PortDef& port : p.outputs)
    CHECK(covers(port.value, written[size_t(port.value)], run.size() - 1));
}

}  // namespace

TEST_CASE("loops: lifetimes cover every run of random programs of loops and branches") {
  uint32_t loops = 0, inside = 0, short_lived = 0;
  for (uint32_t seed = 1; seed <= 200; seed++) {
    CAPTURE(seed);
    const Opened o = open_bytes(convert::write_memory(Generator(seed).spec));
    CAPTURE(o.detail.field);
    REQUIRE(o.status.ok());
    std::vector<Lifetime> lifetimes(o.program.values.size);
    find_lifetimes(o.program, o.bound, {}, {lifetimes.data(), lifetimes.size()});
    std::mt19937 random(seed);
    for (int run = 0; run < 8; run++) check_run(o, lifetimes, trace(o.program, &random));
    for (const StepDef& at : o.program.steps) {
      if (at.kind != StepKind::kLoop) continue;
      loops++;
      inside += at.loop > 0;
      for (const Lifetime& life : lifetimes)  // the body's memory is not kept over its iterations
        short_lived += life.bytes && life.first_step > uint32_t(&at - o.program.steps.data) &&
                       life.last_step < at.target - 2;
    }
  }
  CHECK(loops > 100);
  CHECK(inside > 20);
  CHECK(short_lived > 100);
}

namespace {

/// Instructions of steps [begin, end) at most, as the layout says them: the plain variant, by
/// recursion.
uint64_t longest(const Opened& o, uint32_t begin, uint32_t end) {
  uint64_t sum = 0;
  for (uint32_t s = begin; s < end;) {
    const StepDef& at = o.program.steps[s];
    sum++;
    if (at.kind == StepKind::kLoop) {
      const auto* loop = static_cast<const LoopAttributes*>(o.bound.attributes[at.index]);
      sum += uint64_t(loop->most) * longest(o, s + 1, at.target - 1);
      s = at.target;
    } else if (at.kind == StepKind::kIf) {
      const uint32_t other = at.target, next = o.program.steps[other - 1].target;
      sum += std::max(longest(o, s + 1, other - 1), longest(o, other, next));
      s = next;
    } else {
      s++;
    }
  }
  return sum;
}

/// `depth` loops in each other, each of `most` iterations; n depends on data, and `most` may depend
/// on it.
convert::FileSpec nest(int depth, const std::function<Dim(convert::ProgramSpec*, Dim n)>& most) {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  p.required_features = {"measured"};
  const Dim n = p.add_symbol("n", 0, 0);
  ElementwiseAttributes copy;
  copy.compute = ComputeType::kI64;
  const int32_t asked = p.add_value(input("asked", {}, DType::kI64));
  const int32_t k = p.add_value(activation("k", {}, DType::kI64));
  p.symbols[0].resolved_by = k, p.symbols[0].bound = 12;
  p.add_instruction(copy, {asked}, {k});
  const int32_t x = p.add_value(input("x", {4})), c = p.add_value(output("y", {4}));
  const Dim trips = most(&p, n);
  p.add_instruction(step(ElementwiseOp::kNeg), {x}, {c});
  for (int d = 0; d < depth; d++) {
    const int32_t i = p.add_value(activation("i" + std::to_string(d), {}, DType::kI64));
    const int32_t inner = p.add_value(activation("c" + std::to_string(d), {4}));
    p.subprograms.push_back({"body" + std::to_string(d), {}});
    p.add_instruction(step(ElementwiseOp::kNeg), {x}, {inner}, uint32_t(d));
    p.add_instruction(LoopAttributes{uint32_t(d + 1), trips}, {-1, -1, inner}, {i}, uint32_t(d));
    p.add_instruction(step(ElementwiseOp::kAbs), {inner}, {inner}, uint32_t(d + 1));
  }
  add_ports(&f);
  return f;
}

uint64_t steps_of(const convert::FileSpec& file) {
  const Opened o = open_bytes(convert::write_memory(file));
  CAPTURE(o.detail.field);
  REQUIRE(o.status.ok());
  return count_steps(o.program, o.bound);
}

}  // namespace

TEST_CASE(
    "loops: the largest number of instructions, of random programs and of those that no number "
    "holds") {
  for (uint32_t seed = 1; seed <= 200; seed++) {
    CAPTURE(seed);
    const Opened o = open_bytes(convert::write_memory(Generator(seed).spec));
    REQUIRE(o.status.ok());
    CHECK(count_steps(o.program, o.bound) == longest(o, 0, uint32_t(o.program.steps.size)));
  }
  const auto fixed = [](int64_t most) {
    return [most](convert::ProgramSpec*, Dim) { return Dim(most); };
  };
  CHECK(steps_of(nest(1, fixed(int64_t{1} << 40))) == (uint64_t{1} << 40) + 4);
  CHECK(steps_of(nest(1, fixed(0))) == 4);
  CHECK(steps_of(nest(2, fixed(3))) == 4 + 3 * (3 + 3));
  CHECK(steps_of(nest(2, fixed(int64_t{1} << 40))) == UINT64_MAX);  // 2^80
  // A count that falls as more is found: what the bounds say is not the most.
  CHECK(steps_of(nest(1, [](convert::ProgramSpec*, Dim n) { return n; })) == 4 + 12);
  CHECK(steps_of(nest(1, [](convert::ProgramSpec* p, Dim n) {
          return p->add_dim_expr(DimOp::kAdd, n, 5);
        })) == 4 + 17);
  CHECK(steps_of(nest(1, [](convert::ProgramSpec* p, Dim n) {
          return p->add_dim_expr(DimOp::kSub, n, 5);
        })) == 4 + 7);
  for (const DimOp op : {DimOp::kSub, DimOp::kFloorDiv, DimOp::kCeilDiv})
    CHECK(steps_of(nest(1, [op](convert::ProgramSpec* p, Dim n) {
            return p->add_dim_expr(op, 20, n);
          })) == UINT64_MAX);
  CHECK(steps_of(nest(1, [](convert::ProgramSpec* p, Dim n) {
          const Dim less = p->add_dim_expr(DimOp::kSub, n, 20);
          // 64 at the bound, 400 when nothing is found
          return p->add_dim_expr(DimOp::kMul, less, less);
        })) == UINT64_MAX);
}

TEST_CASE("loops: a body lies between the two ends of its loop") {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  p.add_value(input("x", {4}));                   // 0
  p.add_value(activation("c", {4}));              // 1
  p.add_value(activation("t", {4}));              // 2
  p.add_value(output("y", {4}));                  // 3
  p.add_value(activation("i", {}, DType::kI64));  // 4
  const Dim n = p.add_symbol("n", 1, 9);
  for (int v = 0; v < 4; v++) p.values[size_t(v)].dims = {n};
  p.add_instruction(step(ElementwiseOp::kNeg), {0}, {1});
  p.add_instruction(LoopAttributes{1, n}, {-1, -1, 1}, {4});
  p.add_instruction(step(ElementwiseOp::kAbs), {1}, {3});
  p.subprograms.push_back({"body",
                           {{step(ElementwiseOp::kAdd, 0, 1), {1, 0}, {2}, {}, 1},
                            {step(ElementwiseOp::kNeg), {2}, {1}, {}, 1}}});
  add_ports(&f);
  OpenWith how;
  how.symbol_values = {7};
  const Opened o = open_bytes(convert::write_memory(f), how);
  CAPTURE(o.detail.field);
  REQUIRE(o.status.ok());
  const auto steps = o.program.steps;
  REQUIRE(steps.size == 6);  // neg, loop, add, neg, repeat, abs
  CHECK(steps[1].kind == StepKind::kLoop);
  CHECK(steps[1].target == 5);
  CHECK(steps[4].kind == StepKind::kRepeat);
  CHECK(steps[4].target == 2);
  CHECK(static_cast<const LoopAttributes*>(o.bound.attributes[1])->most == 7);
  std::vector<Lifetime> lifetimes(5);
  find_lifetimes(o.program, o.bound, {}, {lifetimes.data(), lifetimes.size()});
  CHECK(lifetimes[0].last_step == 4);  // read in every iteration
  CHECK(lifetimes[1].first_step == 0);
  CHECK(lifetimes[1].last_step == 5);
  CHECK(lifetimes[2].first_step == 2);
  CHECK(lifetimes[2].last_step == 3);
}
