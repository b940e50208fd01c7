// SPDX-License-Identifier: Apache-2.0
// runtime/format/template_part.h - the chat template in the text part of a file (schema/text.fbs).
// open_template() validates all of it once: every text, slot, function and jump that an
// instruction names is there, and the values on the stack at each instruction are known. What they
// are is not: runtime/text/template.h asks as it goes.
//
// Jumps lead to a Label of their own function, which says how many values lie on the stack; an
// instruction behind one that never goes on is a Label.
//
// Owns     nothing: the spans lead into the part, which must outlive them.
// Errors   kStructureInvalid, kNotFound (no template), kLimitExceeded,
//          kUnsupportedFeature{field: what; have: version}, kMeaningInvalid{field, operand =
//          instruction, text or function}.
#pragma once
#include "runtime/base/span.h"
#include "runtime/base/status.h"
#include "runtime/format/template_codes.h"

namespace ingot {

constexpr uint32_t kMaxTemplateCode = 65535;
constexpr uint32_t kMaxTemplateStack = 4096;

struct TemplateFunctionRow {
  uint32_t entry;
  uint16_t slots, stack, arguments, names;
};

struct TemplateView {
  Span<const uint8_t> refused;  // why there is no code
  uint16_t inputs = 0;
  Span<const uint32_t> text_starts;
  Span<const uint8_t> text_bytes;
  Span<const uint32_t> code;
  Span<const uint16_t> lines;
  Span<const TemplateFunctionRow> functions;
  Span<const uint8_t> bos, eos;

  uint32_t texts() const { return uint32_t(text_starts.size ? text_starts.size - 1 : 0); }
  Span<const uint8_t> text(uint32_t i) const {
    return {text_bytes.data + text_starts[i], text_starts[i + 1] - text_starts[i]};
  }
};

/// Validates the template of a text part. `part` is 16-byte aligned. Time is linear in the part.
Status open_template(Span<const uint8_t> part, TemplateView* out, ErrorDetail* detail);

/// Values that an instruction takes from the stack and puts on it.
uint32_t template_pops(const TemplateInstruction& i);
uint32_t template_pushes(const TemplateInstruction& i);

}  // namespace ingot
