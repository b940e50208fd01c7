// SPDX-License-Identifier: Apache-2.0
#include "tools/text/loaded_tokenizer.h"

#include <cstring>
#include <new>

#include "tools/files/failure.h"

namespace ingot::vocabulary {
namespace {

constexpr std::align_val_t kAlignment{16};

}  // namespace

void AlignedDelete::operator()(uint8_t* bytes) const { ::operator delete(bytes, kAlignment); }

AlignedBytes aligned_bytes(size_t count) {
  return AlignedBytes(static_cast<uint8_t*>(::operator new(count ? count : 1, kAlignment)));
}

LoadedTokenizer::LoadedTokenizer(const std::vector<uint8_t>& part, const std::string& where)
    : where_(where), part_(aligned_bytes(part.size())) {
  if (!part.empty()) std::memcpy(part_.get(), part.data(), part.size());
  ErrorDetail detail;
  if (!open_text({part_.get(), part.size()}, &tables_, &detail).ok())
    host::fail(host::Exit::kCorrupt,
               where + ": the tokenizer in it is damaged: " + detail.field + "; copy it again");
  const Status status = open_template({part_.get(), part.size()}, &chat_, &detail);
  has_chat_ = status.ok();
  if (status.code() == Code::kUnsupportedFeature) {  // of a later version
    constexpr std::string_view kReason = "its chat template is of a later version";
    chat_.refused = {reinterpret_cast<const uint8_t*>(kReason.data()), kReason.size()};
    has_chat_ = true;
  } else if (!status.ok() && status.code() != Code::kNotFound) {
    host::fail(host::Exit::kCorrupt,
               where + ": the chat template in it is damaged: " + detail.field + "; copy it again");
  }
}

LoadedTokenizer::LoadedTokenizer(const TextTables& tables, const std::string& where)
    : where_(where), tables_(tables.tokenizer), has_chat_(tables.has_chat), chat_(tables.chat) {}

const TemplateView& LoadedTokenizer::chat() const {
  if (!has_chat_)
    host::fail(host::Exit::kMismatch,
               where_ + ": has no chat template; convert it from a source with one");
  return chat_;
}

std::vector<int32_t> LoadedTokenizer::encode(std::string_view text,
                                             const text::EncodeOptions& options) const {
  ErrorDetail detail;
  text::EncodeNeed need;
  const auto check = [&](Status status) {
    if (status.ok()) return;
    if (status.code() == Code::kLimitExceeded)
      host::fail(host::Exit::kUnsupported, where_ + ": a text of " + std::to_string(detail.have) +
                                               " bytes; at most " + std::to_string(detail.need));
    host::fail(host::Exit::kMismatch, where_ + ": the text needs " + detail.field + " at byte " +
                                          std::to_string(detail.offset) +
                                          " of it, which is not there");
  };
  check(text::measure_encode(tables_, text.size(), &need, &detail));
  const AlignedBytes memory = aligned_bytes(need.memory_bytes);
  const AlignedBytes ids = aligned_bytes(need.ids * sizeof(int32_t));
  auto* first = reinterpret_cast<int32_t*>(ids.get());
  size_t count = 0;
  check(text::encode(tables_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, options,
                     {memory.get(), need.memory_bytes}, {first, need.ids}, &count, &detail));
  return {first, first + count};
}

std::string LoadedTokenizer::decode(const std::vector<int32_t>& ids, bool shows_control) const {
  text::Decoder decoder(shows_control);
  std::vector<uint8_t> bytes(text::Decoder::kMaxBytes);
  std::string text;
  for (const int32_t id : ids) {
    if (id < 0 || uint32_t(id) >= tables_.count)
      host::fail(host::Exit::kMismatch, where_ + ": the id " + std::to_string(id) +
                                            " is none of its " + std::to_string(tables_.count) +
                                            " pieces");
    text.append(reinterpret_cast<const char*>(bytes.data()),
                decoder.put(tables_, id, bytes.data()));
  }
  return text.append(reinterpret_cast<const char*>(bytes.data()), decoder.finish(bytes.data()));
}

}  // namespace ingot::vocabulary
