// SPDX-License-Identifier: Apache-2.0
// runtime/text/template_methods.cpp - methods of texts and dicts, as Python has them.
#include "runtime/text/template_machine.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

using Kind = ValueKind;

/// Where `one` begins in `all` from `at` on; all.size + 1: nowhere.
size_t find_in(Span<const uint8_t> all, Span<const uint8_t> one, size_t at) {
  for (; at + one.size <= all.size; at++)
    if (one.size == 0 || memcmp(all.data + at, one.data, one.size) == 0) return at;
  return all.size + 1;
}

size_t find_last(Span<const uint8_t> all, Span<const uint8_t> one, size_t end) {
  for (size_t at = end + 1; at-- > 0;)
    if (at + one.size <= end && memcmp(all.data + at, one.data, one.size) == 0) return at;
  return all.size + 1;
}

/// A line's end as str.splitlines() knows it: its bytes, or 0.
size_t line_end(Span<const uint8_t> text, size_t at) {
  const Char c = char_at(text.data + at, text.size - at);
  if (c.code == '\r' && at + 1 < text.size && text[at + 1] == '\n') return 2;
  const bool ends = (c.code >= 0x0A && c.code <= 0x0D) || (c.code >= 0x1C && c.code <= 0x1E) ||
                    c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029;
  return ends ? c.bytes : 0;
}

}  // namespace

bool is_python_space(uint32_t code, uint16_t traits) {
  return (traits & kSpace) != 0 || (code >= 0x1C && code <= 0x1F);
}

Status Machine::strip(const Value& v, const Value* characters, bool left, bool right, Value* out) {
  INGOT_TRY(charge(v.count));
  Span<const uint8_t> set{};
  const bool has_set = characters && !characters->is(Kind::kNone);
  if (has_set) {
    if (!characters->is(Kind::kText)) return error("strip takes a text");
    set = characters->span();
  }
  const auto goes = [&](const Char& c, const uint8_t* at) {
    if (!has_set) return is_python_space(c.code, c.traits);
    for (size_t i = 0; i < set.size;) {
      const size_t bytes = char_at(set.data + i, set.size - i).bytes;
      if (bytes == c.bytes && memcmp(set.data + i, at, bytes) == 0) return true;
      i += bytes;
    }
    return false;
  };
  size_t begin = 0, end = v.count;
  while (left && begin < end) {
    const Char c = char_at(v.bytes + begin, end - begin);
    if (!goes(c, v.bytes + begin)) break;
    INGOT_TRY(charge(set.size));
    begin += c.bytes;
  }
  while (right && begin < end) {
    size_t at = end - 1;
    while (at > begin && end - at < 4 && (v.bytes[at] & 0xC0) == 0x80) at--;
    const Char c = char_at(v.bytes + at, end - at);
    if (at + c.bytes != end || !goes(c, v.bytes + at)) break;
    INGOT_TRY(charge(set.size));
    end = at;
  }
  *out = Value::text(Span<const uint8_t>(v.bytes + begin, end - begin));
  out->is_safe = v.is_safe;
  return {};
}

Status Machine::replace(const Value& v, const Value& old, const Value& fresh, int64_t most,
                        Value* out) {
  if (!v.is(Kind::kText) || !old.is(Kind::kText) || !fresh.is(Kind::kText))
    return error("replace takes texts");
  INGOT_TRY(charge(v.count + uint64_t(v.count) * old.count / 64));
  const uint64_t begin = out_count;
  const Span<const uint8_t> text = v.span();
  size_t at = 0;
  while (most != 0 && at <= text.size) {
    const size_t found = find_in(text, old.span(), at);
    if (found > text.size) break;
    if (old.count == 0 && found == text.size) {
      INGOT_TRY(put(fresh.span()));
      break;
    }
    INGOT_TRY(put({text.data + at, found - at}));
    INGOT_TRY(put(fresh.span()));
    at = found + old.count;
    if (old.count == 0) {
      const size_t bytes = char_at(text.data + at, text.size - at).bytes;
      INGOT_TRY(put({text.data + at, bytes}));
      at += bytes;
    }
    most--;
  }
  INGOT_TRY(put({text.data + at, text.size - at}));
  return take_text(begin, out);
}

