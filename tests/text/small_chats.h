// SPDX-License-Identifier: Apache-2.0
// tests/text/small_chats.h - chat templates made and rendered in a test.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "tests/text/small_vocabularies.h"
#include "tools/text/rendered_chat.h"

namespace ingot::test {

using ChatJson = nlohmann::ordered_json;

constexpr const char* kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// One of every kind of instruction.
constexpr const char* kAllOfIt =
    "{% macro m(a, b=2) %}[{{ a }}{{ b }}{{ x }}]{% endmacro %}{% set ns = namespace(n=0) %}"
    "{% for k, v in {'a': 1, 'b': [1, 2.5]}.items() if v %}{% set ns.n = ns.n + loop.index %}"
    "{% if k == 'a' and not false or v is string %}{{ k ~ v }}{% else %}{% break %}{% endif %}"
    "{% else %}e{% endfor %}{% set t | upper %}a{{ m(1, b=3) }}{% endset %}{{ t[1:-1] }}"
    "{{ messages | map(attribute='role') | join(', ') if messages else strftime_now is defined }}"
    "{{ ['b', 'a'] | select('in', 'ab') | map('upper') | list | tojson }}{{ (1, 2)[0] }}"
    "{{ 1 < ns.n < 9 }}{{ range(3) | length }}{{ -ns.n }}{{ 'x y'.split(' ')[1] }}";

inline LoadedTokenizer chat_of(const std::string& source) {
  Vocabulary v = byte_vocabulary({});
  v.chat = chat::chat_template_of(source, "test");
  return loaded(v);
}

inline std::string rendered(const std::string& source,
                            const ChatJson& inputs = ChatJson::object()) {
  return chat::render_chat(chat_of(source).chat(), inputs, {2026, 3, 7, 1, 2, 3}, "test");
}

/// Inputs of texts and lists of them, one level deep.
class SmallValues {
 public:
  explicit SmallValues(const ChatJson& json) : value_(of(json)) {}
  Span<const text::ValuePair> pairs() const { return {value_.pairs, value_.count}; }

 private:
  text::Value of(const ChatJson& json) {
    if (json.is_array()) {
      std::vector<text::Value>& items = lists_.emplace_back();
      for (const ChatJson& item : json) items.push_back(of(item));
      return text::Value::list({items.data(), items.size()});
    }
    if (json.is_object()) {
      std::vector<text::ValuePair>& pairs = dicts_.emplace_back();
      for (const auto& [key, value] : json.items())
        pairs.push_back({text::Value::text(texts_.emplace_back(key).c_str()), of(value)});
      return text::Value::dict({pairs.data(), pairs.size()});
    }
    if (json.is_string())
      return text::Value::text(texts_.emplace_back(json.get<std::string>()).c_str());
    return json.is_boolean() ? text::Value::boolean(json.get<bool>())
                             : text::Value::whole(json.is_number() ? json.get<int64_t>() : 0);
  }
  std::deque<std::string> texts_;
  std::deque<std::vector<text::Value>> lists_;
  std::deque<std::vector<text::ValuePair>> dicts_;
  text::Value value_;
};

/// With exactly these budgets; bytes behind them stay as they are.
inline Code render_raw(const TemplateView& chat, const ChatJson& inputs, uint64_t steps,
                       size_t memory, size_t output, ErrorDetail* detail) {
  constexpr size_t kGuard = 64;
  const vocabulary::AlignedBytes values = vocabulary::aligned_bytes(memory + kGuard),
                                 out = vocabulary::aligned_bytes(output + kGuard);
  for (size_t i = 0; i < kGuard; i++) values[memory + i] = out[output + i] = 0xA5;
  const SmallValues small(inputs);
  text::RenderOptions options;
  options.steps = steps;
  options.now = {2026, 3, 7, 1, 2, 3};
  size_t count = 0;
  const Status status = text::render(chat, small.pairs(), options, {values.get(), memory},
                                     {out.get(), output}, &count, detail);
  bool is_kept = count <= output;
  for (size_t i = 0; i < kGuard; i++)
    is_kept = is_kept && values[memory + i] == 0xA5 && out[output + i] == 0xA5;
  return is_kept ? status.code() : Code::kInternal;
}
inline Code render_raw(const LoadedTokenizer& t, const ChatJson& inputs, uint64_t steps,
                       size_t memory, size_t output, ErrorDetail* detail) {
  return render_raw(t.chat(), inputs, steps, memory, output, detail);
}

}  // namespace ingot::test
