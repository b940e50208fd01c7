// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/chat_values.h"

#include <cstring>

#include "runtime/base/bump_allocator.h"

namespace ingot::api {
namespace {

using text::Value;
using text::ValuePair;

constexpr int kMaxDepth = 64;
constexpr const char* kPrompt = "add_generation_prompt";

/// Copies, or with no memory measures.
class Maker {
 public:
  explicit Maker(uint8_t* memory) : bump_(memory) {}
  uint64_t used() const { return bump_.used(); }

  Value value(const ingot_value& from) {
    switch (from.kind) {
      case INGOT_VALUE_BOOLEAN: return Value::boolean(from.as.integer != 0);
      case INGOT_VALUE_INTEGER: return Value::whole(from.as.integer);
      case INGOT_VALUE_FLOAT: return Value::real(from.as.number);
      case INGOT_VALUE_TEXT: return text(from.as.text, from.count);
      case INGOT_VALUE_LIST: {
        Value* const items = bump_.take<Value>(from.count);
        for (uint32_t i = 0; i < from.count; i++) put(items, i, value(from.as.items[i]));
        return Value::list({items, from.count});
      }
      case INGOT_VALUE_DICT: {
        ValuePair* const pairs = bump_.take<ValuePair>(from.count);
        fill(from, pairs);
        return Value::dict({pairs, from.count});
      }
      default: return Value::none();
    }
  }

  Span<const ValuePair> inputs(const ingot_chat_options& o) {
    const bool is_asked = !has(o.variables, kPrompt);
    const size_t count = o.variables.count + size_t{is_asked} + (o.messages ? 1 : 0);
    ValuePair* const pairs = bump_.take<ValuePair>(count);
    fill(o.variables, pairs);
    size_t at = o.variables.count;
    if (is_asked) put(pairs, at++, {Value::text(kPrompt), Value::boolean(true)});
    if (o.messages) put(pairs, at, {Value::text("messages"), messages(o)});
    return {pairs, count};
  }

 private:
  template <class T>
  static void put(T* to, size_t i, const T& what) {
    if (to) to[i] = what;
  }
  static Value text(const char* bytes, size_t count) {
    return Value::text(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes), count));
  }
  static bool has(const ingot_value& dict, const char* name) {
    const size_t length = std::strlen(name);
    for (uint32_t i = 0; i < dict.count; i++) {
      const ingot_value& key = dict.as.items[2 * size_t{i}];
      if (key.count == length && std::memcmp(key.as.text, name, length) == 0) return true;
    }
    return false;
  }
  void fill(const ingot_value& dict, ValuePair* pairs) {
    for (uint32_t i = 0; i < dict.count; i++) {
      const ingot_value* const pair = dict.as.items + 2 * size_t{i};
      put(pairs, i, {value(pair[0]), value(pair[1])});
    }
  }
  Value messages(const ingot_chat_options& o) {
    Value* const items = bump_.take<Value>(o.message_count);
    for (uint32_t i = 0; i < o.message_count; i++) {
      ValuePair* const pairs = bump_.take<ValuePair>(2);
      const ingot_message& m = o.messages[i];
      put(pairs, 0, {Value::text("role"), Value::text(m.role)});
      put(pairs, 1, {Value::text("content"), Value::text(m.content)});
      put(items, i, Value::dict({pairs, 2}));
    }
    return Value::list({items, o.message_count});
  }
  BumpAllocator bump_;
};

Status check_value(const ingot_value& v, int depth, ErrorDetail* detail) {
  if (depth > kMaxDepth)
    return fail(detail, Code::kLimitExceeded, "values in each other", kMaxDepth, uint64_t(depth));
  if (v.kind < INGOT_VALUE_NONE || v.kind > INGOT_VALUE_DICT)
    return fail(detail, Code::kInvalidArgument, "a value's kind: at most", INGOT_VALUE_DICT,
                uint64_t(int64_t{v.kind}));
  if (v.kind == INGOT_VALUE_TEXT && v.count && !v.as.text)
    return fail(detail, Code::kInvalidArgument, "a value's text is null");
  if (v.kind < INGOT_VALUE_LIST || v.count == 0) return {};
  if (!v.as.items) return fail(detail, Code::kInvalidArgument, "a value's items are null");
  const bool is_dict = v.kind == INGOT_VALUE_DICT;
  for (uint64_t i = 0; i < uint64_t{v.count} * (is_dict ? 2 : 1); i++) {
    if (is_dict && i % 2 == 0 && v.as.items[i].kind != INGOT_VALUE_TEXT)
      return fail(detail, Code::kInvalidArgument, "a key of a dict is a text");
    INGOT_TRY(check_value(v.as.items[i], depth + 1, detail));
  }
  return {};
}

}  // namespace

Status measure_chat_values(const ingot_chat_options& o, uint64_t* bytes, ErrorDetail* detail) {
  if (o.variables.kind && o.variables.kind != INGOT_VALUE_DICT)
    return fail(detail, Code::kInvalidArgument, "options.variables: a dict, or zeros");
  if (o.variables.kind) INGOT_TRY(check_value(o.variables, 0, detail));
  if (!o.variables.kind && o.variables.count)
    return fail(detail, Code::kInvalidArgument, "options.variables: a dict, or zeros");
  if (o.message_count && !o.messages)
    return fail(detail, Code::kInvalidArgument, "options.messages is null");
  for (uint32_t i = 0; i < o.message_count; i++)
    if (!o.messages[i].role || !o.messages[i].content)
      return fail(detail, Code::kInvalidArgument, "a message's role or content is null");
  Maker maker(nullptr);
  (void)maker.inputs(o);
  *bytes = (maker.used() + 15) / 16 * 16;
  return {};
}

Span<const ValuePair> make_chat_values(const ingot_chat_options& options, uint8_t* memory) {
  return Maker(memory).inputs(options);
}

}  // namespace ingot::api
