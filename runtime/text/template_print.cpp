// SPDX-License-Identifier: Apache-2.0
// runtime/text/template_print.cpp - values as text: str(), repr() and JSON as Python writes them.
#include <charconv>
#include <cmath>

#include "runtime/base/decimal.h"
#include "runtime/text/template_machine.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

using Kind = ValueKind;
constexpr char kHex[] = "0123456789abcdef";

}  // namespace

Status Machine::error(const char* what, Span<const uint8_t> name, Code code) const {
  const Status status = fail(detail, code, what);
  if (!detail) return status;
  size_t n = name.size < sizeof detail->name - 1 ? name.size : sizeof detail->name - 1;
  while (n < name.size && n > 0 && (name[n] & 0xC0) == 0x80) n--;  // whole characters
  if (n) memcpy(detail->name, name.data, n);
  detail->name[n] = 0;
  return status;
}

Status Machine::take(uint64_t bytes, uint8_t** at) {
  const uint64_t aligned = (low + 7) & ~uint64_t{7};
  if (aligned > high || high - aligned < bytes)
    return fail(detail, Code::kArenaTooSmall, "memory", memory.size - (high - low) + bytes + 8,
                memory.size);
  *at = memory.data + aligned;
  low = aligned + bytes;
  return {};
}

Status Machine::put(Span<const uint8_t> bytes) {
  INGOT_TRY(charge(bytes.size));
  if (out.size - out_count < bytes.size)
    return fail(detail, Code::kArenaTooSmall, "output", out_count + bytes.size, out.size);
  if (bytes.size) memmove(out.data + out_count, bytes.data, bytes.size);
  out_count += bytes.size;
  return {};
}

Status Machine::take_text(uint64_t begin, Value* value) {
  const uint64_t count = out_count - begin;
  uint8_t* bytes = nullptr;
  if (count > ~uint32_t{0}) return error("a text of 4 GiB");
  INGOT_TRY(charge(count));
  INGOT_TRY(take(count, &bytes));
  if (count) memcpy(bytes, out.data + begin, count);
  out_count = begin;
  *value = Value::text(Span<const uint8_t>(bytes, size_t(count)));
  return {};
}

Status Machine::text_of(const Value& v, Value* text) {
  if (v.is(Kind::kText)) return *text = v, Status();
  const uint64_t begin = out_count;
  INGOT_TRY(put_value(v));
  return take_text(begin, text);
}

Status Machine::put_integer(int64_t i) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, i);
  return put({reinterpret_cast<uint8_t*>(digits), size_t(end.ptr - digits)});
}

/// The shortest digits that say it, as repr() lays them out.
Status Machine::put_float(double d) {
  if (std::isnan(d)) return put("nan");
  if (std::isinf(d)) return put(d < 0 ? "-inf" : "inf");
  if (std::signbit(d)) INGOT_TRY(put_byte('-'));
  const DecimalDigits decimal = shortest_digits(d);
  const int count = decimal.count, exponent = decimal.exponent - 1;
  const auto put_digits = [&](int from, int to) {
    for (int i = from; i < to; i++)
      INGOT_TRY(put_byte(i >= 0 && i < count ? uint8_t(decimal.digits[i]) : uint8_t('0')));
    return Status();
  };
  if (exponent >= -4 && exponent < 16) {
    INGOT_TRY(exponent >= 0 ? put_digits(0, exponent + 1) : put("0"));
    INGOT_TRY(put_byte('.'));
    const int begin = exponent + 1;
    return put_digits(begin, begin < count ? count : begin + 1);
  }
  INGOT_TRY(put_digits(0, 1));
  if (count > 1) INGOT_TRY(put_byte('.'));
  INGOT_TRY(put_digits(1, count));
  INGOT_TRY(put(exponent < 0 ? "e-" : "e+"));
  const int size = exponent < 0 ? -exponent : exponent;
  if (size < 10) INGOT_TRY(put_byte('0'));
  return put_integer(size);
}

