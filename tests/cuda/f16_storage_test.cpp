// SPDX-License-Identifier: Apache-2.0
// Which activations of an fp16 file a GPU keeps as f16, and where (runtime/device/gpu/
// f16_activations.h): over the fake driver, in sessions; answers compared with the CPU's.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "runtime/api/translate.h"
#include "runtime/device/gpu/f16_activations.h"
#include "runtime/op/linear.h"
#include "runtime/op/sort.h"
#include "runtime/session/session.h"
#include "tests/cuda/session_answers.h"
#include "tools/compile/lower/packing.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int64_t kMaxLines = 9, kChannels = 32, kHalf = 8;

struct Values {
  int32_t x, a, b, both, left, right, kept, y;
};

/// x -> linear a -> b = -a in place -> two linear layers into the halves of `both` -> y = both +
/// kept, which is the cumulative sum of `both` where `sums` (its kernels read f32 alone), else its
/// magnitude.
convert::FileSpec make_network(uint8_t precision, bool sums, Values* v) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  p.precision = precision;
  const Dim rows = p.add_symbol("rows", 1, kMaxLines);
  const auto weights = [&](const char* name, int64_t outputs, uint32_t seed) {
    std::vector<float> numbers(size_t(outputs * kChannels));
    for (float& x : numbers) x = float(int(seed = seed * 1664525u + 1013904223u) >> 26) / 256;
    const std::vector<int64_t> dims = {outputs, kChannels};
    const std::vector<float> packed = pack_weights(Packing::kPanels16, dims, numbers);
    convert::ValueSpec value = constant(name, {outputs, kChannels});
    value.packing = Packing::kPanels16;
    const auto* bytes = reinterpret_cast<const uint8_t*>(packed.data());
    value.bytes.held =
        std::make_shared<const std::vector<uint8_t>>(bytes, bytes + packed.size() * 4);
    return p.add_value(value);
  };
  v->x = p.add_value(input("x", {rows, kChannels}));
  const int32_t first = weights("w", kChannels, 1), second = weights("u", kHalf, 2),
                third = weights("v", kHalf, 3);
  v->a = p.add_value(activation("a", {rows, kChannels}));
  v->b = p.add_value(in_place_of(activation("b", {rows, kChannels}), v->a));
  v->both = p.add_value(activation("both", {rows, 2 * kHalf}));
  v->left = p.add_value(view_of(activation("left", {rows, kHalf}), v->both, 0, 2 * kHalf));
  v->right = p.add_value(view_of(activation("right", {rows, kHalf}), v->both, kHalf, 2 * kHalf));
  v->kept = p.add_value(activation("kept", {rows, 2 * kHalf}));
  v->y = p.add_value(output("y", {rows, 2 * kHalf}));
  p.add_instruction(LinearAttributes(), {v->x, first}, {v->a});
  p.add_instruction(step(ElementwiseOp::kNeg), {v->a}, {v->b});
  p.add_instruction(LinearAttributes(), {v->b, second}, {v->left});
  p.add_instruction(LinearAttributes(), {v->b, third}, {v->right});
  CumSumAttributes sum;
  sum.axis = 1;
  if (sums)
    p.add_instruction(sum, {v->both}, {v->kept});
  else
    p.add_instruction(step(ElementwiseOp::kAbs), {v->both}, {v->kept});
  p.add_instruction(step(ElementwiseOp::kAdd), {v->both, v->kept}, {v->y});
  add_ports(&file);
  return file;
}

/// By value: its operand, wherever an instruction has it, as the session's GPU sees it.
std::vector<TensorView> operands_of(Session& session) {
  const RunSession& s = *api::unwrap(session.get());
  std::vector<TensorView> operands(s.program.values.size);
  for (size_t i = 0; i < s.program.instructions.size; i++) {
    const InstructionDef& def = s.program.instructions[i];
    const OpArguments& a = s.program.calls[i].arguments;
    for (int k = 0; k < def.input_count; k++)
      if (def.inputs[k] >= 0) operands[size_t(def.inputs[k])] = a.inputs[k];
    for (int k = 0; k < def.output_count; k++) {
      TensorView& seen = operands[size_t(def.outputs[k])];
      if (seen.data) CHECK((seen.data == a.outputs[k].data && seen.dtype == a.outputs[k].dtype));
      seen = a.outputs[k];
    }
  }
  return operands;
}

