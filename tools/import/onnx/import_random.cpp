// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_random.cpp - operators that draw random numbers. Which numbers is no
// part of ONNX: they are those of runtime/op/random.h.
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {
namespace {

/// Attributes that all have: a seed, and a type where the file says one.
graph::Node* begin(Call& call, size_t inputs) {
  call.expect_inputs(inputs, inputs);
  constexpr int64_t kNone = 0;
  const int64_t given = call.integer("dtype", kNone);
  const DType type = given > 0 && given < INT32_MAX ? dtype_of(int32_t(given)) : DType::kInvalid;
  if (given != kNone && type == DType::kInvalid) {
    call.refuse("dtype", "element type " + std::to_string(given) + " is not supported");
    return nullptr;
  }
  constexpr int32_t kFloat = 1;  // AttributeProto.FLOAT
  const bool seeded = call.attribute("seed", kFloat) != nullptr;
  const double seed = seeded ? call.number("seed", 0) : 0;
  graph::Node& made = call.emit(call.op());
  if (given != kNone) made.attributes[attr::dtype] = int64_t(type);
  if (seeded) made.attributes[attr::seed] = seed;
  return &made;
}
void with_shape(Call& call, graph::Node* made) {
  made->inputs = {kAbsent};
  made->attributes[attr::shape] = call.integers("shape").value_or(std::vector<int64_t>());
}
void normal(Call& call) {
  const bool like = call.node().op == "RandomNormalLike";
  graph::Node* const made = begin(call, like ? 1 : 0);
  if (!made) return;
  made->attributes[attr::mean] = call.number("mean", 0);
  made->attributes[attr::scale] = call.number("scale", 1);
  if (!like) with_shape(call, made);
}
void uniform(Call& call) {
  const bool like = call.node().op == "RandomUniformLike";
  graph::Node* const made = begin(call, like ? 1 : 0);
  if (!made) return;
  made->attributes[attr::low] = call.number("low", 0);
  made->attributes[attr::high] = call.number("high", 1);
  if (!like) with_shape(call, made);
}
void bernoulli(Call& call) { begin(call, 1); }
void multinomial(Call& call) {
  if (graph::Node* const made = begin(call, 1))
    made->attributes[attr::sample_size] = call.integer("sample_size", 1);
}

}  // namespace

void add_random(TranslateTable& table) {
  table["RandomNormal"] = table["RandomNormalLike"] = normal;
  table["RandomUniform"] = table["RandomUniformLike"] = uniform;
  table["Bernoulli"] = bernoulli;
  table["Multinomial"] = multinomial;
}

}  // namespace ingot::onnx
