// SPDX-License-Identifier: Apache-2.0
// runtime/text/template_filters.cpp - filters, tests and built-in functions, as Jinja has them.
#include <charconv>
#include <cmath>

#include "runtime/base/decimal.h"
#include "runtime/text/template_machine.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

using Kind = ValueKind;

int64_t integer_or(Span<const Value> arguments, size_t i, int64_t otherwise) {
  return is_given(arguments, i) && is_whole(arguments[i]) ? arguments[i].integer : otherwise;
}

}  // namespace

Status Machine::filter(TemplateFilter f, const Value& v, Span<const Value> arguments, Value* out) {
  using F = TemplateFilter;
  *out = {};
  INGOT_TRY(charge(0));
  const bool keeps_safe = f == F::kSafe || f == F::kString || f == F::kTrim || f == F::kDefault ||
                          f == F::kLength || f == F::kToJson;
  if (v.is_safe && !keeps_safe) return error("a filter of a text behind `safe`");
  Span<const Value> items;
  Value text;
  switch (f) {
    case F::kSafe:
      INGOT_TRY(text_of(v, out));
      out->is_safe = true;
      return {};
    case F::kString: return text_of(v, out);
    case F::kTrim:
      INGOT_TRY(text_of(v, &text));
      return strip(text, is_given(arguments, 0) ? &arguments[0] : nullptr, true, true, out);
    case F::kLength: *out = Value::whole(0); return length_of(v, &out->integer);
    case F::kToJson: {
      JsonStyle style;
      style.is_ascii = is_given(arguments, 0) && truth(arguments[0]);
      if (is_given(arguments, 1) && !arguments[1].is(Kind::kNone)) {
        constexpr int64_t kMaxIndent = 1000;
        if (!is_whole(arguments[1]) || arguments[1].integer > kMaxIndent)
          return error("the indent of tojson is an integer of at most 1000");
        style.indent = arguments[1].integer < 0 ? 0 : arguments[1].integer;
      }
      style.item_separator = span_of(style.indent >= 0 ? "," : ", ");
      style.key_separator = span_of(": ");
      if (is_given(arguments, 2) && !arguments[2].is(Kind::kNone)) {
        const Value& pair = arguments[2];
        if (!pair.is(Kind::kList) || pair.count != 2 || !pair.items[0].is(Kind::kText) ||
            !pair.items[1].is(Kind::kText))
          return error("the separators of tojson are two texts");
        style.item_separator = pair.items[0].span(), style.key_separator = pair.items[1].span();
      }
      style.sorts_keys = is_given(arguments, 3) && truth(arguments[3]);
      const uint64_t begin = out_count;
      INGOT_TRY(put_json(v, style));
      return take_text(begin, out);
    }
    case F::kJoin: {
      INGOT_TRY(items_of(v, &items));
      if (is_given(arguments, 1)) {
        const Value three[] = {v, arguments[1], Value{}};
        INGOT_TRY(map_attribute(three, &text));
        INGOT_TRY(items_of(text, &items));
      }
      Value separator = Value::text("");
      if (is_given(arguments, 0)) INGOT_TRY(text_of(arguments[0], &separator));
      return join(separator, items, out);
    }
    case F::kUpper: INGOT_TRY(text_of(v, &text)); return change_case(text, kCaseUpper, out);
    case F::kLower: INGOT_TRY(text_of(v, &text)); return change_case(text, kCaseLower, out);
    case F::kCapitalize: INGOT_TRY(text_of(v, &text)); return change_case(text, kCaseCapital, out);
    case F::kTitle: INGOT_TRY(text_of(v, &text)); return change_case(text, kCaseWords, out);
    case F::kDefault:
      if (v.is(Kind::kUndefined) || (is_given(arguments, 1) && truth(arguments[1]) && !truth(v)))
        *out = arguments.size > 0 ? arguments[0] : Value::text("");
      else
        *out = v;
      return {};
    case F::kFirst:
    case F::kLast:
      if (f == F::kLast && v.is(Kind::kList) && v.list_kind == ListKind::kGenerator)
        return error("the last item of a generator");
      INGOT_TRY(items_of(v, &items));
      if (!items.empty()) *out = items[f == F::kFirst ? 0 : items.size - 1];
      if (!items.empty()) leave_begun(v);
      return {};
    case F::kItems:
      if (v.is(Kind::kUndefined)) return *out = Value::list({}), Status();
      return pairs_of(v, ListKind::kGenerator, out);
    case F::kReplace: {
      Value old, fresh;
      if (arguments.size < 2) return error("replace takes two texts");
      INGOT_TRY(text_of(v, &text));
      INGOT_TRY(text_of(arguments[0], &old));
      INGOT_TRY(text_of(arguments[1], &fresh));
      return replace(text, old, fresh, integer_or(arguments, 2, -1), out);
    }
    case F::kList: INGOT_TRY(items_of(v, &items)); return *out = Value::list(items), Status();
    case F::kIndent: INGOT_TRY(text_of(v, &text)); return indent(text, arguments, out);
    case F::kDictSort: {
      Value pairs;
      INGOT_TRY(pairs_of(v, ListKind::kPlain, &pairs));
      if (is_given(arguments, 1)) return error("dictsort by value is not known");
      const Value how[] = {arguments.size > 0 ? arguments[0] : Value{},
                           arguments.size > 2 ? arguments[2] : Value{}};
      return sort({pairs.items, pairs.count}, {how, 2}, true, out);
    }
    case F::kSort: {
      INGOT_TRY(items_of(v, &items));  // reverse, case_sensitive, attribute
      const Value how[] = {arguments.size > 1 ? arguments[1] : Value{},
                           arguments.size > 0 ? arguments[0] : Value{},
                           arguments.size > 2 ? arguments[2] : Value{}};
      return sort(items, {how, 3}, false, out);
    }
    case F::kInt:
      if (is_given(arguments, 1)) return error("int with a base is not known");
      return to_integer(v, arguments.size > 0 ? arguments[0] : Value::whole(0), out);
    case F::kFloat: return to_float(v, arguments.size > 0 ? arguments[0] : Value::real(0), out);
    case F::kAbs:
      if (!is_number(v)) return error("abs takes a number");
      if (!truth(v) || number_of(v) > 0) return *out = v, Status();
      return unary(TemplateUnary::kMinus, v, out);
    case F::kUnique: INGOT_TRY(items_of(v, &items)); return unique(items, out);
    case F::kMin:
    case F::kMax: INGOT_TRY(items_of(v, &items)); return extreme(items, f == F::kMax, out);
    case F::kSum: {
      INGOT_TRY(items_of(v, &items));
      Value sum = Value::whole(0), next;
      for (const Value& item : items) {
        INGOT_TRY(binary(TemplateBinary::kAdd, sum, item, &next));
        sum = next;
      }
      return *out = sum, Status();
    }
    case F::kReverse: {
      INGOT_TRY(items_of(v, &items));
      Value* turned = nullptr;
      const bool is_lazy =
          !v.is(Kind::kText) && !(v.is(Kind::kList) && v.list_kind == ListKind::kGenerator);
      INGOT_TRY(take_generator(items.size, &turned));
      for (size_t i = 0; i < items.size; i++) turned[i] = items[items.size - 1 - i];
      if (v.is(Kind::kText)) return join(Value::text(""), {turned, items.size}, out);
      *out = list_of(is_lazy ? ListKind::kGenerator : ListKind::kPlain, {turned, items.size});
      return {};
    }
    case F::kEnd: break;
  }
  return error("no filter");
}