void bind_rows(Session& session, int64_t rows) {
  const ingot_binding binding = {"rows", rows};
  REQUIRE(ingot_session_rebind(session.get(), &binding, 1, nullptr) == INGOT_OK);
}

/// The largest difference of two answers, of the largest number.
float difference(Session& a, Session& b) {
  const std::vector<float> got = answer(a), want = answer(b);
  REQUIRE(got.size() == want.size());
  float largest = 0, worst = 0;
  for (size_t i = 0; i < want.size(); i++) {
    largest = std::max(largest, std::fabs(want[i]));
    worst = std::max(worst, std::fabs(got[i] - want[i]));
  }
  return worst / largest;
}

constexpr uint8_t kExactFile = 0, kFp16File = 2;

}  // namespace

TEST_CASE("f16 activations: what is f16 in a session, and where its parts lie") {
  fake_cuda();
  for (const bool sums : {false, true}) {
    CAPTURE(sums);
    Values v{};
    FileBytes bytes(make_network(kFp16File, sums, &v));
    {
      Model model = open_bytes_or_fail(bytes, scalar());
      Session gpu = make(model, on("cuda", INGOT_REBINDABLE)),
              cpu = make(model, on("cpu", INGOT_REBINDABLE));
      for (const int64_t rows : {kMaxLines, int64_t(5), int64_t(3), int64_t(6)}) {
        CAPTURE(rows);
        bind_rows(gpu, rows), bind_rows(cpu, rows);
        const std::vector<TensorView> operands = operands_of(gpu);
        const auto is_f16 = [&](int32_t value) {
          return operands[size_t(value)].dtype == DType::kF16;
        };
        CHECK(!is_f16(v.x));
        CHECK(!is_f16(v.y));
        // linear layers of a few rows read w once, and x as f32
        CHECK(is_f16(v.a) == (rows > 4));
        CHECK(is_f16(v.b) == is_f16(v.a));
        CHECK(is_f16(v.both) == !sums);
        CHECK(is_f16(v.left) == !sums);
        CHECK(is_f16(v.right) == !sums);
        CHECK(is_f16(v.kept) == !sums);  // who writes it knows f32 alone, too
        CHECK(difference(gpu, cpu) < 3e-3f);
        if (sums) continue;
        const TensorView &both = operands[size_t(v.both)], &right = operands[size_t(v.right)];
        CHECK(right.row_stride == 2 * kHalf);
        CHECK(right.as<char>() == both.as<char>() + kHalf * 2);
        CHECK(operands[size_t(v.left)].data == both.data);
        CHECK(operands[size_t(v.b)].data == operands[size_t(v.a)].data);
      }
    }
    CHECK(alive() == "");
  }
}

TEST_CASE("f16 activations: exact files have none, and the CPU's bits") {
  fake_cuda();
  Values v{};
  FileBytes bytes(make_network(kExactFile, false, &v));
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda", INGOT_REBINDABLE)),
          cpu = make(model, on("cpu", INGOT_REBINDABLE));
  bind_rows(gpu, kMaxLines), bind_rows(cpu, kMaxLines);
  CHECK(answer(gpu) == answer(cpu));
}

TEST_CASE("f16 activations: more operands than are looked at stay f32") {
  std::vector<TensorView> views(F16Arguments::kMaxOperands + 1);
  std::vector<int32_t> numbers(views.size(), 0);
  const uint64_t storage = kLowestStorage;
  InstructionDef instruction{};
  OpArguments a;
  a.inputs = views.data(), a.input_count = uint16_t(views.size() - 1);
  a.outputs = views.data() + a.input_count, a.output_count = 1;
  instruction.inputs = numbers.data(), instruction.input_count = a.input_count;
  instruction.outputs = numbers.data(), instruction.output_count = 1;
  CHECK(F16Arguments(a, instruction, &storage).get().inputs == views.data());
  a.input_count--, instruction.input_count--;
  const F16Arguments fewer(a, instruction, &storage);
  CHECK(fewer.get().inputs != views.data());
  CHECK(fewer.get().inputs[0].dtype == DType::kF16);
}