/// Of ASCII; another letter with two cases is refused.
Status Machine::change_case(const Value& v, int how, Value* out) {
  const uint64_t begin = out_count;
  INGOT_TRY(charge(v.count));
  bool at_start = true;
  for (uint32_t i = 0; i < v.count;) {
    const Char c = char_at(v.bytes + i, v.count - i);
    const bool to_upper = how == kCaseUpper || (how != kCaseLower && at_start);
    if (c.code >= 0x80 && c.is(to_upper ? kLower : kUpper))
      return error("the case of a letter beyond ASCII", {v.bytes + i, c.bytes});
    uint8_t byte = v.bytes[i];
    if (to_upper && byte >= 'a' && byte <= 'z') byte = uint8_t(byte - 32);
    if (!to_upper && byte >= 'A' && byte <= 'Z') byte = uint8_t(byte + 32);
    INGOT_TRY(c.bytes == 1 ? put_byte(byte) : put({v.bytes + i, c.bytes}));
    i += c.bytes;
    if (how == kCaseCapital)
      at_start = false;
    else if (how == kCaseTitle)
      at_start = !c.is(kUpper | kLower);
    else  // Jinja's filter: behind white space, hyphens and brackets that open
      at_start = is_python_space(c.code, c.traits) || byte == '-' || byte == '(' || byte == '{' ||
                 byte == '[' || byte == '<';
  }
  return take_text(begin, out);
}

Status Machine::join(const Value& separator, Span<const Value> items, Value* out) {
  const uint64_t begin = out_count;
  for (size_t i = 0; i < items.size; i++) {
    if (i) INGOT_TRY(put(separator.span()));
    INGOT_TRY(put_value(items[i]));
  }
  return take_text(begin, out);
}

Status Machine::split(const Value& v, Span<const Value> arguments, bool from_right, Value* out) {
  const Span<const uint8_t> text = v.span();
  const bool has_separator = is_given(arguments, 0) && !arguments[0].is(Kind::kNone);
  if ((has_separator && (!arguments[0].is(Kind::kText) || arguments[0].count == 0)) ||
      (is_given(arguments, 1) && !is_whole(arguments[1])))
    return error("split takes a text that is not empty, and an integer");
  if (from_right && !has_separator) return error("rsplit takes a text");
  const int64_t given = is_given(arguments, 1) ? arguments[1].integer : -1;
  const uint64_t most = given < 0 ? ~uint64_t{0} : uint64_t(given);
  const uint64_t looked_at = has_separator ? uint64_t(v.count) * arguments[0].count / 32 : 0;
  INGOT_TRY(charge(4 * uint64_t(v.count) + looked_at));
  // Counted, then taken: from its start, or from its end.
  Value* parts = nullptr;
  uint64_t count = 0;
  for (int round = 0; round < 2; round++) {
    uint64_t made = 0;
    const auto add = [&](size_t begin, size_t end, uint64_t place) {
      if (round) parts[place] = Value::text(Span<const uint8_t>(text.data + begin, end - begin));
      made++;
    };
    if (from_right) {
      size_t end = text.size;
      for (uint64_t splits = 0; splits < most; splits++) {
        const size_t found = find_last(text, arguments[0].span(), end);
        if (found > text.size) break;
        add(found + arguments[0].count, end, count - 1 - made);
        end = found;
      }
      add(0, end, count - 1 - made);
    } else if (has_separator) {
      size_t at = 0;
      for (uint64_t splits = 0; splits < most; splits++) {
        const size_t found = find_in(text, arguments[0].span(), at);
        if (found > text.size) break;
        add(at, found, made);
        at = found + arguments[0].count;
      }
      add(at, text.size, made);
    } else {
      const auto run = [&](size_t at, bool of_space) {
        while (at < text.size) {
          const Char c = char_at(text.data + at, text.size - at);
          if (is_python_space(c.code, c.traits) != of_space) break;
          at += c.bytes;
        }
        return at;
      };
      for (size_t at = run(0, true); at < text.size;) {
        const bool is_rest = made == most;
        size_t end = is_rest ? text.size : run(at, false);
        add(at, end, made);
        at = run(end, true);
      }
    }
    if (round == 0) INGOT_TRY(take_array(made, &parts));
    count = made;
  }
  return *out = Value::list({parts, size_t(count)}), Status();
}

