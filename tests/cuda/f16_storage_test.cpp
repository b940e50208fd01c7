// Which activations of an fp16 file a GPU keeps as f16, and where (runtime/device/gpu/
// f16_activations.h): over the fake driver, in sessions; answers beside the CPU's.
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

OpArguments arguments_of_call(void* session, uint32_t i) {
  return static_cast<RunSession*>(session)->program.calls[i].arguments;
}
/// What the session's GPU chooses.
std::vector<uint64_t> storage_of(Session& session) {
  RunSession& s = *api::unwrap(session.get());
  std::vector<uint64_t> storage(s.program.values.size);
  F16Program program = {&ingot_cuda_kernel_set, {}, s.program.instructions, s.program.values,
                        arguments_of_call,      &s};
  program.traits.sm = 87, program.traits.multiprocessors = 16;
  choose_f16_activations(program, storage.data());
  return storage;
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
        const std::vector<uint64_t> storage = storage_of(gpu);
        const auto is_f16 = [&](int32_t value) { return storage[size_t(value)] != 0; };
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
        const RunSession& s = *api::unwrap(gpu.get());
        const InstructionDef& writes_right = s.program.instructions[3];
        REQUIRE(writes_right.outputs[0] == v.right);
        const F16Arguments arguments(s.program.calls[3].arguments, writes_right, s.program.values,
                                     storage.data());
        const TensorView& right = arguments.get().outputs[0];
        CHECK(right.dtype == DType::kF16);
        CHECK(right.row_stride == 2 * kHalf);
        CHECK(reinterpret_cast<uintptr_t>(right.data) == storage[size_t(v.both)] + kHalf * 2);
        CHECK(arguments.get().inputs[1].data == s.program.calls[3].arguments.inputs[1].data);
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
  ValueDef value{};
  const uint64_t storage = 64;
  InstructionDef instruction{};
  OpArguments a;
  a.inputs = views.data(), a.input_count = uint16_t(views.size() - 1);
  a.outputs = views.data() + a.input_count, a.output_count = 1;
  instruction.inputs = numbers.data(), instruction.input_count = a.input_count;
  instruction.outputs = numbers.data(), instruction.output_count = 1;
  const Span<const ValueDef> values(&value, 1);
  CHECK(F16Arguments(a, instruction, values, &storage).get().inputs == views.data());
  a.input_count--, instruction.input_count--;
  const F16Arguments fewer(a, instruction, values, &storage);
  CHECK(fewer.get().inputs != views.data());
  CHECK(fewer.get().inputs[0].dtype == DType::kF16);
}

namespace {

/// value 0 -> copy -> value 1 -> ... -> value `count`; only the last one has to be f32.
struct Copies {
  explicit Copies(int32_t count) : values(size_t(count) + 1), instructions(size_t(count)) {
    for (int32_t v = 0; v <= count; v++) {
      numbers.push_back(v);
      values[size_t(v)].kind = v < count ? ValueKind::kActivation : ValueKind::kOutput;
      values[size_t(v)].dtype = DType::kF32, values[size_t(v)].root = v;
    }
    for (size_t i = 0; i < instructions.size(); i++) {
      instructions[i].op = OpCode::kCopy;
      instructions[i].inputs = &numbers[i], instructions[i].outputs = &numbers[i + 1];
      instructions[i].input_count = instructions[i].output_count = 1;
    }
  }
  static OpArguments arguments(void* self, uint32_t i) {
    Copies& c = *static_cast<Copies*>(self);
    c.asked++;
    for (uint32_t k = 0; k < 2; k++) {
      TensorView& view = c.views[k];
      view.dtype = DType::kF32, view.rank = 2, view.dims[0] = view.dims[1] = view.row_stride = 8;
      view.data = reinterpret_cast<void*>(uintptr_t(256) * (i + k + 1));
    }
    OpArguments a;
    a.inputs = c.views, a.outputs = c.views + 1, a.input_count = a.output_count = 1;
    return a;
  }
  std::vector<ValueDef> values;
  std::vector<InstructionDef> instructions;
  std::vector<int32_t> numbers;
  TensorView views[2];
  size_t asked = 0;
};

}  // namespace

TEST_CASE("f16 activations: what the last instruction asks for does not take a pass for each") {
  constexpr int32_t kCount = 2000;
  Copies copies(kCount);
  F16Program program;
  program.set = &ingot_cuda_kernel_set, program.traits.sm = 87;
  program.instructions = {copies.instructions.data(), copies.instructions.size()};
  program.values = {copies.values.data(), copies.values.size()};
  program.arguments = Copies::arguments, program.user = &copies;
  std::vector<uint64_t> storage(copies.values.size());
  choose_f16_activations(program, storage.data());
  CHECK(storage == std::vector<uint64_t>(storage.size()));
  CHECK(copies.asked <= 4 * size_t(kCount));
}
