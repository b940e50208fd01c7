// SPDX-License-Identifier: Apache-2.0
#include "tools/text/rendered_chat.h"

#include <ctime>
#include <deque>
#include <vector>

#include "tools/files/failure.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::chat {
namespace {

using Json = nlohmann::ordered_json;
using host::Exit;
using text::Value;
using text::ValuePair;

/// Values that stay where they are.
class Values {
 public:
  Value of(const Json& json) {
    switch (json.type()) {
      case Json::value_t::boolean: return Value::boolean(json.get<bool>());
      case Json::value_t::number_unsigned:
        if (json.get<uint64_t>() > uint64_t{INT64_MAX})
          host::fail(Exit::kUnsupported,
                     "a chat template takes integers of 64 bits, found " + json.dump());
        [[fallthrough]];
      case Json::value_t::number_integer: return Value::whole(json.get<int64_t>());
      case Json::value_t::number_float: return Value::real(json.get<double>());
      case Json::value_t::string: return text_of(json.get_ref<const std::string&>());
      case Json::value_t::array: {
        std::vector<Value>& items = lists_.emplace_back();
        for (const Json& item : json) items.push_back(of(item));
        return Value::list({items.data(), items.size()});
      }
      case Json::value_t::object: {
        const std::vector<ValuePair>& pairs = pairs_of(json);
        return Value::dict({pairs.data(), pairs.size()});
      }
      default: return Value::none();
    }
  }
  const std::vector<ValuePair>& pairs_of(const Json& json) {
    std::vector<ValuePair>& pairs = dicts_.emplace_back();
    for (const auto& [key, value] : json.items()) pairs.push_back({text_of(key), of(value)});
    return pairs;
  }

 private:
  Value text_of(const std::string& text) {
    const std::string& kept = texts_.emplace_back(text);
    return Value::text(
        Span<const uint8_t>(reinterpret_cast<const uint8_t*>(kept.data()), kept.size()));
  }
  std::deque<std::string> texts_;
  std::deque<std::vector<Value>> lists_;
  std::deque<std::vector<ValuePair>> dicts_;
};

[[noreturn]] void fail(const ErrorDetail& d, const std::string& message, const std::string& where) {
  const std::string place =
      where + ": chat template" +
      (d.operand > 0 ? ", line " + std::to_string(d.operand) : std::string()) + ": ";
  switch (d.code) {
    case Code::kInvalidArgument: host::fail(Exit::kMismatch, place + "it says: " + message);
    case Code::kLimitExceeded:
      host::fail(Exit::kUnsupported, place + "more " + d.field + " than " + std::to_string(d.need) +
                                         "; is it endless?");
    default:
      host::fail(Exit::kMismatch,
                 place + d.field + (d.name[0] ? " ('" + std::string(d.name) + "')" : ""));
  }
}

}  // namespace

std::string render_chat(const TemplateView& chat, const Json& inputs, const text::LocalTime& now,
                        const std::string& where) {
  if (!chat.refused.empty())
    host::fail(Exit::kUnsupported,
               std::string(reinterpret_cast<const char*>(chat.refused.data), chat.refused.size));
  Values values;
  const std::vector<ValuePair>& pairs = values.pairs_of(inputs);
  text::RenderOptions options;
  options.now = now;
  text::RenderNeed need = text::estimate_render(chat, {pairs.data(), pairs.size()});
  constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  for (;;) {
    const vocabulary::AlignedBytes memory = vocabulary::aligned_bytes(need.memory_bytes);
    const vocabulary::AlignedBytes out = vocabulary::aligned_bytes(need.output_bytes);
    size_t count = 0;
    ErrorDetail detail;
    const Status status =
        text::render(chat, {pairs.data(), pairs.size()}, options, {memory.get(), need.memory_bytes},
                     {out.get(), need.output_bytes}, &count, &detail);
    const std::string said(reinterpret_cast<const char*>(out.get()), count);
    if (status.ok()) return said;
    if (status.code() != Code::kArenaTooSmall) fail(detail, said, where);
    uint64_t& short_of =
        std::string(detail.field) == "memory" ? need.memory_bytes : need.output_bytes;
    if (short_of >= kMaxBytes)
      host::fail(Exit::kUnsupported, where + ": the chat template takes more than a gigabyte");
    short_of *= 4;
  }
}

text::LocalTime local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm t{};
  if (!localtime_r(&now, &t)) return {};
  return {t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec};
}

}  // namespace ingot::chat