/// "{}" and "{0}" alone.
Status Machine::format(const Value& v, Span<const Value> arguments, Value* out) {
  const uint64_t begin = out_count;
  const Span<const uint8_t> text = v.span();
  size_t next = 0;
  for (size_t i = 0; i < text.size; i++) {
    const uint8_t byte = text[i];
    if (byte != '{' && byte != '}') {
      INGOT_TRY(put_byte(byte));
      continue;
    }
    if (i + 1 < text.size && text[i + 1] == byte) {
      INGOT_TRY(put_byte(byte));
      i++;
      continue;
    }
    size_t index = 0, digits = 0;
    if (byte == '{')
      while (i + 1 + digits < text.size && digits < 3 && text[i + 1 + digits] >= '0' &&
             text[i + 1 + digits] <= '9')
        index = index * 10 + size_t(text[i + 1 + digits++] - '0');
    if (byte == '}' || i + 1 + digits >= text.size || text[i + 1 + digits] != '}')
      return error("format takes {} and {0} alone");
    if (digits == 0) index = next++;
    if (index >= arguments.size) return error("format has too few arguments");
    INGOT_TRY(put_value(arguments[index]));
    i += digits + 1;
  }
  return take_text(begin, out);
}

Status Machine::indent(const Value& v, Span<const Value> arguments, Value* out) {
  const bool first = is_given(arguments, 1) && truth(arguments[1]),
             blank = is_given(arguments, 2) && truth(arguments[2]);
  int64_t width = 4;
  Span<const uint8_t> with{};
  if (is_given(arguments, 0) && arguments[0].is(Kind::kText)) {
    with = arguments[0].span(), width = 1;
  } else {
    with = span_of(" ");
    if (is_given(arguments, 0)) {
      if (!is_whole(arguments[0])) return error("indent takes an integer or a text");
      width = arguments[0].integer;
    }
  }
  const auto put_indent = [&] {
    for (int64_t i = 0; i < width; i++) INGOT_TRY(put(with));
    return Status();
  };
  const uint64_t begin = out_count;
  const Span<const uint8_t> text = v.span();
  if (first) INGOT_TRY(put_indent());
  // A line end behind the text is added before it is split: one at its end leaves an empty line.
  for (size_t at = 0, line = 0; at <= text.size; line++) {
    size_t end = at, ending = 0;
    while (end < text.size && (ending = line_end(text, end)) == 0)
      end += char_at(text.data + end, text.size - end).bytes;
    if (line > 0) {
      INGOT_TRY(put_byte('\n'));
      if (blank || end > at) INGOT_TRY(put_indent());
    }
    INGOT_TRY(put({text.data + at, end - at}));
    // "\r" at the end and the added "\n" are one.
    if (end == text.size || (end + 1 == text.size && text[end] == '\r')) break;
    at = end + ending;
  }
  return take_text(begin, out);
}

