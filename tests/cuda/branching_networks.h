// SPDX-License-Identifier: Apache-2.0
// tests/cuda/branching_networks.h - programs with control flow, for the CPU and for a GPU.
#pragma once
#include <cstring>
#include <memory>

#include "runtime/op/control.h"
#include "tests/session/session_models.h"

namespace ingot::test {

inline convert::ValueSpec one_i64(const char* name, int64_t value) {
  convert::ValueSpec spec = constant(name, {}, Packing::kDense, DType::kI64);
  auto bytes = std::make_shared<std::vector<uint8_t>>(8);
  std::memcpy(bytes->data(), &value, 8);
  spec.bytes.held = bytes;
  return spec;
}

/// The constant lies in the program itself, where the host reads it; else in a weight part.
inline convert::ValueSpec inlined(convert::ValueSpec spec) {
  spec.inline_data = true;
  return spec;
}

/// p = relu x; `count` times, `most` at most, while the iteration is not `end`: p = -(p + x); y =
/// abs p. And the iterations made.
inline convert::FileSpec looping_network(int64_t most = 3,
                                         const std::vector<int64_t>& extents = {4, 8}) {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t count = p.add_value(input("count", {}, DType::kI64)),
                end = p.add_value(input("end", {}, DType::kI64));
  const int32_t x = p.add_value(input("x", extents)), y = p.add_value(output("y", extents));
  const int32_t carried = p.add_value(activation("p", extents)),
                sum = p.add_value(activation("sum", extents));
  const int32_t go = p.add_value(activation("go", {}, DType::kBool));
  const int32_t made = p.add_value(output("made", {}, DType::kI64));
  ElementwiseAttributes differs = step(ElementwiseOp::kNotEqual);
  differs.compute = ComputeType::kI64;
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {carried});
  p.add_instruction(differs, {end, count}, {go});
  p.add_instruction(LoopAttributes{1, most}, {count, go, carried}, {made});
  p.add_instruction(step(ElementwiseOp::kAbs), {carried}, {y});
  p.subprograms.push_back({"body",
                           {{step(ElementwiseOp::kAdd, 0, 1), {carried, x}, {sum}, {}, 1},
                            {differs, {made, end}, {go}, {}, 1},
                            {step(ElementwiseOp::kNeg), {sum}, {carried}, {}, 1}}});
  add_ports(&f);
  return f;
}

/// Nothing but a loop of three that the program itself counts (`known`), or a weight: p = x; p =
/// -(p + x); y = p. One iteration's number nobody reads.
inline convert::FileSpec counted_network(bool known) {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t x = p.add_value(input("x", {4, 8})), y = p.add_value(output("y", {4, 8}));
  const int32_t count = p.add_value(known ? inlined(one_i64("three", 3)) : one_i64("three", 3));
  const int32_t carried = p.add_value(activation("p", {4, 8})),
                sum = p.add_value(activation("sum", {4, 8}));
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {carried});
  p.add_instruction(LoopAttributes{1, 5}, {count, -1, carried}, {});
  p.add_instruction(step(ElementwiseOp::kAbs), {carried}, {y});
  p.subprograms.push_back({"body",
                           {{step(ElementwiseOp::kAdd, 0, 1), {carried, x}, {sum}, {}, 1},
                            {step(ElementwiseOp::kNeg), {sum}, {carried}, {}, 1}}});
  add_ports(&f);
  return f;
}

/// Without a then-branch: y = -x where `flag` is false.
inline convert::FileSpec one_sided_network() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t flag = p.add_value(input("flag", {}, DType::kBool)),
                x = p.add_value(input("x", {8}));
  const int32_t y = p.add_value(output("y", {8}));
  p.add_instruction(IfAttributes{0, 1}, {flag}, {y});
  p.subprograms.push_back({"else", {{step(ElementwiseOp::kNeg), {x}, {y}, {}, 1}}});
  add_ports(&f);
  return f;
}

