// SPDX-License-Identifier: Apache-2.0
// runtime/text/template_machine.h - what the parts of the interpreter share: memory, output, the
// budget, and values.
#pragma once
#include <cstring>

#include "runtime/text/template.h"

namespace ingot::text {

constexpr uint32_t kMaxValueDepth = 64;
constexpr uint32_t kMaxCalls = 128;

struct NamedValue {
  Span<const uint8_t> name;
  Value value;
  NamedValue* next = nullptr;
};
struct Namespace {
  NamedValue* first = nullptr;
};
struct Loop {
  const Value* items = nullptr;
  uint32_t count = 0, at = 0;  // `at`: of the item that is next
  Value* kept = nullptr;
  uint32_t kept_count = 0;
};

inline Span<const uint8_t> span_of(const char* text) {
  return {reinterpret_cast<const uint8_t*>(text), strlen(text)};
}
inline bool equal(Span<const uint8_t> a, Span<const uint8_t> b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

struct Machine {
  const TemplateView& t;
  const RenderOptions& options;
  Span<uint8_t> memory;
  Span<uint8_t> out;
  ErrorDetail* detail;
  uint64_t low = 0, high = 0;  // values grow from below, calls from above
  uint64_t out_count = 0;
  uint64_t steps = 0;
  uint32_t line = 0;

  // --- errors
  Status error(const char* what, Span<const uint8_t> name = {},
               Code code = Code::kMeaningInvalid) const;
  Status undefined(Span<const uint8_t> name) const { return error("a value is undefined", name); }
  /// Work done.
  Status charge(uint64_t bytes) {
    const uint64_t work = 1 + bytes / 16;
    if (work > steps) return fail(detail, Code::kLimitExceeded, "steps", options.steps, work);
    steps -= work;
    return {};
  }

  // --- memory
  Status take(uint64_t bytes, uint8_t** at);
  template <class T>
  Status take_array(uint64_t count, T** at) {
    if (count > ~uint32_t{0}) return error("more values than fit");
    uint8_t* bytes = nullptr;
    INGOT_TRY(charge(count * sizeof(T)));
    INGOT_TRY(take(count * sizeof(T), &bytes));
    *at = reinterpret_cast<T*>(bytes);
    for (uint64_t i = 0; i < count; i++) (*at)[i] = T{};
    return {};
  }

  // --- output, which also has texts in the making: taken from `begin` on as a value
  Status put(Span<const uint8_t> bytes);
  Status put(const char* text) { return put(span_of(text)); }
  Status put_byte(uint8_t byte) { return put(Span<const uint8_t>(&byte, 1)); }
  Status take_text(uint64_t begin, Value* value);
  Status put_escaped(const Value& v);                   // a text beside one behind `safe`
  Status put_value(const Value& v);                     // str()
  Status put_repr(const Value& v, uint32_t depth = 0);  // repr()
  Status put_integer(int64_t i);
  Status put_float(double d);
  struct JsonStyle {
    bool is_ascii = false, sorts_keys = false;
    int64_t indent = -1;
    Span<const uint8_t> item_separator{}, key_separator{};
  };
  Status put_json(const Value& v, const JsonStyle& style, uint32_t depth = 0);
  Status put_json_text(Span<const uint8_t> text, bool is_ascii);
  Status text_of(const Value& v, Value* text);  // str() as a value

  // --- values
  bool truth(const Value& v) const;
  Status equals(const Value& a, const Value& b, bool* same, uint32_t depth = 0);
  Status order(const Value& a, const Value& b, int* order, uint32_t depth = 0);
  Status contains(const Value& all, const Value& one, bool* found);
  Status find_pair(const Value& dict, const Value& key, const Value** value, uint32_t depth = 0);
  /// The items of what can be iterated over, as Python's list() takes them.
  Status items_of(const Value& v, Span<const Value>* items);
  /// Room for a list that gives its items once.
  Status take_generator(uint64_t count, Value** items);
  /// No more of it than was looked at: what is left is not known.
  void leave_begun(const Value& v) const;
  Status pairs_of(const Value& dict, ListKind kind, Value* out);
  Status characters_of(const Value& text, Span<const Value>* items);
  Status attribute(const Value& of, Span<const uint8_t> name, Value* out);
  Status item(const Value& of, const Value& key, Value* out);
  Status slice(const Value* four, Value* out);
  Status binary(TemplateBinary op, const Value& a, const Value& b, Value* out);
  Status unary(TemplateUnary op, const Value& a, Value* out);
  Status dict_of(const Value* names_and_values, uint32_t pairs, Value* out);
  Status length_of(const Value& v, int64_t* length);

  // --- what templates call
  Status filter(TemplateFilter f, const Value& v, Span<const Value> arguments, Value* out);
  Status test(TemplateTest t, const Value& v, const Value* argument, bool* holds);
  Status method(TemplateMethod m, const Value& v, Span<const Value> arguments, Value* out);
  Status built_in(TemplateBuiltIn b, Span<const Value> arguments, Value* out);
  Status select(const TemplateInstruction& i, const Value* three, Value* out);
  Status map_attribute(const Value* three, Value* out);
  Status map_filter(TemplateFilter f, const Value& v, Value* out);
  // of filters and methods
  Status strip(const Value& v, const Value* characters, bool left, bool right, Value* out);
  Status replace(const Value& v, const Value& old, const Value& fresh, int64_t most, Value* out);
  Status change_case(const Value& v, int how, Value* out);
  Status join(const Value& separator, Span<const Value> items, Value* out);
  Status split(const Value& v, Span<const Value> arguments, bool from_right, Value* out);
  Status format(const Value& v, Span<const Value> arguments, Value* out);
  Status indent(const Value& v, Span<const Value> arguments, Value* out);
  Status sort(Span<const Value> items, Span<const Value> arguments, bool is_pairs, Value* out);
  Status unique(Span<const Value> items, Value* out);
  Status extreme(Span<const Value> items, bool is_max, Value* out);
  Status put_time(Span<const uint8_t> format);
  Status to_integer(const Value& v, const Value& fallback, Value* out);
  Status to_float(const Value& v, const Value& fallback, Value* out);
  Status path(const Value& of, const Value& name, const Value& otherwise, Value* out);  // "a.b.0"
};

/// Whole numbers of Python: booleans too.
inline bool is_whole(const Value& v) {
  return v.is(ValueKind::kInteger) || v.is(ValueKind::kBoolean);
}
inline bool is_sequence(const Value& v) {
  return v.is(ValueKind::kList) && v.list_kind <= ListKind::kTuple;
}
inline bool is_number(const Value& v) { return is_whole(v) || v.is(ValueKind::kFloat); }
inline double number_of(const Value& v) {
  return v.is(ValueKind::kFloat) ? v.number : double(v.integer);
}
inline Value list_of(ListKind kind, Span<const Value> items) {
  Value v = Value::list(items);
  v.list_kind = kind;
  return v;
}
inline bool is_given(Span<const Value> arguments, size_t i) {
  return i < arguments.size && !arguments[i].is(ValueKind::kUndefined);
}
/// White space as Python's strip() takes it.
bool is_python_space(uint32_t code, uint16_t traits);
/// Code points of a text.
uint64_t count_characters(Span<const uint8_t> text);

constexpr int kCaseUpper = 0, kCaseLower = 1, kCaseCapital = 2, kCaseTitle = 3, kCaseWords = 4;

}  // namespace ingot::text
