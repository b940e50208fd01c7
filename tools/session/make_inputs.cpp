// SPDX-License-Identifier: Apache-2.0
#include "tools/session/make_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime/op/elementwise.h"
#include "tools/session/program_view.h"
#include "tools/session/random.h"

namespace ingot::cli {
namespace {

bool is_integer(ingot_dtype t) { return t >= INGOT_I8 && t <= INGOT_U64; }

uint16_t half_of(float x) {  // x in [0, 1), rounded down
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const int exponent = int(bits >> 23 & 255) - 127 + 15;
  if (exponent <= 0) return 0;
  return uint16_t(exponent << 10 | (bits >> 13 & 1023));
}

template <class T>
void fill_integers(host::Array* array, Random* random, int64_t bound, int64_t otherwise = 1) {
  for (int64_t i = 0; i < array->elements(); i++)
    array->as<T>()[i] = bound > 0 ? T(random->next() % uint64_t(bound)) : T(otherwise);
}

/// What the file says that every element of an integer input is in a usual run, if it does.
std::optional<int64_t> typical(const Engine& engine, uint32_t i) {
  const ingot_value_type port = engine.input(i);
  const std::string key = std::string("ingot.typical.") + port.name;
  char text[24] = {};
  uint64_t length = 0;
  if (!is_integer(port.dtype) ||
      ingot_model_metadata(engine.model().get(), key.c_str(), text, sizeof text - 1, &length,
                           nullptr) != INGOT_OK)
    return std::nullopt;
  return strtoll(text, nullptr, 10);
}

}  // namespace

int64_t index_bound(const Engine& engine, uint32_t i) {
  const ingot_value_type port = engine.input(i);
  if (!is_integer(port.dtype)) return 0;
  const ingot_model* model = engine.model().get();
  std::vector<bool> reached(engine.summary().value_count, false);
  reached[size_t(port.value)] = true;
  int64_t bound = 0;
  for (uint32_t at = 0; at < engine.summary().instruction_count; at++) {
    ingot_instruction instruction{};
    if (ingot_model_instruction(model, at, &instruction) != INGOT_OK) continue;
    const auto is_reached = [&](uint32_t k) {
      return k < instruction.input_count && instruction.inputs[k] >= 0 &&
             reached[size_t(instruction.inputs[k])];
    };
    if (strncmp(instruction.op, "gather", 6) == 0) {
      if (!is_reached(1)) continue;
      ingot_value_type table{};
      ingot_model_value(model, uint32_t(instruction.inputs[0]), &table);
      for (int32_t d = 0; d < table.rank; d++) {
        if (table.dims[d] > 0) bound = bound ? std::min(bound, table.dims[d]) : table.dims[d];
      }
      continue;
    }
    // What changes places or types only passes the ids on.
    bool passes = false;
    for (const char* op : {"copy", "elementwise", "transpose", "slice", "concat", "tile", "pad"})
      passes |= strcmp(op, instruction.op) == 0;
    bool any = false;
    for (uint32_t k = 0; k < instruction.input_count; k++) any |= is_reached(k);
    if (!passes || !any) continue;
    for (uint32_t k = 0; k < instruction.output_count; k++) {
      if (instruction.outputs[k] >= 0) reached[size_t(instruction.outputs[k])] = true;
    }
  }
  return bound;
}

int64_t compared_with(const Engine& engine, uint32_t i) {
  const ingot_value_type port = engine.input(i);
  for (int32_t d = 0; d < port.rank; d++)
    if (port.dims[d] != 1) return 0;
  if (port.dtype != INGOT_I32 && port.dtype != INGOT_I64) return 0;
  const ProgramView view(engine.path(), {});
  for (const InstructionDef& instruction : view.program().instructions) {
    if (instruction.op != OpCode::kElementwise) continue;
    const auto& attributes = *static_cast<const ElementwiseAttributes*>(instruction.attributes);
    for (uint16_t k = 0; k < instruction.input_count; k++) {
      if (instruction.inputs[k] != port.value) continue;
      for (uint32_t at = 0; at < attributes.step_count; at++) {
        const ElementwiseStep& step = attributes.steps[at];
        const bool equality =
            step.op == ElementwiseOp::kEqual || step.op == ElementwiseOp::kNotEqual;
        const bool with_constant = (step.a == k && step.b == kConstantRegister) ||
                                   (step.b == k && step.a == kConstantRegister);
        if (equality && with_constant && step.alpha >= -0x1p24f && step.alpha <= 0x1p24f)
          return int64_t(step.alpha);
      }
    }
  }
  return 0;
}

host::Array make_input(const Engine& engine, uint32_t i, const ingot_tensor& like, uint64_t draw) {
  host::Array array;
  array.name = engine.input(i).name;
  array.dtype = DType(like.dtype);
  array.dims.assign(like.dims, like.dims + like.rank);
  array.bytes.resize(size_t(array.elements()) * ingot_dtype_bytes(like.dtype));
  Random random{i + 1 + (draw << 32)};
  const std::optional<int64_t> usual = typical(engine, i);
  const int64_t bound = usual ? 0 : index_bound(engine, i);
  const int64_t n = array.elements();
  const int64_t compared = bound == 0 && is_integer(like.dtype) ? compared_with(engine, i) : 0;
  const int64_t otherwise = usual ? *usual : compared ? compared : 1;
  switch (array.dtype) {
    case DType::kF32:
      for (int64_t k = 0; k < n; k++) array.as<float>()[k] = random.unit();
      break;
    case DType::kF64:
      for (int64_t k = 0; k < n; k++) array.as<double>()[k] = double(random.unit());
      break;
    case DType::kF16:
      for (int64_t k = 0; k < n; k++) array.as<uint16_t>()[k] = half_of(random.unit());
      break;
    case DType::kBF16:
      for (int64_t k = 0; k < n; k++) {
        const float value = random.unit();
        memcpy(array.bytes.data() + 2 * k, reinterpret_cast<const uint8_t*>(&value) + 2, 2);
      }
      break;
    case DType::kI8: fill_integers<int8_t>(&array, &random, std::min<int64_t>(bound, 128)); break;
    case DType::kU8:
      fill_integers<uint8_t>(&array, &random, bound ? std::min<int64_t>(bound, 256) : 256);
      break;
    case DType::kI16:
      fill_integers<int16_t>(&array, &random, std::min<int64_t>(bound, 1 << 15));
      break;
    case DType::kU16:
      fill_integers<uint16_t>(&array, &random, std::min<int64_t>(bound, 1 << 16));
      break;
    case DType::kI32: fill_integers<int32_t>(&array, &random, bound, otherwise); break;
    case DType::kU32: fill_integers<uint32_t>(&array, &random, bound); break;
    case DType::kI64: fill_integers<int64_t>(&array, &random, bound, otherwise); break;
    case DType::kU64: fill_integers<uint64_t>(&array, &random, bound); break;
    case DType::kBool: std::fill(array.bytes.begin(), array.bytes.end(), uint8_t(1)); break;
    case DType::kInvalid: break;
  }
  return array;
}

}  // namespace ingot::cli