Status Machine::put_escaped(const Value& v) {
  if (v.is_safe) return put(v.span());
  for (const uint8_t byte : v.span()) {
    const char* entity = byte == '&'    ? "&amp;"
                         : byte == '<'  ? "&lt;"
                         : byte == '>'  ? "&gt;"
                         : byte == '\'' ? "&#39;"
                         : byte == '"'  ? "&#34;"
                                        : nullptr;
    INGOT_TRY(entity ? put(entity) : put_byte(byte));
  }
  return {};
}

Status Machine::put_value(const Value& v) {
  switch (v.kind) {
    case Kind::kUndefined: return charge(0);
    case Kind::kText: return put(v.span());
    default: return put_repr(v);
  }
}

Status Machine::put_repr(const Value& v, uint32_t depth) {
  if (depth > kMaxValueDepth)
    return fail(detail, Code::kLimitExceeded, "depth of a value", kMaxValueDepth, depth);
  const bool is_tuple = v.list_kind == ListKind::kTuple;
  switch (v.kind) {
    case Kind::kUndefined: return put("Undefined");
    case Kind::kNone: return put("None");
    case Kind::kBoolean: return put(v.integer ? "True" : "False");
    case Kind::kInteger: return put_integer(v.integer);
    case Kind::kFloat: return put_float(v.number);
    case Kind::kList:
      if (!is_sequence(v)) return error("a view, range or generator has no text");
      INGOT_TRY(put(is_tuple ? "(" : "["));
      for (uint32_t i = 0; i < v.count; i++) {
        if (i) INGOT_TRY(put(", "));
        INGOT_TRY(put_repr(v.items[i], depth + 1));
      }
      if (is_tuple && v.count == 1) INGOT_TRY(put(","));
      return put(is_tuple ? ")" : "]");
    case Kind::kDict:
      INGOT_TRY(put("{"));
      for (uint32_t i = 0; i < v.count; i++) {
        if (i) INGOT_TRY(put(", "));
        INGOT_TRY(put_repr(v.pairs[i].key, depth + 1));
        INGOT_TRY(put(": "));
        INGOT_TRY(put_repr(v.pairs[i].value, depth + 1));
      }
      return put("}");
    case Kind::kText: break;
    default: return error("a value has no text");
  }
  bool has_single = false, has_double = false;
  for (const uint8_t byte : v.span()) has_single |= byte == '\'', has_double |= byte == '"';
  const uint8_t quote = has_single && !has_double ? '"' : '\'';
  INGOT_TRY(put_byte(quote));
  for (uint32_t i = 0; i < v.count;) {
    const Char c = char_at(v.bytes + i, v.count - i);
    const uint32_t code = c.code;
    if (code == quote || code == '\\') {
      INGOT_TRY(put_byte('\\'));
      INGOT_TRY(put_byte(uint8_t(code)));
    } else if (code == '\n' || code == '\r' || code == '\t') {
      INGOT_TRY(put(code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t"));
    } else if (c.is(kControl) || (c.is(kSpace) && code != ' ')) {
      const int digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
      INGOT_TRY(put(digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U"));
      for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        INGOT_TRY(put_byte(uint8_t(kHex[code >> shift & 15])));
    } else {
      INGOT_TRY(put({v.bytes + i, c.bytes}));
    }
    i += c.bytes;
  }
  return put_byte(quote);
}

Status Machine::put_json_text(Span<const uint8_t> text, bool is_ascii) {
  const auto put_unit = [&](uint32_t unit) {
    INGOT_TRY(put("\\u"));
    for (int shift = 12; shift >= 0; shift -= 4)
      INGOT_TRY(put_byte(uint8_t(kHex[unit >> shift & 15])));
    return Status();
  };
  INGOT_TRY(put_byte('"'));
  for (size_t i = 0; i < text.size;) {
    const Char c = char_at(text.data + i, text.size - i);
    const uint32_t code = c.code;
    const char* escaped = code == '"'    ? "\\\""
                          : code == '\\' ? "\\\\"
                          : code == '\n' ? "\\n"
                          : code == '\r' ? "\\r"
                          : code == '\t' ? "\\t"
                          : code == '\b' ? "\\b"
                          : code == '\f' ? "\\f"
                                         : nullptr;
    if (escaped) {
      INGOT_TRY(put(escaped));
    } else if (code < 0x20 || (is_ascii && code >= 0x7F)) {
      if (code >= 0x10000) {
        INGOT_TRY(put_unit(0xD800 + ((code - 0x10000) >> 10)));
        INGOT_TRY(put_unit(0xDC00 + ((code - 0x10000) & 0x3FF)));
      } else {
        INGOT_TRY(put_unit(code));
      }
    } else {
      INGOT_TRY(put({text.data + i, c.bytes}));
    }
    i += c.bytes;
  }
  return put_byte('"');
}

Status Machine::put_json(const Value& v, const JsonStyle& style, uint32_t depth) {
  if (depth > kMaxValueDepth)
    return fail(detail, Code::kLimitExceeded, "depth of a value", kMaxValueDepth, depth);
  const auto new_line = [&](uint32_t at) {
    if (style.indent < 0) return Status();
    INGOT_TRY(put_byte('\n'));
    for (int64_t i = 0; i < style.indent * int64_t(at); i++) INGOT_TRY(put_byte(' '));
    return Status();
  };
  switch (v.kind) {
    case Kind::kNone: return put("null");
    case Kind::kBoolean: return put(v.integer ? "true" : "false");
    case Kind::kInteger: return put_integer(v.integer);
    case Kind::kFloat:
      if (std::isnan(v.number)) return put("NaN");
      if (std::isinf(v.number)) return put(v.number < 0 ? "-Infinity" : "Infinity");
      return put_float(v.number);
    case Kind::kText: return put_json_text(v.span(), style.is_ascii);
    case Kind::kList:
      if (!is_sequence(v)) return error("a view, range or generator is no JSON");
      if (v.count == 0) return put("[]");
      INGOT_TRY(put("["));
      for (uint32_t i = 0; i < v.count; i++) {
        if (i) INGOT_TRY(put(style.item_separator));
        INGOT_TRY(new_line(depth + 1));
        INGOT_TRY(put_json(v.items[i], style, depth + 1));
      }
      INGOT_TRY(new_line(depth));
      return put("]");
    case Kind::kDict: break;
    default: return error("a value is no JSON");
  }
  if (v.count == 0) return put("{}");
  Value sorted = v;
  if (style.sorts_keys) {
    Value by_key;
    INGOT_TRY(pairs_of(v, ListKind::kPlain, &by_key));
    const Value strict[] = {Value::boolean(true)};
    INGOT_TRY(sort({by_key.items, by_key.count}, {strict, 1}, true, &by_key));
    ValuePair* pairs = nullptr;
    INGOT_TRY(take_array(v.count, &pairs));
    for (uint32_t i = 0; i < v.count; i++)
      pairs[i] = {by_key.items[i].items[0], by_key.items[i].items[1]};
    sorted = Value::dict({pairs, v.count});
  }
  INGOT_TRY(put("{"));
  for (uint32_t i = 0; i < v.count; i++) {
    const Value& key = sorted.pairs[i].key;
    if (i) INGOT_TRY(put(style.item_separator));
    INGOT_TRY(new_line(depth + 1));
    if (key.is(Kind::kText)) {
      INGOT_TRY(put_json_text(key.span(), style.is_ascii));
    } else {
      if (!is_number(key) && !key.is(Kind::kNone)) return error("a key is no JSON");
      INGOT_TRY(put_byte('"'));
      INGOT_TRY(put_json(key, style, depth + 1));
      INGOT_TRY(put_byte('"'));
    }
    INGOT_TRY(put(style.key_separator));
    INGOT_TRY(put_json(sorted.pairs[i].value, style, depth + 1));
  }
  INGOT_TRY(new_line(depth));
  return put("}");
}

}  // namespace ingot::text