/// An If at the beginning and at the end of everything: `outer`, of whose branches one has an If on
/// `inner` and nothing behind it, and the other a loop of `count` with an If on whether the
/// iteration is `end`, which is the last thing in its body.
///   r = 0; outer: inner: p = x + x, else p = -x.   not outer: p = x; for i < count: i != end: p =
///   p + x; r = r + i, else p = -p
inline convert::FileSpec nested_network() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t outer = p.add_value(input("outer", {}, DType::kBool)),
                inner = p.add_value(input("inner", {}, DType::kBool));
  const int32_t count = p.add_value(input("count", {}, DType::kI64)),
                end = p.add_value(input("end", {}, DType::kI64));
  const int32_t x = p.add_value(input("x", {4, 8})), y = p.add_value(output("y", {4, 8}));
  const int32_t zero = p.add_value(inlined(one_i64("zero", 0)));
  const int32_t r = p.add_value(output("r", {}, DType::kI64));
  const int32_t i = p.add_value(activation("i", {}, DType::kI64));
  const int32_t differs = p.add_value(activation("differs", {}, DType::kBool));
  const int32_t total = p.add_value(activation("total", {}, DType::kI64));
  const int32_t next = p.add_value(activation("next", {4, 8})),
                more = p.add_value(activation("more", {}, DType::kI64));
  const int32_t carried = p.add_value(activation("p", {4, 8}));
  ElementwiseAttributes not_equal = step(ElementwiseOp::kNotEqual),
                        add = step(ElementwiseOp::kAdd, 0, 1);
  not_equal.compute = add.compute = ComputeType::kI64;
  p.add_instruction(IfAttributes{1, 4}, {outer}, {y, r});
  p.subprograms.push_back({"outer", {{IfAttributes{2, 3}, {inner}, {y, r}, {}, 1}}});
  p.subprograms.push_back({"inner",
                           {{step(ElementwiseOp::kAdd, 0, 1), {x, x}, {y}, {}, 1},
                            {CopyAttributes(), {zero}, {r}, {}, 1}}});
  p.subprograms.push_back(
      {"not inner",
       {{step(ElementwiseOp::kNeg), {x}, {y}, {}, 1}, {CopyAttributes(), {zero}, {r}, {}, 1}}});
  p.subprograms.push_back({"not outer",
                           {{CopyAttributes(), {x}, {carried}, {}, 1},
                            {CopyAttributes(), {zero}, {total}, {}, 1},
                            {LoopAttributes{5, 100}, {count, -1, carried, total}, {i}, {}, 1},
                            {CopyAttributes(), {carried}, {y}, {}, 1},
                            {CopyAttributes(), {total}, {r}, {}, 1}}});
  p.subprograms.push_back({"body",
                           {{not_equal, {i, end}, {differs}, {}, 1},
                            {IfAttributes{6, 7}, {differs}, {next, more}, {}, 1},
                            {CopyAttributes(), {next}, {carried}, {}, 1},
                            {CopyAttributes(), {more}, {total}, {}, 1}}});
  p.subprograms.push_back({"differs",
                           {{step(ElementwiseOp::kAdd, 0, 1), {carried, x}, {next}, {}, 1},
                            {add, {total, i}, {more}, {}, 1}}});
  p.subprograms.push_back({"is end",
                           {{step(ElementwiseOp::kNeg), {carried}, {next}, {}, 1},
                            {CopyAttributes(), {total}, {more}, {}, 1}}});
  add_ports(&f);
  return f;
}

/// Loops one inside the other: p = relu x; for i < outer: for j < inner: p = p + x, then p = -p; y
/// = p, and the iterations of both.
inline convert::FileSpec loop_in_loop_network(int64_t most_outer, int64_t most_inner) {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t outer = p.add_value(input("outer", {}, DType::kI64)),
                inner = p.add_value(input("inner", {}, DType::kI64));
  const int32_t x = p.add_value(input("x", {4, 8})), y = p.add_value(output("y", {4, 8}));
  const int32_t i = p.add_value(output("i", {}, DType::kI64)),
                j = p.add_value(activation("j", {}, DType::kI64));
  const int32_t carried = p.add_value(activation("p", {4, 8})),
                q = p.add_value(activation("q", {4, 8}));
  const int32_t sum = p.add_value(activation("sum", {4, 8})),
                total = p.add_value(activation("total", {}, DType::kI64));
  const int32_t more = p.add_value(activation("more", {}, DType::kI64)),
                r = p.add_value(output("r", {}, DType::kI64));
  const int32_t zero = p.add_value(inlined(one_i64("zero", 0)));
  ElementwiseAttributes add = step(ElementwiseOp::kAdd, 0, 1);
  add.compute = ComputeType::kI64;
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {carried});
  p.add_instruction(CopyAttributes(), {zero}, {total});
  p.add_instruction(LoopAttributes{1, most_outer}, {outer, -1, carried, total}, {i});
  p.add_instruction(CopyAttributes(), {carried}, {y});
  p.add_instruction(CopyAttributes(), {total}, {r});
  p.subprograms.push_back({"outer",
                           {{CopyAttributes(), {carried}, {q}, {}, 1},
                            {LoopAttributes{2, most_inner}, {inner, -1, q}, {j}, {}, 1},
                            {add, {total, j}, {more}, {}, 1},
                            {CopyAttributes(), {more}, {total}, {}, 1},
                            {step(ElementwiseOp::kNeg), {q}, {carried}, {}, 1}}});
  p.subprograms.push_back({"inner",
                           {{step(ElementwiseOp::kAdd, 0, 1), {q, x}, {sum}, {}, 1},
                            {CopyAttributes(), {sum}, {q}, {}, 1}}});
  add_ports(&f);
  return f;
}