Status Machine::pairs_of(const Value& dict, ListKind kind, Value* out) {
  if (!dict.is(Kind::kDict)) return error("only a dict has items");
  Value *pairs = nullptr, *both = nullptr;
  INGOT_TRY(take_generator(dict.count, &pairs));
  INGOT_TRY(take_array(2 * uint64_t(dict.count), &both));
  for (uint32_t i = 0; i < dict.count; i++) {
    both[2 * i] = dict.pairs[i].key, both[2 * i + 1] = dict.pairs[i].value;
    pairs[i] = list_of(ListKind::kTuple, {both + 2 * i, 2});
  }
  return *out = list_of(kind, {pairs, dict.count}), Status();
}

Status Machine::test(TemplateTest t, const Value& v, const Value* argument, bool* holds) {
  using T = TemplateTest;
  const bool takes_one = t >= T::kDivisibleBy;
  if (takes_one != (argument != nullptr)) return error("a test has another number of arguments");
  INGOT_TRY(charge(0));
  Value result;
  switch (t) {
    case T::kDefined: *holds = !v.is(Kind::kUndefined); return {};
    case T::kUndefined: *holds = v.is(Kind::kUndefined); return {};
    case T::kNone: *holds = v.is(Kind::kNone); return {};
    case T::kString: *holds = v.is(Kind::kText); return {};
    case T::kMapping: *holds = v.is(Kind::kDict); return {};
    case T::kIterable:
      *holds = v.is(Kind::kUndefined) || v.is(Kind::kText) || v.is(Kind::kList) ||
               v.is(Kind::kDict) || v.is(Kind::kLoop);
      return {};
    case T::kSequence:
      *holds = v.is(Kind::kUndefined) || v.is(Kind::kText) || v.is(Kind::kDict) || is_sequence(v) ||
               (v.is(Kind::kList) && v.list_kind == ListKind::kRange);
      return {};
    case T::kBoolean: *holds = v.is(Kind::kBoolean); return {};
    case T::kTrue: *holds = v.is(Kind::kBoolean) && v.integer; return {};
    case T::kFalse: *holds = v.is(Kind::kBoolean) && !v.integer; return {};
    case T::kInteger: *holds = v.is(Kind::kInteger); return {};
    case T::kFloat: *holds = v.is(Kind::kFloat); return {};
    case T::kNumber: *holds = is_number(v); return {};
    case T::kCallable:
      *holds = v.is(Kind::kUndefined) || v.is(Kind::kMacro) || v.is(Kind::kFunction);
      return {};
    case T::kOdd:
    case T::kEven:
      INGOT_TRY(binary(TemplateBinary::kRemainder, v, Value::whole(2), &result));
      *holds = (number_of(result) == 1) == (t == T::kOdd);
      return {};
    case T::kDivisibleBy:
      INGOT_TRY(binary(TemplateBinary::kRemainder, v, *argument, &result));
      *holds = !truth(result);
      return {};
    case T::kEqual:
    case T::kNotEqual:
      INGOT_TRY(equals(v, *argument, holds));
      *holds = *holds == (t == T::kEqual);
      return {};
    case T::kIn: return contains(*argument, v, holds);
    case T::kLess:
    case T::kLessEqual:
    case T::kGreater:
    case T::kGreaterEqual: {
      int found = 0;
      INGOT_TRY(order(v, *argument, &found));
      *holds = t == T::kLess        ? found < 0
               : t == T::kLessEqual ? found <= 0
               : t == T::kGreater   ? found > 0
                                    : found >= 0;
      return {};
    }
    case T::kEnd: break;
  }
  return error("no test");
}

