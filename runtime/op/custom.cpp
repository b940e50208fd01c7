// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/custom.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_custom(const OpArguments& a, Violation* v) {
  rules::OperandRules optional;
  optional.required_inputs = 0;
  if (!rules::check_operands(a, kCustomContract, optional, v)) return false;
  const auto& t = a.as<CustomAttributes>();
  if (!t.rules)
    return rules::refuse(v, "custom: the operator was handed in", Violation::kAttribute);
  return t.rules->check(t.implementation, a, v);
}

ScratchNeed scratch_of_custom(const OpArguments& a, int threads) {
  const auto& t = a.as<CustomAttributes>();
  return t.rules->scratch(t.implementation, a, threads);
}

}  // namespace

Status run_custom(const OpArguments& a, const Team& team) {
  const auto& t = a.as<CustomAttributes>();
  return t.rules->run(t.implementation, a, team);
}

bool find_custom(const KernelTable& table, CustomAttributes* attributes) {
  for (const KernelTable* t = &table; t; t = t->fallback) {
    if (!t->custom.rules) continue;
    const void* const found =
        t->custom.rules->find(t->custom, attributes->domain, attributes->name);
    if (!found) continue;
    attributes->rules = t->custom.rules;
    attributes->implementation = found;
    return true;
  }
  return false;
}

static void name_custom(const CustomAttributes& attributes, ErrorDetail* detail) {
  size_t at = 0;
  const auto add = [&](const char* text) {
    for (; *text && at + 1 < sizeof detail->name; text++) detail->name[at++] = *text;
  };
  add(attributes.domain);
  if (*attributes.domain) add("::");
  add(attributes.name);
  detail->name[at] = 0;
}

static constexpr CustomSupport kSupport = {custom_words, decode_custom_lists, find_custom,
                                           name_custom, kHandedInOperators};

const OpContract kCustomContract = {
    OpCode::kCustom,   1, 0, kMaxCustomInputs, 1,     kMaxCustomOutputs, check_custom, nullptr,
    scratch_of_custom, 0, 0, nullptr,          false, &kSupport};

}  // namespace ingot