/// Two loops one behind the other: p = relu x, `count` times p = -(p + x); then `count` times p =
/// exp p by way of f64, which is the C library's on the CPU and nobody's on the GPU; y = abs p.
inline convert::FileSpec half_lacking_network() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const auto f64 = [](const char* name) { return activation(name, {4, 8}, DType::kF64); };
  const int32_t count = p.add_value(input("count", {}, DType::kI64)),
                x = p.add_value(input("x", {4, 8}));
  const int32_t carried = p.add_value(activation("p", {4, 8})),
                sum = p.add_value(activation("sum", {4, 8}));
  const int32_t grown = p.add_value(activation("grown", {4, 8}));
  const int32_t wide = p.add_value(f64("wide")), e = p.add_value(f64("e")),
                y = p.add_value(output("y", {4, 8}));
  ElementwiseAttributes exp = step(ElementwiseOp::kExp), convert;
  exp.compute = ComputeType::kF64;
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {carried});
  p.add_instruction(LoopAttributes{1, 5}, {count, -1, carried}, {});
  p.add_instruction(CopyAttributes(), {carried}, {grown});
  p.add_instruction(LoopAttributes{2, 5}, {count, -1, grown}, {});
  p.add_instruction(step(ElementwiseOp::kAbs), {grown}, {y});
  p.subprograms.push_back({"body",
                           {{step(ElementwiseOp::kAdd, 0, 1), {carried, x}, {sum}, {}, 1},
                            {step(ElementwiseOp::kNeg), {sum}, {carried}, {}, 1}}});
  p.subprograms.push_back({"of the CPU",
                           {{convert, {grown}, {wide}, {}, 1},
                            {exp, {wide}, {e}, {}, 1},
                            {convert, {e}, {grown}, {}, 1}}});
  add_ports(&f);
  return f;
}

/// y = 0; for i < 4 while indices[i - 1] is not 4: y = y + data[indices[i]], data 4 x 8. The
/// iteration's number is overwritten in its place.
inline convert::FileSpec indexing_network() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t data = p.add_value(constant("data", {4, 8}));
  const int32_t indices = p.add_value(input("indices", {4}, DType::kI64));
  const int32_t four = p.add_value(inlined(one_i64("four", 4))), y = p.add_value(output("y", {8}));
  const int32_t i = p.add_value(activation("i", {}, DType::kI64)),
                at = p.add_value(activation("at", {}, DType::kI64));
  const int32_t last = p.add_value(in_place_of(activation("last", {}, DType::kI64), i));
  const int32_t row = p.add_value(activation("row", {8})),
                total = p.add_value(activation("total", {8}));
  const int32_t sum = p.add_value(activation("sum", {8})),
                go = p.add_value(activation("go", {}, DType::kBool));
  const int32_t zero = p.add_value(constant("zero", {8}));
  std::vector<float> numbers = ramp(32);
  p.values[size_t(data)].bytes.held =
      std::make_shared<std::vector<uint8_t>>(reinterpret_cast<const uint8_t*>(numbers.data()),
                                             reinterpret_cast<const uint8_t*>(numbers.data() + 32));
  p.values[size_t(zero)].bytes.held = std::make_shared<std::vector<uint8_t>>(32);
  ElementwiseAttributes differs = step(ElementwiseOp::kNotEqual);
  ElementwiseAttributes equals = step(ElementwiseOp::kEqual), negate = step(ElementwiseOp::kNeg);
  differs.compute = equals.compute = negate.compute = ComputeType::kI64;
  p.add_instruction(CopyAttributes(), {zero}, {total});
  p.add_instruction(equals, {four, four}, {go});
  p.add_instruction(LoopAttributes{1, 10}, {four, go, total}, {i});
  p.add_instruction(CopyAttributes(), {total}, {y});
  p.subprograms.push_back({"body",
                           {{GatherAttributes(), {indices, i}, {at}, {}, 1},
                            {GatherAttributes(), {data, at}, {row}, {}, 1},
                            {differs, {at, four}, {go}, {}, 1},
                            {negate, {i}, {last}, {}, 1},
                            {step(ElementwiseOp::kAdd, 0, 1), {total, row}, {sum}, {}, 1},
                            {CopyAttributes(), {sum}, {total}, {}, 1}}});
  add_ports(&f);
  return f;
}

}  // namespace ingot::test