/// "a.b.0" of a value; `otherwise` in the place of what is undefined on the way.
Status Machine::path(const Value& of, const Value& name, const Value& otherwise, Value* out) {
  *out = of;
  if (is_whole(name)) return item(of, name, out);
  if (!name.is(Kind::kText)) return error("the name of an attribute is a text");
  const Span<const uint8_t> text = name.span();
  for (size_t begin = 0; begin <= text.size;) {
    size_t end = begin;
    bool is_index = true;
    for (; end < text.size && text[end] != '.'; end++)
      is_index = is_index && text[end] >= '0' && text[end] <= '9';
    const Span<const uint8_t> part{text.data + begin, end - begin};
    Value key = Value::text(part), next;
    if (is_index && part.size > 0 && part.size < 10) INGOT_TRY(to_integer(key, {}, &key));
    INGOT_TRY(item(*out, key, &next));
    *out = next.is(Kind::kUndefined) ? otherwise : next;
    begin = end + 1;
  }
  return {};
}

Status Machine::map_attribute(const Value* three, Value* out) {
  Span<const Value> items;
  Value* mapped = nullptr;
  if (truth(three[0])) INGOT_TRY(items_of(three[0], &items));
  INGOT_TRY(take_generator(items.size, &mapped));
  for (size_t i = 0; i < items.size; i++) {
    INGOT_TRY(path(items[i], three[1], three[2], &mapped[i]));
  }
  return *out = list_of(ListKind::kGenerator, {mapped, items.size}), Status();
}

Status Machine::map_filter(TemplateFilter f, const Value& v, Value* out) {
  Span<const Value> items;
  Value* mapped = nullptr;
  if (truth(v)) INGOT_TRY(items_of(v, &items));
  INGOT_TRY(take_generator(items.size, &mapped));
  for (size_t i = 0; i < items.size; i++) INGOT_TRY(filter(f, items[i], {}, &mapped[i]));
  return *out = list_of(ListKind::kGenerator, {mapped, items.size}), Status();
}

