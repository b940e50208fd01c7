// SPDX-License-Identifier: Apache-2.0
// runtime/text/template_values.cpp - values as Python has them: truth, equality, order and
// arithmetic.
#include <cmath>

#include "runtime/text/template_machine.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

using Kind = ValueKind;

}  // namespace

uint64_t count_characters(Span<const uint8_t> text) {
  uint64_t count = 0;
  for (uint64_t at = 0; at < text.size; count++)
    at += char_at(text.data + at, text.size - at).bytes;
  return count;
}

bool Machine::truth(const Value& v) const {
  switch (v.kind) {
    case Kind::kUndefined:
    case Kind::kNone: return false;
    case Kind::kBoolean:
    case Kind::kInteger: return v.integer != 0;
    case Kind::kFloat: return v.number != 0;
    case Kind::kList:
      if (v.list_kind == ListKind::kGenerator) return true;
      [[fallthrough]];
    case Kind::kText:
    case Kind::kDict: return v.count != 0;
    case Kind::kLoop: return v.loop->count != 0;
    default: return true;
  }
}

Status Machine::equals(const Value& a, const Value& b, bool* same, uint32_t depth) {
  if (depth > kMaxValueDepth)
    return fail(detail, Code::kLimitExceeded, "depth of a value", kMaxValueDepth, depth);
  INGOT_TRY(charge(a.is(Kind::kText) ? a.count : 0));
  *same = false;
  if (is_number(a) && is_number(b)) {
    *same = is_whole(a) && is_whole(b) ? a.integer == b.integer : number_of(a) == number_of(b);
    return {};
  }
  if (a.kind != b.kind) return {};
  switch (a.kind) {
    case Kind::kUndefined:
    case Kind::kNone: *same = true; return {};
    case Kind::kText: *same = equal(a.span(), b.span()); return {};
    case Kind::kList:
      if (a.count != b.count || a.list_kind != b.list_kind) return {};
      if (a.list_kind == ListKind::kGenerator) return *same = a.items == b.items, Status();
      for (uint32_t i = 0; i < a.count; i++) {
        INGOT_TRY(equals(a.items[i], b.items[i], same, depth + 1));
        if (!*same) return {};
      }
      *same = true;
      return {};
    case Kind::kDict:
      if (a.count != b.count) return {};
      for (uint32_t i = 0; i < a.count; i++) {
        const Value* other = nullptr;
        *same = false;
        INGOT_TRY(find_pair(b, a.pairs[i].key, &other, depth + 1));
        if (!other) return {};
        INGOT_TRY(equals(a.pairs[i].value, *other, same, depth + 1));
        if (!*same) return {};
      }
      *same = true;
      return {};
    default: *same = a.integer == b.integer; return {};
  }
}

Status Machine::order(const Value& a, const Value& b, int* order, uint32_t depth) {
  if (depth > kMaxValueDepth)
    return fail(detail, Code::kLimitExceeded, "depth of a value", kMaxValueDepth, depth);
  if (a.is(Kind::kUndefined) || b.is(Kind::kUndefined)) return undefined({});
  if (is_number(a) && is_number(b)) {
    if (is_whole(a) && is_whole(b))
      *order = a.integer < b.integer ? -1 : a.integer > b.integer;
    else
      *order = number_of(a) < number_of(b) ? -1 : number_of(a) > number_of(b);
    return {};
  }
  if (a.is(Kind::kText) && b.is(Kind::kText)) {  // UTF-8 sorts as its code points do
    const uint32_t common = a.count < b.count ? a.count : b.count;
    INGOT_TRY(charge(common));
    const int found = common ? memcmp(a.bytes, b.bytes, common) : 0;
    *order = found ? (found < 0 ? -1 : 1) : a.count < b.count ? -1 : a.count > b.count;
    return {};
  }
  if (is_sequence(a) && is_sequence(b) && a.list_kind == b.list_kind) {
    for (uint32_t i = 0; i < a.count && i < b.count; i++) {
      bool same = false;
      INGOT_TRY(equals(a.items[i], b.items[i], &same, depth + 1));
      if (!same) return this->order(a.items[i], b.items[i], order, depth + 1);
    }
    *order = a.count < b.count ? -1 : a.count > b.count;
    return {};
  }
  return error("values of these types have no order");
}

Status Machine::find_pair(const Value& dict, const Value& key, const Value** value,
                          uint32_t depth) {
  *value = nullptr;
  for (uint32_t i = 0; i < dict.count; i++) {
    bool same = false;
    INGOT_TRY(equals(dict.pairs[i].key, key, &same, depth));
    if (same) *value = &dict.pairs[i].value;
    if (same) return {};
  }
  return {};
}

