// SPDX-License-Identifier: Apache-2.0
// runtime/text/template_access.cpp - attributes, items and slices of values.
#include "runtime/text/template_machine.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

using Kind = ValueKind;

/// Names of methods of Python's types: an attribute or a missing item of that name is a function.
/// Those that change their object are not among them, as in a sandbox.
constexpr const char* kDictMethods[] = {"copy", "fromkeys", "get", "items", "keys", "values"};
constexpr const char* kListMethods[] = {"copy", "count", "index"};
constexpr const char* kTextMethods[] = {
    "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
    "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
    "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
    "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
    "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
    "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
    "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
    "swapcase",     "title",       "translate", "upper",      "zfill"};

template <size_t N>
bool is_one_of(const char* const (&names)[N], Span<const uint8_t> name) {
  for (const char* one : names)
    if (equal(span_of(one), name)) return true;
  return false;
}

bool is_method(const Value& v, Span<const uint8_t> name) {
  switch (v.kind) {
    case Kind::kDict: return is_one_of(kDictMethods, name);
    case Kind::kList: return is_sequence(v) && is_one_of(kListMethods, name);
    case Kind::kText: return is_one_of(kTextMethods, name);
    default: return false;
  }
}

/// Bytes of the first `count` characters.
uint64_t bytes_of_characters(Span<const uint8_t> text, uint64_t count) {
  uint64_t at = 0;
  while (count > 0 && at < text.size) at += char_at(text.data + at, text.size - at).bytes, count--;
  return at;
}

/// The attributes of `loop`, behind the item that is at work.
bool loop_attribute(const Loop& loop, Span<const uint8_t> name, Value* out) {
  const int64_t index = int64_t(loop.at) - 1, count = loop.count;
  const struct {
    const char* name;
    Value value;
  } rows[] = {{"index", Value::whole(index + 1)},
              {"index0", Value::whole(index)},
              {"revindex", Value::whole(count - index)},
              {"revindex0", Value::whole(count - index - 1)},
              {"first", Value::boolean(index == 0)},
              {"last", Value::boolean(index + 1 == count)},
              {"length", Value::whole(count)},
              {"depth", Value::whole(1)},
              {"depth0", Value::whole(0)},
              {"previtem", index > 0 ? loop.items[index - 1] : Value{}},
              {"nextitem", index + 1 < count ? loop.items[index + 1] : Value{}}};
  for (const auto& row : rows)
    if (equal(span_of(row.name), name)) return *out = row.value, true;
  return false;
}

}  // namespace

Status Machine::attribute(const Value& of, Span<const uint8_t> name, Value* out) {
  *out = {};
  INGOT_TRY(charge(name.size));
  if (of.is(Kind::kUndefined)) return undefined(name);
  if (of.is(Kind::kNamespace)) {
    for (NamedValue* at = of.space->first; at; at = at->next) {
      INGOT_TRY(charge(name.size));
      if (equal(at->name, name)) return *out = at->value, Status();
    }
    return {};
  }
  if (of.is(Kind::kLoop)) {
    if (!loop_attribute(*of.loop, name, out)) return error("`loop` has no attribute", name);
    return {};
  }
  if (is_method(of, name)) return *out = Value::of(Kind::kFunction, 0), Status();
  if (!of.is(Kind::kDict)) return {};
  const Value* value = nullptr;
  INGOT_TRY(find_pair(of, Value::text(name), &value));
  if (value) *out = *value;
  return {};
}

Status Machine::item(const Value& of, const Value& key, Value* out) {
  *out = {};
  if (of.is(Kind::kUndefined))
    return undefined(key.is(Kind::kText) ? key.span() : Span<const uint8_t>{});
  if (of.is(Kind::kDict)) {
    const Value* value = nullptr;
    INGOT_TRY(find_pair(of, key, &value));
    if (value) return *out = *value, Status();
  }
  if (key.is(Kind::kText)) {
    if (of.is(Kind::kNamespace) || of.is(Kind::kLoop)) return attribute(of, key.span(), out);
    if (is_method(of, key.span())) *out = Value::of(Kind::kFunction, 0);
    return {};
  }
  const bool has_places =
      of.is(Kind::kText) ||
      (of.is(Kind::kList) && (is_sequence(of) || of.list_kind == ListKind::kRange));
  if (!is_whole(key) || !has_places) return {};
  int64_t count = 0, at = key.integer;
  INGOT_TRY(length_of(of, &count));
  if (at < 0) at += count;
  if (at < 0 || at >= count) return {};
  if (of.is(Kind::kList)) return *out = of.items[at], Status();
  const uint64_t begin = bytes_of_characters(of.span(), uint64_t(at));
  *out = Value::text(
      Span<const uint8_t>(of.bytes + begin, char_at(of.bytes + begin, of.count - begin).bytes));
  return {};
}

Status Machine::slice(const Value* four, Value* out) {
  const Value& of = four[0];
  *out = {};
  if (of.is(Kind::kUndefined)) return undefined({});
  for (int i = 1; i <= 3; i++)
    if (!is_whole(four[i]) && !four[i].is(Kind::kNone)) return error("a slice takes integers");
  if (!of.is(Kind::kText) && !is_sequence(of) &&
      !(of.is(Kind::kList) && of.list_kind == ListKind::kRange))
    return error("a value has no slices");
  const int64_t step = is_whole(four[3]) ? four[3].integer : 1;
  if (step == 0) return error("the step of a slice is zero");
  int64_t count = 0;
  INGOT_TRY(length_of(of, &count));
  // As Python clips them.
  const auto clip = [&](const Value& v, int64_t otherwise) {
    if (!is_whole(v)) return otherwise;
    int64_t at = v.integer;
    if (at < 0)
      at = at < -count ? (step < 0 ? -1 : 0) : at + count;
    else if (at >= count)
      at = step < 0 ? count - 1 : count;
    return at;
  };
  const int64_t begin = clip(four[1], step < 0 ? count - 1 : 0),
                end = clip(four[2], step < 0 ? -1 : count);
  if (of.is(Kind::kText) && step == 1) {
    const uint64_t first = bytes_of_characters(of.span(), uint64_t(begin));
    const uint64_t last = end <= begin ? first : bytes_of_characters(of.span(), uint64_t(end));
    *out = Value::text(Span<const uint8_t>(of.bytes + first, size_t(last - first)));
    return {};
  }
  Span<const Value> items;
  INGOT_TRY(items_of(of, &items));
  uint64_t wanted = 0;
  if (step > 0 && end > begin) wanted = uint64_t(end - begin - 1) / uint64_t(step) + 1;
  if (step < 0 && begin > end) wanted = uint64_t(begin - end - 1) / (~uint64_t(step) + 1) + 1;
  Value* taken = nullptr;
  INGOT_TRY(take_array(wanted, &taken));
  for (uint64_t i = 0; i < wanted; i++) taken[i] = items[size_t(begin + int64_t(i) * step)];
  if (of.is(Kind::kText)) return join(Value::text(""), {taken, size_t(wanted)}, out);
  *out = list_of(of.list_kind, {taken, size_t(wanted)});
  return {};
}

}  // namespace ingot::text