Status Machine::select(const TemplateInstruction& i, const Value* three, Value* out) {
  Span<const Value> items;
  Value* taken = nullptr;
  if (truth(three[0])) INGOT_TRY(items_of(three[0], &items));
  INGOT_TRY(take_generator(items.size, &taken));
  size_t count = 0;
  for (const Value& item : items) {
    Value looked_at = item;
    if (i.a & kSelectAttribute) INGOT_TRY(path(item, three[1], {}, &looked_at));
    bool holds = false;
    if (i.a & kSelectTruth)
      holds = truth(looked_at);
    else
      INGOT_TRY(
          test(TemplateTest(i.b), looked_at, i.a & kSelectArgument ? three + 2 : nullptr, &holds));
    if (holds != ((i.a & kSelectRejects) != 0)) taken[count++] = item;
  }
  return *out = list_of(ListKind::kGenerator, {taken, count}), Status();
}

namespace {

/// Texts are compared in lower case, but for `strict`.
Status sort_key(Machine* m, const Value& v, bool strict, Value* key) {
  if (v.is(Kind::kText) && !strict) return m->change_case(v, kCaseLower, key);
  return *key = v, Status();
}

}  // namespace

/// `arguments`: case_sensitive, reverse, attribute. Of pairs, by their first part.
Status Machine::sort(Span<const Value> items, Span<const Value> arguments, bool is_pairs,
                     Value* out) {
  const bool strict = is_given(arguments, 0) && truth(arguments[0]),
             turned = is_given(arguments, 1) && truth(arguments[1]);
  Value *sorted = nullptr, *keys = nullptr;
  INGOT_TRY(take_array(items.size, &sorted));
  INGOT_TRY(take_array(items.size, &keys));
  for (size_t i = 0; i < items.size; i++) {
    Value by = items[i], key;
    if (is_pairs) by = items[i].items[0];
    if (is_given(arguments, 2)) INGOT_TRY(path(items[i], arguments[2], {}, &by));
    INGOT_TRY(sort_key(this, by, strict, &key));
    size_t at = i;
    for (; at > 0; at--) {  // behind what is equal
      int found = 0;
      INGOT_TRY(charge(0));
      INGOT_TRY(order(keys[at - 1], key, &found));
      if (turned ? found >= 0 : found <= 0) break;
      keys[at] = keys[at - 1], sorted[at] = sorted[at - 1];
    }
    keys[at] = key, sorted[at] = items[i];
  }
  return *out = Value::list({sorted, items.size}), Status();
}

Status Machine::unique(Span<const Value> items, Value* out) {
  Value *taken = nullptr, *keys = nullptr;
  INGOT_TRY(take_generator(items.size, &taken));
  INGOT_TRY(take_array(items.size, &keys));
  size_t count = 0;
  for (const Value& item : items) {
    Value key;
    bool known = false;
    INGOT_TRY(sort_key(this, item, false, &key));
    for (size_t i = 0; i < count && !known; i++) INGOT_TRY(equals(keys[i], key, &known));
    if (!known) keys[count] = key, taken[count++] = item;
  }
  return *out = list_of(ListKind::kGenerator, {taken, count}), Status();
}

Status Machine::extreme(Span<const Value> items, bool is_max, Value* out) {
  Value best;
  for (size_t i = 0; i < items.size; i++) {
    Value key;
    int found = 0;
    INGOT_TRY(sort_key(this, items[i], false, &key));
    if (i > 0) INGOT_TRY(order(key, best, &found));
    if (i == 0 || (is_max ? found > 0 : found < 0)) best = key, *out = items[i];
  }
  return {};
}