Status Machine::method(TemplateMethod m, const Value& v, Span<const Value> arguments, Value* out) {
  using M = TemplateMethod;
  *out = {};
  INGOT_TRY(charge(0));
  if (v.is(Kind::kUndefined)) return undefined({});
  if (m == M::kAppend || m == M::kPop)
    return error("a method that changes its object, which templates may not");
  if (v.is(Kind::kDict)) {
    const auto is_view = [&] { return arguments.empty(); };
    if (m == M::kItems && is_view()) return pairs_of(v, ListKind::kView, out);
    if (m == M::kKeys && is_view()) {
      INGOT_TRY(filter(TemplateFilter::kList, v, {}, out));
      out->list_kind = ListKind::kView;
      return {};
    }
    if (m == M::kValues && is_view()) {
      Value* values = nullptr;
      INGOT_TRY(take_array(v.count, &values));
      for (uint32_t i = 0; i < v.count; i++) values[i] = v.pairs[i].value;
      return *out = list_of(ListKind::kView, {values, v.count}), Status();
    }
    if (m == M::kGet && arguments.size >= 1 && arguments.size <= 2) {
      const Value* found = nullptr;
      INGOT_TRY(find_pair(v, arguments[0], &found));
      *out = found ? *found : arguments.size == 2 ? arguments[1] : Value::none();
      return {};
    }
    return error("a dict has no such method, or one of other arguments");
  }
  if (v.is(Kind::kLoop) && m == M::kCycle && !arguments.empty())
    return *out = arguments[(v.loop->at ? v.loop->at - 1 : 0) % arguments.size], Status();
  if (is_sequence(v) && m == M::kCount && arguments.size == 1) {
    int64_t count = 0;
    for (uint32_t i = 0; i < v.count; i++) {
      bool same = false;
      INGOT_TRY(equals(v.items[i], arguments[0], &same));
      count += same;
    }
    return *out = Value::whole(count), Status();
  }
  if (!v.is(Kind::kText)) return error("a value has no such method");
  if (v.is_safe && m > M::kRightStrip) return error("a method of a text behind `safe`");
  const bool has_text = arguments.size > 0 && arguments[0].is(Kind::kText);
  const auto sides = [&](bool left, bool right) {
    if (arguments.size > 1) return error("strip takes one text");
    return strip(v, arguments.size ? &arguments[0] : nullptr, left, right, out);
  };
  const auto matches = [&](const Value& part, bool at_start) {
    return part.count <= v.count &&
           equal(part.span(), {at_start ? v.bytes : v.bytes + (v.count - part.count), part.count});
  };
  switch (m) {
    case M::kStrip: return sides(true, true);
    case M::kLeftStrip: return sides(true, false);
    case M::kRightStrip: return sides(false, true);
    case M::kSplit: return split(v, arguments, false, out);
    case M::kRightSplit: return split(v, arguments, true, out);
    case M::kStartsWith:
    case M::kEndsWith: {
      if (arguments.size != 1) return error("startswith and endswith take one text or tuple");
      bool holds = false;
      if (has_text) holds = matches(arguments[0], m == M::kStartsWith);
      if (!has_text &&
          !(arguments[0].is(Kind::kList) && arguments[0].list_kind == ListKind::kTuple))
        return error("startswith and endswith take a text or a tuple");
      for (uint32_t i = 0; !has_text && i < arguments[0].count && !holds; i++) {
        if (!arguments[0].items[i].is(Kind::kText)) return error("a part is no text");
        holds = matches(arguments[0].items[i], m == M::kStartsWith);
      }
      return *out = Value::boolean(holds), Status();
    }
    case M::kRemovePrefix:
    case M::kRemoveSuffix: {
      if (arguments.size != 1 || !has_text) return error("a text is removed");
      const bool at_start = m == M::kRemovePrefix;
      *out = v;
      if (!matches(arguments[0], at_start)) return {};
      out->count -= arguments[0].count;
      if (at_start) out->bytes += arguments[0].count;
      return {};
    }
    case M::kReplace: {
      if (arguments.size < 2 || arguments.size > 3 ||
          (arguments.size == 3 && !is_whole(arguments[2])))
        return error("replace takes two texts and an integer");
      return replace(v, arguments[0], arguments[1], arguments.size == 3 ? arguments[2].integer : -1,
                     out);
    }
    case M::kUpper: return change_case(v, kCaseUpper, out);
    case M::kLower: return change_case(v, kCaseLower, out);
    case M::kCapitalize: return change_case(v, kCaseCapital, out);
    case M::kTitle: return change_case(v, kCaseTitle, out);
    case M::kFormat: return format(v, arguments, out);
    case M::kFind:
    case M::kIndex:
    case M::kCount: {
      if (arguments.size != 1 || !has_text) return error("find, index and count take one text");
      INGOT_TRY(charge(uint64_t(v.count) + uint64_t(v.count) * arguments[0].count / 64));
      size_t at = find_in(v.span(), arguments[0].span(), 0);
      if (m == M::kIndex && at > v.count) return error("index: the text is not there");
      if (m != M::kCount) {
        *out = Value::whole(at > v.count ? -1 : int64_t(count_characters({v.bytes, at})));
        return {};
      }
      if (arguments[0].count == 0) return error("count of an empty text");
      int64_t count = 0;
      for (; at <= v.count; at = find_in(v.span(), arguments[0].span(), at + arguments[0].count))
        count++;
      return *out = Value::whole(count), Status();
    }
    case M::kJoin: {
      Span<const Value> items;
      if (arguments.size != 1 || arguments[0].is(Kind::kUndefined))
        return error("join takes texts");
      INGOT_TRY(items_of(arguments[0], &items));
      for (const Value& item : items)
        if (!item.is(Kind::kText)) return error("join takes texts");
      return join(v, items, out);
    }
    default: return error("a text has no such method");
  }
}

