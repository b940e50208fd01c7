// SPDX-License-Identifier: Apache-2.0
#include "tests/session/session_models.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace ingot::test {

convert::FileSpec chain_network(int64_t rows) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {rows, 8}));
  const int32_t bias = p.add_value(constant("bias", {8}));
  const int32_t a = p.add_value(activation("a", {rows, 8}));
  const int32_t b = p.add_value(in_place_of(activation("b", {rows, 8}), a));
  const int32_t c = p.add_value(activation("c", {rows, 8}));
  const int32_t y = p.add_value(output("y", {rows, 8}));
  auto values = std::make_shared<std::vector<uint8_t>>(32);
  const float bias_values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::memcpy(values->data(), bias_values, 32);
  p.values[size_t(bias)].bytes.held = values;
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {a});
  p.add_instruction(step(ElementwiseOp::kNeg), {a}, {b});
  p.add_instruction(step(ElementwiseOp::kAdd), {b, bias}, {c});
  p.add_instruction(step(ElementwiseOp::kAdd), {c, x}, {y});
  add_ports(&file);
  return file;
}

convert::FileSpec counting_network(bool with_init) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {2, 4}));
  convert::ValueSpec state = activation("s", {2, 4});
  state.kind = ValueKind::kState;
  const int32_t s = p.add_value(state);
  const int32_t y = p.add_value(output("y", {2, 4}));
  int32_t init = -1;
  if (with_init) {
    init = p.add_value(constant("init", {2, 4}));
    auto values = std::make_shared<std::vector<uint8_t>>(32);
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::memcpy(values->data(), ones, 32);
    p.values[size_t(init)].bytes.held = values;
  }
  p.add_instruction(step(ElementwiseOp::kAdd), {x, s}, {y});
  p.add_instruction(CopyAttributes(), {y}, {s});
  p.states.push_back({"s", s, init, -1, -1});
  add_ports(&file);
  return file;
}

/// Multiples of 1/8 up to 15, which f16 and bf16 both have.
std::vector<float> stored_weights() {
  std::vector<float> numbers;
  for (int i = 0; i < 160; i++) numbers.push_back(float(i % 120) / 8 - 7);
  return numbers;
}

convert::FileSpec stored_network(DType dtype, bool apart) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  const auto held = [](const float* from, size_t count) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(from);
    return std::make_shared<const std::vector<uint8_t>>(bytes, bytes + count * 4);
  };
  const std::vector<float> numbers = stored_weights();
  p.required_features = {"widened"};
  p.add_value(input("x", {3, 40}));
  p.add_value(constant("w", {3, 40}));
  p.add_value(constant("v", {40}));
  p.add_value(constant("b", {40}));
  p.add_value(activation("t", {3, 40}));
  p.add_value(output("y", {3, 40}));
  p.values[1].bytes.held = held(numbers.data(), 120);
  p.values[2].bytes.held = held(numbers.data() + 120, 40);
  p.values[3].bytes.held = held(numbers.data(), 40);
  for (const size_t i : {1, 2}) p.values[i].stored = dtype, p.values[i].segment = apart;
  ElementwiseAttributes fma = step(ElementwiseOp::kFma, 0, 1);
  fma.steps[0].c = 2;
  p.add_instruction(fma, {0, 1, 2}, {4});
  p.add_instruction(step(ElementwiseOp::kAdd), {4, 3}, {5});
  add_ports(&file);
  return file;
}

convert::FileSpec lookup_network() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t table = p.add_value(input("table", {4, 8}));
  const int32_t indices = p.add_value(input("indices", {3}, DType::kI64));
  const int32_t y = p.add_value(output("y", {3, 8}));
  p.add_instruction(GatherAttributes(), {table, indices}, {y});
  add_ports(&file);
  return file;
}

convert::FileSpec in_place_ports_network() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {2, 8}));
  const int32_t a = p.add_value(activation("a", {2, 8}));
  const int32_t y = p.add_value(in_place_of(output("y", {2, 8}), a));
  p.add_value(view_of(output("flat", {16}), y));
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {a});
  p.add_instruction(step(ElementwiseOp::kNeg), {a}, {y});
  add_ports(&file);
  return file;
}

TemporaryFile::TemporaryFile(const convert::FileSpec& spec) {
  static int count = 0;
  path_ = (std::filesystem::temp_directory_path() /
           ("ingot_test_" + std::to_string(getpid()) + "_" + std::to_string(count++)))
              .string();
  const std::vector<uint8_t> bytes = convert::write_memory(spec);
  std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

TemporaryFile::~TemporaryFile() { std::remove(path_.c_str()); }

std::vector<float> ramp(size_t count, float from) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i++) values[i] = from + float(i) * 0.5f;
  return values;
}

}  // namespace ingot::test