namespace {

/// Chains of copies. Without a `block` value 0 -> copy -> value 1 -> ...; else the copies of a
/// chain come in an order in which each pass settles a few of them alone. Only what the last copy
/// writes has to be f32. Beside the chain one copy of its own, of the last two values: f16 once all
/// is settled, f32 where the choice is given up.
struct Copies {
  explicit Copies(int32_t count, int32_t block = 0)
      : values(size_t(count) + 3), instructions(size_t(count) + 1) {
    for (int32_t v = 0; v < count + 3; v++) {
      numbers.push_back(v);
      values[size_t(v)].kind = v == count ? ValueKind::kOutput : ValueKind::kActivation;
      values[size_t(v)].dtype = DType::kF32, values[size_t(v)].root = v;
    }
    for (size_t i = 0; i < instructions.size(); i++) {
      // blocks in their order, the copies of a block backwards in every other one
      const size_t b = block ? i / size_t(block) : 0, inside = block ? i % size_t(block) : i;
      const bool is_apart = i == size_t(count);
      const size_t link = is_apart ? i + 1
                          : b % 2  ? b * size_t(block) + size_t(block) - 1 - inside
                                   : i;
      instructions[i].op = OpCode::kCopy;
      instructions[i].inputs = &numbers[link], instructions[i].outputs = &numbers[link + 1];
      instructions[i].input_count = instructions[i].output_count = 1;
    }
    program.instructions = {instructions.data(), instructions.size()};
    program.values = {values.data(), values.size()};
  }
  static OpArguments arguments(void* self, uint32_t) {
    Copies& c = *static_cast<Copies*>(self);
    c.asked++;
    for (TensorView& view : c.views) {
      view.dtype = DType::kF32, view.rank = 2, view.dims[0] = view.dims[1] = view.row_stride = 8;
      view.data = reinterpret_cast<void*>(uintptr_t(kLowestStorage));
    }
    OpArguments a;
    a.inputs = c.views, a.outputs = c.views + 1, a.input_count = a.output_count = 1;
    return a;
  }
  std::vector<uint64_t> choose() {
    std::vector<uint64_t> storage(values.size());
    GpuTraits traits;
    traits.sm = 87;
    choose_f16_activations(ingot_cuda_kernel_set, traits,
                           {&program, {}, arguments, this, kLowestStorage}, storage.data());
    return storage;
  }
  /// What choose() gives: the chain is f32 in any case.
  static std::vector<uint64_t> chosen(int32_t count, bool is_settled) {
    std::vector<uint64_t> storage(size_t(count) + 3);
    if (is_settled) storage[size_t(count) + 1] = storage[size_t(count) + 2] = kLowestStorage;
    return storage;
  }
  std::vector<ValueDef> values;
  std::vector<InstructionDef> instructions;
  std::vector<int32_t> numbers;
  ProgramDef program;
  TensorView views[2];
  size_t asked = 0;
};

}  // namespace

TEST_CASE("f16 activations: what the last instruction asks for does not take a pass for each") {
  constexpr int32_t kCount = 2000;
  Copies copies(kCount);
  CHECK(copies.choose() == Copies::chosen(kCount, true));
  CHECK(copies.asked <= 4 * size_t(kCount));
}

TEST_CASE("f16 activations: a program that takes many passes is asked about what changed alone") {
  constexpr int32_t kCount = 100'000;
  for (const int32_t block : {10'000, 1'000, 10}) {  // 10, 100 and more passes
    CAPTURE(block);
    Copies copies(kCount, block);
    CHECK(copies.choose() == Copies::chosen(kCount, block == 10'000));  // 64 passes at most
    CHECK(copies.asked <= 4 * size_t(kCount));
  }
}