Status Machine::put_time(Span<const uint8_t> format) {
  static constexpr const char* kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};
  static constexpr const char* kMonths[] = {"January",   "February", "March",    "April",
                                            "May",       "June",     "July",     "August",
                                            "September", "October",  "November", "December"};
  const LocalTime& t = options.now;
  if (t.month < 1 || t.month > 12) return error("a month of 1 to 12");
  const auto put_two = [&](int n, int least = 2) {
    if (least == 3 && n < 100) INGOT_TRY(put_byte('0'));
    if (least > 1 && n < 10) INGOT_TRY(put_byte('0'));
    return put_integer(n);
  };
  const auto put_short = [&](const char* name) { return put({span_of(name).data, 3}); };
  static constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const bool leaps = (t.year % 4 == 0 && t.year % 100 != 0) || t.year % 400 == 0;
  const int day_of_year = kBefore[t.month - 1] + t.day + (leaps && t.month > 2);
  const int64_t past = int64_t(t.year) - 1;
  const int day_of_week = int((past * 365 + past / 4 - past / 100 + past / 400 + day_of_year) % 7);
  const char* day = kDays[day_of_week < 0 ? 0 : day_of_week];
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  for (size_t i = 0; i < format.size; i++) {
    if (format[i] != '%' || i + 1 == format.size) {
      INGOT_TRY(put_byte(format[i]));
      continue;
    }
    int least = 2;
    if (format[++i] == '-' && i + 1 < format.size) i++, least = 1;
    switch (format[i]) {
      case 'Y': INGOT_TRY(put_integer(t.year)); break;
      case 'y': INGOT_TRY(put_two(t.year % 100, least)); break;
      case 'm': INGOT_TRY(put_two(t.month, least)); break;
      case 'd': INGOT_TRY(put_two(t.day, least)); break;
      case 'H': INGOT_TRY(put_two(t.hour, least)); break;
      case 'I': INGOT_TRY(put_two(hour12, least)); break;
      case 'M': INGOT_TRY(put_two(t.minute, least)); break;
      case 'S': INGOT_TRY(put_two(t.second, least)); break;
      case 'j': INGOT_TRY(put_two(day_of_year, least == 1 ? 1 : 3)); break;
      case 'p': INGOT_TRY(put(t.hour < 12 ? "AM" : "PM")); break;
      case 'B': INGOT_TRY(put(kMonths[t.month - 1])); break;
      case 'b': INGOT_TRY(put_short(kMonths[t.month - 1])); break;
      case 'A': INGOT_TRY(put(day)); break;
      case 'a': INGOT_TRY(put_short(day)); break;
      case '%': INGOT_TRY(put_byte('%')); break;
      default: return error("strftime_now: a directive that is not known", {format.data + i, 1});
    }
  }
  return {};
}

}  // namespace ingot::text
