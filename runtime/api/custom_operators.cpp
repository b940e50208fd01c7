// SPDX-License-Identifier: Apache-2.0
// runtime/api/custom_operators.cpp - between ingot_custom_operator and the rules of runtime/op.
#include <cstring>

#include "ingot/custom.h"
#include "runtime/api/translate.h"
#include "runtime/op/custom.h"

namespace ingot::api {
namespace {

constexpr size_t kMaxOperators = 4096;
constexpr uint64_t kMaxScratch = uint64_t{1} << 40;

const ingot_custom_operator& of(const void* implementation) {
  return *static_cast<const ingot_custom_operator*>(implementation);
}
const char* text_or(const char* text) { return text ? text : ""; }
bool is_default_domain(const char* domain) {
  return !domain[0] || std::strcmp(domain, "ai.onnx") == 0;
}

const void* find(const CustomOperators& operators, const char* domain, const char* name) {
  const auto* list = static_cast<const ingot_custom_operator* const*>(operators.list);
  for (size_t i = 0; i < operators.count; i++) {
    const char* const own = text_or(list[i]->domain);
    if (std::strcmp(list[i]->name, name) == 0 &&
        (std::strcmp(own, domain) == 0 || (is_default_domain(own) && is_default_domain(domain))))
      return list[i];
  }
  return nullptr;
}

static_assert(sizeof(CustomAttribute) == sizeof(ingot_custom_attribute) &&
              offsetof(CustomAttribute, text) == offsetof(ingot_custom_attribute, text) &&
              offsetof(CustomAttribute, integers) == offsetof(ingot_custom_attribute, integers) &&
              offsetof(CustomAttribute, numbers) == offsetof(ingot_custom_attribute, numbers) &&
              offsetof(CustomAttribute, count) == offsetof(ingot_custom_attribute, count));

/// The operands of a call as the application sees them, on the stack: no kernel allocates.
struct Call {
  ingot_tensor inputs[kMaxCustomInputs], outputs[kMaxCustomOutputs];
  ingot_custom_call call = {};

  Call(const OpArguments& a, bool with_outputs) {
    const auto& attributes = a.as<CustomAttributes>();
    for (int i = 0; i < a.input_count; i++) inputs[i] = tensor_of(a.inputs[i]);
    for (int i = 0; i < a.output_count; i++)
      outputs[i] = with_outputs ? tensor_of(a.outputs[i]) : ingot_tensor{};
    call.size = sizeof call;
    call.attributes = reinterpret_cast<const ingot_custom_attribute*>(attributes.list);
    call.attribute_count = attributes.count;
    call.input_count = a.input_count;
    call.output_count = a.output_count;
    call.inputs = inputs;
    call.outputs = with_outputs ? outputs : nullptr;
    call.threads = 1;
  }
};

bool refuse(Violation* v, const char* rule, int operand, int64_t expected, int64_t found) {
  if (v) *v = {rule, operand, expected, found};
  return false;
}

bool check(const void* implementation, const OpArguments& a, Violation* v) {
  const ingot_custom_operator& op = of(implementation);
  Call given(a, false);
  ingot_tensor said[kMaxCustomOutputs] = {};
  const char* why = nullptr;
  const ingot_code code = op.shape(op.user, &given.call, said, &why);
  if (code != INGOT_OK)
    return refuse(v, why ? why : "custom: its shape function takes the operands",
                  Violation::kAttribute, INGOT_OK, code);
  for (int i = 0; i < a.output_count; i++) {
    const TensorType& y = a.outputs[i];
    if (!y.present()) continue;
    if (ingot_dtype(y.dtype) != said[i].dtype)
      return refuse(v, "custom: the element type is what its shape function says", -1 - i,
                    said[i].dtype, int64_t(y.dtype));
    if (int32_t(y.rank) != said[i].rank)
      return refuse(v, "custom: the rank is what its shape function says", -1 - i, said[i].rank,
                    y.rank);
    for (int d = 0; d < y.rank; d++)
      if (y.dims[d] != said[i].dims[d])
        return refuse(v, "custom: the extents are what its shape function says", -1 - i,
                      said[i].dims[d], y.dims[d]);
  }
  return true;
}

ScratchNeed scratch(const void* implementation, const OpArguments& a, int threads) {
  const ingot_custom_operator& op = of(implementation);
  ScratchNeed need;
  if (!op.memory) return need;
  const Call given(a, true);
  op.memory(op.user, &given.call, threads, &need.per_thread_bytes, &need.shared_bytes);
  if (need.per_thread_bytes > kMaxScratch) need.per_thread_bytes = kMaxScratch;
  if (need.shared_bytes > kMaxScratch) need.shared_bytes = kMaxScratch;
  return need;
}

Status run(const void* implementation, const OpArguments& a, const Team& team) {
  const ingot_custom_operator& op = of(implementation);
  const bool parallel = (op.flags & INGOT_CUSTOM_PARALLEL) != 0;
  if (!parallel && team.id != 0) return {};
  Call given(a, true);
  given.call.scratch = team.scratch;
  given.call.shared = team.shared;
  if (parallel) given.call.thread = team.id, given.call.threads = team.size;
  return op.run(op.user, &given.call) == INGOT_OK ? Status() : Status(Code::kCustomFailed);
}

const char* why_not(const CustomOperators& operators) {
  const auto* list = static_cast<const ingot_custom_operator* const*>(operators.list);
  const size_t count = operators.count;
  if (count && !list) return "options.operators is null, and operator_count is not 0";
  if (count > kMaxOperators) return "options.operator_count: too many";
  for (size_t i = 0; i < count; i++) {
    if (!list[i]) return "options.operators[]: one is null";
    if (list[i]->size < sizeof(ingot_custom_operator))
      return "options.operators[].size: not set; write INGOT_INIT(ingot_custom_operator)";
    if (!list[i]->name || !list[i]->name[0]) return "options.operators[].name is missing";
    if (!list[i]->shape || !list[i]->run) return "options.operators[]: without shape or run";
    if (list[i]->flags & ~uint32_t{INGOT_CUSTOM_PARALLEL})
      return "options.operators[].flags: one that this library does not know";
  }
  return nullptr;
}

}  // namespace
}  // namespace ingot::api

namespace ingot {

const CustomRules kHandedInOperators = {api::why_not, api::find, api::check, api::scratch,
                                        api::run};

}  // namespace ingot
