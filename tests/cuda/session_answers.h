// SPDX-License-Identifier: Apache-2.0
// tests/cuda/session_answers.h - sessions and what they answer, for tests over the fake driver.
#pragma once
#include <stdexcept>

#include "tests/cuda/chain_items.h"
#include "tests/cuda/make_session.h"

namespace ingot::test {

/// exp in f64, which is the C library's on the CPU and nobody's on the GPU, between two steps that
/// the GPU has.
inline convert::FileSpec split_network() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const auto f64 = [](convert::ValueSpec value) {
    value.dtype = DType::kF64;
    return value;
  };
  const int32_t x = p.add_value(input("x", {4, 8})), w = p.add_value(constant("w", {8}));
  const int32_t a = p.add_value(activation("a", {4, 8})),
                wide = p.add_value(f64(activation("wide", {4, 8})));
  const int32_t e = p.add_value(f64(activation("e", {4, 8}))), y = p.add_value(output("y", {4, 8}));
  p.add_instruction(step(ElementwiseOp::kAdd), {x, w}, {a});
  ElementwiseAttributes exp = step(ElementwiseOp::kExp), convert;
  exp.compute = ComputeType::kF64;
  p.add_instruction(convert, {a}, {wide});
  p.add_instruction(exp, {wide}, {e});
  p.add_instruction(convert, {e}, {y});
  add_ports(&file);
  return file;
}

/// Of a run on ramp().
inline std::vector<float> answer(Session& session) {
  write(session.input(0), ramp(session.input(0)->bytes / 4));
  if (const auto ran = session.run(); !ran) throw std::runtime_error(ran.error().text());
  return read<float>(session.output(0));
}

}  // namespace ingot::test
