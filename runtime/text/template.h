// SPDX-License-Identifier: Apache-2.0
// runtime/text/template.h - messages to the text of a prompt, by the chat template in a file.
//
//   TemplateView t;  open_template(part, &t, detail);       // runtime/format/template_part.h
//   const ValuePair fields[] = {{Value::text("role"), Value::text("user")},
//                               {Value::text("content"), Value::text("Hello")}};
//   const Value message = Value::dict({fields, 2});
//   const ValuePair inputs[] = {{Value::text("messages"), Value::list({&message, 1})},
//                               {Value::text("add_generation_prompt"), Value::boolean(true)}};
//   render(t, {inputs, 2}, {}, memory, out, &count, detail);
//
// Values mean what they do in Python, dicts in their order. bos_token and eos_token are the file's
// where no input has the name.
//
// Owns     nothing. `memory` (16-byte aligned) holds values and calls while it runs, `out` the
//          text, and parts of it that are still in the making.
// Errors   kUnsupportedFeature (the file has no code for its template), kArenaTooSmall{field
//          "memory" or "output", need, have}, kLimitExceeded (steps, calls, depth of values),
//          kInvalidArgument: the template raised an exception, whose message is in `out`;
//          kMeaningInvalid: what the template does has no meaning for these values, as in Python:
//          field says what, name of what. detail->operand is the line of the source.
// Threads  any number over one TemplateView. No globals.
#pragma once
#include "runtime/format/template_part.h"

namespace ingot::text {

struct Value;
struct ValuePair;
struct Namespace;
struct Loop;

enum class ValueKind : uint8_t {
  kUndefined,
  kNone,
  kBoolean,
  kInteger,
  kFloat,
  kText,
  kList,
  kDict,
  // made by a template alone
  kNamespace,
  kLoop,
  kMacro,
  kFunction,
  kMark
};

/// What a list is in Python; inputs are the first two. A generator gives its items once.
enum class ListKind : uint8_t { kPlain, kTuple, kView, kRange, kGenerator };

struct Value {
  ValueKind kind = ValueKind::kUndefined;
  ListKind list_kind = ListKind::kPlain;
  bool is_safe = false;  // a text behind `safe`
  uint32_t count = 0;    // bytes, items or pairs
  union {
    int64_t integer = 0;
    double number;
    const uint8_t* bytes;
    const Value* items;
    const ValuePair* pairs;
    Namespace* space;
    Loop* loop;
  };

  static Value none() { return of(ValueKind::kNone, 0); }
  static Value boolean(bool b) { return of(ValueKind::kBoolean, b); }
  static Value of(ValueKind kind, int64_t integer) {
    Value v;
    v.kind = kind, v.integer = integer;
    return v;
  }
  static Value whole(int64_t i) { return of(ValueKind::kInteger, i); }
  static Value real(double d) {
    Value v;
    v.kind = ValueKind::kFloat, v.number = d;
    return v;
  }
  /// UTF-8
  static Value text(Span<const uint8_t> text) {
    Value v;
    v.kind = ValueKind::kText, v.count = uint32_t(text.size), v.bytes = text.data;
    return v;
  }
  static Value text(const char* text);
  static Value list(Span<const Value> items) {
    Value v;
    v.kind = ValueKind::kList, v.count = uint32_t(items.size), v.items = items.data;
    return v;
  }
  static Value dict(Span<const ValuePair> pairs) {
    Value v;
    v.kind = ValueKind::kDict, v.count = uint32_t(pairs.size), v.pairs = pairs.data;
    return v;
  }
  bool is(ValueKind k) const { return kind == k; }
  Span<const uint8_t> span() const { return {bytes, count}; }
};

struct ValuePair {
  Value key, value;
};

/// For strftime_now; a year of 0: not known, and asking for it is an error.
struct LocalTime {
  int year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0;
};

struct RenderOptions {
  uint64_t steps = uint64_t{1} << 26;  // instructions, and what they look at in units of 16 bytes
  LocalTime now;
};

/// What most conversations take; render() says how much it would have taken where this is too
/// little.
struct RenderNeed {
  uint64_t memory_bytes = 0, output_bytes = 0;
};
RenderNeed estimate_render(const TemplateView& t, Span<const ValuePair> inputs);

/// The text, `count` bytes of `out`.
Status render(const TemplateView& t, Span<const ValuePair> inputs, const RenderOptions& options,
              Span<uint8_t> memory, Span<uint8_t> out, size_t* count, ErrorDetail* detail);

}  // namespace ingot::text