Status Machine::contains(const Value& all, const Value& one, bool* found) {
  *found = false;
  if (all.is(Kind::kText)) {
    if (!one.is(Kind::kText)) return error("`in` a text takes a text");
    if (one.count > all.count) return {};
    INGOT_TRY(charge(uint64_t(all.count) + uint64_t(all.count) * one.count / 64));
    for (uint32_t i = 0; i + one.count <= all.count && !*found; i++)
      *found = one.count == 0 || memcmp(all.bytes + i, one.bytes, one.count) == 0;
    return {};
  }
  if (all.is(Kind::kDict)) {
    const Value* value = nullptr;
    INGOT_TRY(find_pair(all, one, &value));
    *found = value != nullptr;
    return {};
  }
  Span<const Value> items;
  INGOT_TRY(items_of(all, &items));
  for (const Value& item : items) {
    INGOT_TRY(equals(item, one, found));
    if (*found) return leave_begun(all), Status();
  }
  return {};
}

Status Machine::take_generator(uint64_t count, Value** items) {
  INGOT_TRY(take_array(count + 1, items));
  *(*items)++ = Value::whole(0);  // in front of the items: 1 they were given, 2 some of them
  return {};
}

void Machine::leave_begun(const Value& v) const {
  if (v.is(Kind::kList) && v.list_kind == ListKind::kGenerator)
    const_cast<Value*>(v.items)[-1].integer = 2;
}

Status Machine::characters_of(const Value& text, Span<const Value>* items) {
  Value* characters = nullptr;
  const uint64_t count = count_characters(text.span());
  INGOT_TRY(take_array(count, &characters));
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; i++) {
    const size_t bytes = char_at(text.bytes + at, text.count - at).bytes;
    characters[i] = Value::text(Span<const uint8_t>(text.bytes + at, bytes));
    at += bytes;
  }
  *items = {characters, size_t(count)};
  return {};
}

Status Machine::items_of(const Value& v, Span<const Value>* items) {
  switch (v.kind) {
    case Kind::kUndefined: *items = {}; return {};
    case Kind::kList:
      *items = {v.items, v.count};
      if (v.list_kind == ListKind::kGenerator) {
        int64_t& given = const_cast<Value*>(v.items)[-1].integer;
        if (given == 2) return error("what is left of a generator");
        if (given == 1) *items = {};
        given = 1;
      }
      return {};
    case Kind::kText: return characters_of(v, items);
    case Kind::kDict: {
      Value* keys = nullptr;
      INGOT_TRY(take_array(v.count, &keys));
      for (uint32_t i = 0; i < v.count; i++) keys[i] = v.pairs[i].key;
      *items = {keys, v.count};
      return {};
    }
    default: return error("a value is not iterable");
  }
}

Status Machine::length_of(const Value& v, int64_t* length) {
  switch (v.kind) {
    case Kind::kUndefined: *length = 0; return {};
    case Kind::kText:
      INGOT_TRY(charge(v.count));
      *length = int64_t(count_characters(v.span()));
      return {};
    case Kind::kList:
      if (v.list_kind == ListKind::kGenerator) return error("a generator has no length");
      [[fallthrough]];
    case Kind::kDict: *length = v.count; return {};
    case Kind::kLoop: *length = v.loop->count; return {};
    default: return error("a value has no length");
  }
}

Status Machine::unary(TemplateUnary op, const Value& a, Value* out) {
  if (op == TemplateUnary::kNot) return *out = Value::boolean(!truth(a)), Status();
  if (a.is(Kind::kUndefined)) return undefined({});
  if (!is_number(a)) return error("a sign takes a number");
  if (a.is(Kind::kFloat)) {
    *out = Value::real(op == TemplateUnary::kMinus ? -a.number : a.number);
    return {};
  }
  int64_t result = a.integer;
  if (op == TemplateUnary::kMinus && __builtin_sub_overflow(int64_t{0}, a.integer, &result))
    return error("a number beyond 64 bits");
  return *out = Value::whole(result), Status();
}

namespace {

/// Arithmetic of Python; false where it has no result.
bool whole_arithmetic(TemplateBinary op, int64_t a, int64_t b, int64_t* out) {
  switch (op) {
    case TemplateBinary::kAdd: return !__builtin_add_overflow(a, b, out);
    case TemplateBinary::kSubtract: return !__builtin_sub_overflow(a, b, out);
    case TemplateBinary::kMultiply: return !__builtin_mul_overflow(a, b, out);
    default: break;
  }
  if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
  const int64_t quotient = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
  *out = op == TemplateBinary::kFloorDivide ? quotient : a - quotient * b;
  return true;
}

bool float_arithmetic(TemplateBinary op, double a, double b, double* out) {
  switch (op) {
    case TemplateBinary::kAdd: *out = a + b; return true;
    case TemplateBinary::kSubtract: *out = a - b; return true;
    case TemplateBinary::kMultiply: *out = a * b; return true;
    default: break;
  }
  if (b == 0) return false;
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  switch (op) {
    case TemplateBinary::kDivide: *out = a / b; return true;
    case TemplateBinary::kFloorDivide: *out = std::floor((a - rest) / b + 0.5); return true;
    default: *out = rest; return true;
  }
}

}  // namespace