Status Machine::to_integer(const Value& v, const Value& fallback, Value* out) {
  *out = fallback;
  if (is_whole(v)) return *out = Value::whole(v.integer), Status();
  Value number = v;
  if (v.is(Kind::kText)) {
    Value text;
    INGOT_TRY(strip(v, nullptr, true, true, &text));
    const char *begin = reinterpret_cast<const char*>(text.bytes), *end = begin + text.count;
    if (begin != end && *begin == '+') begin++;
    int64_t whole = 0;
    const auto read = std::from_chars(begin, end, whole);
    if (read.ec == std::errc() && read.ptr == end) return *out = Value::whole(whole), Status();
    if (read.ec == std::errc::result_out_of_range) return error("a number beyond 64 bits");
    INGOT_TRY(to_float(v, {}, &number));
  }
  if (!number.is(Kind::kFloat) || !std::isfinite(number.number)) return {};
  if (std::fabs(number.number) >= 9e18) return error("a number beyond 64 bits");
  return *out = Value::whole(int64_t(number.number)), Status();
}

Status Machine::to_float(const Value& v, const Value& fallback, Value* out) {
  *out = fallback;
  if (is_number(v)) return *out = Value::real(number_of(v)), Status();
  if (!v.is(Kind::kText)) return {};
  Value text;
  INGOT_TRY(strip(v, nullptr, true, true, &text));
  const char* const begin = reinterpret_cast<const char*>(text.bytes);
  double number = 0;
  const DecimalRead read = read_decimal(begin, text.count, &number);
  if (read == DecimalRead::kTooLarge) return error("a number beyond f64");
  if (read == DecimalRead::kRead) *out = Value::real(number);
  return {};
}

Status Machine::built_in(TemplateBuiltIn b, Span<const Value> arguments, Value* out) {
  using B = TemplateBuiltIn;
  *out = {};
  switch (b) {
    case B::kNamespace: {
      if (arguments.size % 2) return error("namespace takes names and values");
      Namespace* space = nullptr;
      INGOT_TRY(take_array(1, &space));
      NamedValue** at = &space->first;
      for (size_t i = 0; i < arguments.size; i += 2) {
        if (!arguments[i].is(Kind::kText)) return error("namespace takes names and values");
        INGOT_TRY(take_array(1, at));
        (*at)->name = arguments[i].span(), (*at)->value = arguments[i + 1];
        at = &(*at)->next;
      }
      out->kind = Kind::kNamespace;
      out->space = space;
      return {};
    }
    case B::kDict:
      if (arguments.size % 2) return error("dict takes names and values");
      return dict_of(arguments.data, uint32_t(arguments.size / 2), out);
    case B::kRange: {
      for (const Value& v : arguments)
        if (!is_whole(v)) return error("range takes integers");
      if (arguments.empty() || arguments.size > 3) return error("range takes 1 to 3 integers");
      const bool has_begin = arguments.size > 1;
      const int64_t begin = has_begin ? arguments[0].integer : 0,
                    end = arguments[has_begin ? 1 : 0].integer,
                    step = arguments.size > 2 ? arguments[2].integer : 1;
      constexpr int64_t kMaxRange = 100000;  // of a sandbox
      if (step == 0) return error("the step of a range is zero");
      const int64_t distance = step > 0 ? end : begin, from = step > 0 ? begin : end;
      int64_t span = 0;
      if (step == INT64_MIN || (distance > from && __builtin_sub_overflow(distance, from, &span)))
        return error("a range beyond 64 bits");
      const int64_t stride = step < 0 ? -step : step;
      const int64_t count = span > 0 ? (span - 1) / stride + 1 : 0;
      if (count > kMaxRange)
        return fail(detail, Code::kLimitExceeded, "range", kMaxRange, uint64_t(count));
      Value* items = nullptr;
      INGOT_TRY(take_array(uint64_t(count), &items));
      for (int64_t i = 0; i < count; i++) items[i] = Value::whole(begin + i * step);
      return *out = list_of(ListKind::kRange, {items, size_t(count)}), Status();
    }
    case B::kRaise: {
      Value message;
      if (arguments.size != 1) return error("raise_exception takes one text");
      INGOT_TRY(text_of(arguments[0], &message));
      out_count = 0;
      INGOT_TRY(put(message.span()));
      return error("the template raised an exception", message.span(), Code::kInvalidArgument);
    }
    case B::kNow: {
      if (arguments.size != 1 || !arguments[0].is(Kind::kText))
        return error("strftime_now takes one text");
      if (options.now.year == 0) return error("the time is not known");
      const uint64_t begin = out_count;
      INGOT_TRY(put_time(arguments[0].span()));
      return take_text(begin, out);
    }
    case B::kEnd: break;
  }
  return error("no function");
}

}  // namespace ingot::text
