// SPDX-License-Identifier: Apache-2.0
// runtime/format/template_part.cpp - validates the chat template of a text part in one pass over
// its code.
#include "runtime/format/template_part.h"

#include "ingot_schema/text_generated.h"
#include "runtime/format/schema_access.h"
#include "runtime/format/text_part.h"

namespace ingot {
namespace {

using Op = TemplateOperation;
static_assert(sizeof(TemplateFunctionRow) == sizeof(fb::TemplateFunction), "read where they lie");

Status check_texts(const TemplateView& t, ErrorDetail* d) {
  if (t.text_starts.empty() || t.text_starts[0] != 0 ||
      t.text_starts[t.texts()] != t.text_bytes.size)
    return refuse_meaning(d, "text_starts ascend to the end of text_bytes");
  for (uint32_t i = 0; i < t.texts(); i++)
    if (t.text_starts[i] > t.text_starts[i + 1]) return refuse_meaning(d, "text_starts ascend", i);
  if (t.inputs > t.texts()) return refuse_meaning(d, "inputs are texts", 0, t.texts(), t.inputs);
  return {};
}

Status check_functions(const TemplateView& t, ErrorDetail* d) {
  if (t.functions.empty() || t.functions[0].entry != 0)
    return refuse_meaning(d, "functions: the first begins the code");
  for (size_t i = 0; i < t.functions.size; i++) {
    const TemplateFunctionRow& f = t.functions[i];
    if (i > 0 && f.entry <= t.functions[i - 1].entry)
      return refuse_meaning(d, "functions[].entry ascends", i);
    if (f.entry >= t.code.size)
      return refuse_meaning(d, "functions[].entry", i, t.code.size, f.entry);
    if (f.stack > kMaxTemplateStack || f.slots > kMaxTemplateStack)
      return fail(d, Code::kLimitExceeded, "functions[].stack", kMaxTemplateStack, f.stack);
    if (f.arguments > f.slots || f.arguments > 255 ||
        uint32_t(f.names) + f.arguments > (f.arguments ? t.texts() : 65535))
      return refuse_meaning(d, "functions[].arguments", i, f.slots, f.arguments);
  }
  const TemplateFunctionRow& first = t.functions[0];
  if (first.arguments != 0 || t.inputs > first.slots)
    return refuse_meaning(d, "functions[0] has a slot for each input", 0, first.slots, t.inputs);
  return {};
}

/// What an operand may be.
Status check_operands(const TemplateView& t, const TemplateFunctionRow& f,
                      const TemplateInstruction& i, uint32_t at, ErrorDetail* d) {
  const auto below = [&](const char* field, uint32_t value, uint32_t end) {
    return value < end ? Status() : refuse_meaning(d, field, at, end, value);
  };
  switch (i.operation) {
    case Op::kPrintText:
    case Op::kText:
    case Op::kAttribute:
    case Op::kSetAttribute: return below("code[].b: text", i.b, t.texts());
    case Op::kSimple: return below("code[].a: value", i.a, uint32_t(TemplateSimple::kEnd));
    case Op::kUnary: return below("code[].a: operator", i.a, uint32_t(TemplateUnary::kEnd));
    case Op::kBinary: return below("code[].a: operator", i.a, uint32_t(TemplateBinary::kEnd));
    case Op::kMacro: return below("code[].b: function", i.b, uint32_t(t.functions.size));
    case Op::kLoad:
    case Op::kStore: return below("code[].b: slot", i.b, f.slots);
    case Op::kLoadOuter: return below("code[].b: outer slot", i.b, t.functions[0].slots);
    case Op::kJumpIfGiven: return below("code[].a: argument", i.a, f.arguments);
    case Op::kMethod: return below("code[].b: method", i.b, uint32_t(TemplateMethod::kEnd));
    case Op::kBuiltIn: return below("code[].b: built-in", i.b, uint32_t(TemplateBuiltIn::kEnd));
    case Op::kFilter:
      INGOT_TRY(below("code[].a: arguments", i.a, kMaxFilterArguments + 1));
      return below("code[].b: filter", i.b, uint32_t(TemplateFilter::kEnd));
    case Op::kMap: return below("code[].b: filter", i.b, uint32_t(TemplateFilter::kEnd));
    case Op::kTest:
      INGOT_TRY(below("code[].a: arguments", i.a, 2));
      return below("code[].b: test", i.b, uint32_t(TemplateTest::kEnd));
    case Op::kSelect:
      INGOT_TRY(below("code[].a: selection", i.a, 16));
      return below("code[].b: test", i.b, uint32_t(TemplateTest::kEnd));
    default: return {};
  }
}

constexpr uint32_t kUnknownDepth = ~uint32_t{0};

/// Where the instruction leads besides the next one, and the values on the stack there; false for
/// those that lead nowhere else.
bool jump_of(const TemplateInstruction& i, uint32_t depth, uint32_t* depth_there) {
  switch (i.operation) {
    case Op::kJump:
    case Op::kJumpIfGiven: return *depth_there = depth, true;
    case Op::kJumpIfFalse: return *depth_there = depth - 1, true;
    case Op::kJumpIfFalseOrPop:
    case Op::kJumpIfTrueOrPop: return *depth_there = depth, true;
    case Op::kNext: return *depth_there = i.a ? depth : depth - 1, true;
    default: return false;
  }
}

Status check_function(const TemplateView& t, const TemplateFunctionRow& f, uint32_t end,
                      ErrorDetail* d) {
  uint32_t depth = 0;
  for (uint32_t at = f.entry; at < end; at++) {
    const TemplateInstruction i = unpack_instruction(t.code[at]);
    if (i.operation >= Op::kEnd)
      return refuse_meaning(d, "code[]: operation", at, uint32_t(Op::kEnd), uint32_t(i.operation));
    if (i.operation == Op::kLabel) {
      if (depth == kUnknownDepth) depth = i.b;
      if (depth != i.b || depth > f.stack)
        return refuse_meaning(d, "code[]: label", at, depth, i.b);
      continue;
    }
    if (depth == kUnknownDepth) return refuse_meaning(d, "code[]: a label behind a jump", at);
    INGOT_TRY(check_operands(t, f, i, at, d));
    const bool looks_at_loop = i.operation == Op::kNext;
    const uint32_t pops = template_pops(i), pushes = template_pushes(i);
    if (depth < pops || (looks_at_loop && depth < 1) || (i.operation == Op::kKeep && depth < 2))
      return refuse_meaning(d, "code[]: values on the stack", at, pops, depth);
    uint32_t there = 0;
    if (jump_of(i, depth, &there)) {
      if (i.b < f.entry || i.b >= end) return refuse_meaning(d, "code[].b: jump", at, end, i.b);
      const TemplateInstruction target = unpack_instruction(t.code[i.b]);
      if (target.operation != Op::kLabel || target.b != there)
        return refuse_meaning(d, "code[].b: jump to a label of this depth", at, there, target.b);
    }
    depth = depth - pops + pushes;
    if (depth > f.stack) return refuse_meaning(d, "functions[].stack", at, f.stack, depth);
    if (i.operation == Op::kReturn && depth != 0)
      return refuse_meaning(d, "code[]: a function leaves one value", at, 1, depth + 1);
    if (i.operation == Op::kJump || i.operation == Op::kReturn) depth = kUnknownDepth;
  }
  return depth == kUnknownDepth ? Status() : refuse_meaning(d, "code[]: a function ends", end);
}

Status check_code(const TemplateView& t, ErrorDetail* d) {
  if (t.lines.size != t.code.size)
    return refuse_meaning(d, "lines: one for each instruction", 0, t.code.size, t.lines.size);
  for (size_t i = 0; i < t.functions.size; i++) {
    const uint32_t end =
        i + 1 < t.functions.size ? t.functions[i + 1].entry : uint32_t(t.code.size);
    INGOT_TRY(check_function(t, t.functions[i], end, d));
  }
  return {};
}

}  // namespace

uint32_t template_pops(const TemplateInstruction& i) {
  const uint32_t A = i.a, B = i.b;
  (void)A, (void)B;
  switch (i.operation) {
#define INGOT_POPS(name, pops, pushes) \
  case Op::k##name: return pops;
    INGOT_TEMPLATE_OPERATIONS(INGOT_POPS)
#undef INGOT_POPS
    case Op::kEnd: break;
  }
  return 0;
}

uint32_t template_pushes(const TemplateInstruction& i) {
  const uint32_t A = i.a, B = i.b;
  (void)A, (void)B;
  switch (i.operation) {
#define INGOT_PUSHES(name, pops, pushes) \
  case Op::k##name: return pushes;
    INGOT_TEMPLATE_OPERATIONS(INGOT_PUSHES)
#undef INGOT_PUSHES
    case Op::kEnd: break;
  }
  return 0;
}

Status open_template(Span<const uint8_t> part, TemplateView* out, ErrorDetail* detail) {
  constexpr unsigned kDepth = 8, kTables = 64;
  *out = {};
  if (part.size > kMaxTextBytes)
    return fail(detail, Code::kLimitExceeded, "text", kMaxTextBytes, part.size);
  flatbuffers::Verifier verifier(part.data, part.size, kDepth, kTables);
  if (!fb::VerifyTextBuffer(verifier)) return fail(detail, Code::kStructureInvalid, "text");
  const fb::ChatTemplate* from = fb::GetText(part.data)->chat();
  if (!from) return fail(detail, Code::kNotFound, "text.chat");
  TemplateView t;
  t.refused = span_of<uint8_t>(from->refused());
  if (!t.refused.empty()) {
    *out = t;
    return {};
  }
  if (from->version() != kTemplateVersion)
    return fail(detail, Code::kUnsupportedFeature, "text.chat.version", kTemplateVersion,
                from->version());
  t.inputs = from->inputs();
  t.text_starts = span_of<uint32_t>(from->text_starts());
  t.text_bytes = span_of<uint8_t>(from->text_bytes());
  t.code = span_of<uint32_t>(from->code());
  t.lines = span_of<uint16_t>(from->lines());
  t.functions = span_of<TemplateFunctionRow>(from->functions());
  t.bos = span_of<uint8_t>(from->bos()), t.eos = span_of<uint8_t>(from->eos());
  if (t.code.size > kMaxTemplateCode || t.text_starts.size > 65536)
    return fail(detail, Code::kLimitExceeded, "text.chat: code or texts", kMaxTemplateCode,
                t.code.size);
  INGOT_TRY(check_texts(t, detail));
  INGOT_TRY(check_functions(t, detail));
  INGOT_TRY(check_code(t, detail));
  *out = t;
  return {};
}

}  // namespace ingot