Status Machine::binary(TemplateBinary op, const Value& a, const Value& b, Value* out) {
  bool holds = false;
  int found = 0;
  switch (op) {
    case TemplateBinary::kEqual:
    case TemplateBinary::kNotEqual:
      INGOT_TRY(equals(a, b, &holds));
      return *out = Value::boolean(holds == (op == TemplateBinary::kEqual)), Status();
    case TemplateBinary::kIn:
    case TemplateBinary::kNotIn:
      INGOT_TRY(contains(b, a, &holds));
      return *out = Value::boolean(holds == (op == TemplateBinary::kIn)), Status();
    case TemplateBinary::kLess:
      INGOT_TRY(order(a, b, &found));
      return *out = Value::boolean(found < 0), Status();
    case TemplateBinary::kLessEqual:
      INGOT_TRY(order(a, b, &found));
      return *out = Value::boolean(found <= 0), Status();
    case TemplateBinary::kGreater:
      INGOT_TRY(order(a, b, &found));
      return *out = Value::boolean(found > 0), Status();
    case TemplateBinary::kGreaterEqual:
      INGOT_TRY(order(a, b, &found));
      return *out = Value::boolean(found >= 0), Status();
    default: break;
  }
  if (a.is(Kind::kUndefined) || b.is(Kind::kUndefined)) return undefined({});
  if (is_number(a) && is_number(b)) {
    if (is_whole(a) && is_whole(b) && op != TemplateBinary::kDivide) {
      int64_t result = 0;
      if (!whole_arithmetic(op, a.integer, b.integer, &result))
        return error("a division by zero, or a number beyond 64 bits");
      return *out = Value::whole(result), Status();
    }
    double result = 0;
    if (!float_arithmetic(op, number_of(a), number_of(b), &result))
      return error("a division by zero");
    return *out = Value::real(result), Status();
  }
  if (op == TemplateBinary::kAdd && a.is(Kind::kText) && b.is(Kind::kText)) {
    const uint64_t begin = out_count;
    const bool is_safe = a.is_safe || b.is_safe;
    if (!is_safe && low >= a.count &&
        a.bytes + a.count == memory.data + low) {  // grows where it lies
      uint8_t* more = nullptr;
      INGOT_TRY(charge(b.count));
      if (high - low < b.count || uint64_t(a.count) + b.count > ~uint32_t{0})
        return fail(detail, Code::kArenaTooSmall, "memory", memory.size - (high - low) + b.count,
                    memory.size);
      more = memory.data + low;
      if (b.count) memmove(more, b.bytes, b.count);
      low += b.count;
      *out = a;
      out->count += b.count;
    } else {
      INGOT_TRY(is_safe ? put_escaped(a) : put(a.span()));
      INGOT_TRY(is_safe ? put_escaped(b) : put(b.span()));
      INGOT_TRY(take_text(begin, out));
    }
    out->is_safe = is_safe;
    return {};
  }
  if (op == TemplateBinary::kAdd && is_sequence(a) && is_sequence(b) &&
      a.list_kind == b.list_kind) {
    Value* items = nullptr;
    INGOT_TRY(take_array(uint64_t(a.count) + b.count, &items));
    for (uint32_t i = 0; i < a.count; i++) items[i] = a.items[i];
    for (uint32_t i = 0; i < b.count; i++) items[a.count + i] = b.items[i];
    *out = list_of(a.list_kind, {items, size_t(a.count) + b.count});
    return {};
  }
  if (op == TemplateBinary::kMultiply && (a.is(Kind::kText) || b.is(Kind::kText)) &&
      (is_whole(a) || is_whole(b))) {
    const Value &text = a.is(Kind::kText) ? a : b, &times = a.is(Kind::kText) ? b : a;
    const uint64_t begin = out_count;
    for (int64_t i = 0; i < times.integer && text.count; i++) INGOT_TRY(put(text.span()));
    return take_text(begin, out);
  }
  return error("an operator has no meaning for values of these types");
}

Status Machine::dict_of(const Value* names_and_values, uint32_t pairs, Value* out) {
  ValuePair* made = nullptr;
  INGOT_TRY(take_array(pairs, &made));
  uint32_t count = 0;
  for (uint32_t i = 0; i < pairs; i++) {
    const Value &key = names_and_values[2 * i], &value = names_and_values[2 * i + 1];
    const Kind k = key.kind;
    if (k > Kind::kText) return error("a key of a dict is a text or a number");
    const Value* known = nullptr;
    INGOT_TRY(find_pair(Value::dict({made, count}), key, &known));
    if (known)
      *const_cast<Value*>(known) = value;
    else
      made[count++] = {key, value};
  }
  *out = Value::dict({made, count});
  return {};
}

}  // namespace ingot::text
