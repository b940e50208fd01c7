// SPDX-License-Identifier: Apache-2.0
// runtime/api/text_api.cpp - the tokenizer and the chat template of a model.
#include "ingot/text.h"
#include "runtime/api/chat_values.h"
#include "runtime/api/translate_text.h"
#include "runtime/base/check_memory.h"
#include "runtime/generate/text_tables.h"
#include "runtime/text/template.h"
#include "runtime/text/tokenizer.h"

using namespace ingot;
using namespace ingot::api;

namespace {

constexpr uint64_t kMaxChatBytes = uint64_t{1} << 30;

/// Memory of a call: the caller's, or of an allocator while the call lasts.
class WorkMemory {
 public:
  explicit WorkMemory(const Allocator& allocator) : allocator_(allocator) {}
  WorkMemory(const WorkMemory&) = delete;
  WorkMemory& operator=(const WorkMemory&) = delete;
  ~WorkMemory() { release(); }
  Status take(uint64_t bytes, ErrorDetail* detail) {
    release();
    uint8_t* block = nullptr;
    INGOT_TRY(allocate(allocator_, bytes ? bytes : 1, 16, "memory of a text", &block, detail));
    at_ = {block, size_t(bytes)};
    return {};
  }
  Span<uint8_t> at() const { return at_; }

 private:
  void release() {
    if (at_.data) allocator_.release(allocator_.user, at_.data, at_.size ? at_.size : 1);
    at_ = {};
  }
  Allocator allocator_;
  Span<uint8_t> at_;
};

Span<const uint8_t> bytes_of(const char* text, uint64_t count) {
  return {reinterpret_cast<const uint8_t*>(text), size_t(count)};
}

/// The message of a template that raised an exception, as much as an error has room for.
void name_message(Span<const uint8_t> message, ErrorDetail* detail) {
  size_t n = message.size < sizeof detail->name - 1 ? message.size : sizeof detail->name - 1;
  if (n < message.size)
    while (n > 0 && (message[n] & 0xC0) == 0x80) n--;  // whole characters
  if (n) std::memcpy(detail->name, message.data, n);
  detail->name[n] = 0;
}

struct ChatCall {
  const TextTables& tables;
  const ingot_chat_options& options;
  Span<const text::ValuePair> inputs;
  text::RenderOptions rendering;
};

Status render_into(const ChatCall& c, Span<uint8_t> memory, Span<uint8_t> out, size_t* count,
                   ErrorDetail* detail) {
  *count = 0;
  const Status status =
      text::render(c.tables.chat, c.inputs, c.rendering, memory, out, count, detail);
  if (status.code() == Code::kInvalidArgument) name_message({out.data, *count}, detail);
  return status;
}

/// In memory of the allocator, as much as it takes; then copied.
Status render_and_copy(const ChatCall& c, Span<uint8_t> out, uint64_t* out_bytes,
                       ErrorDetail* detail) {
  text::RenderNeed need = text::estimate_render(c.tables.chat, c.inputs);
  WorkMemory memory(c.tables.block.allocator), rendered(c.tables.block.allocator);
  for (;;) {
    INGOT_TRY(memory.take(need.memory_bytes, detail));
    INGOT_TRY(rendered.take(need.output_bytes, detail));
    size_t count = 0;
    const Status status = render_into(c, memory.at(), rendered.at(), &count, detail);
    if (status.code() == Code::kArenaTooSmall) {
      uint64_t& short_of =
          std::strcmp(detail->field, "memory") == 0 ? need.memory_bytes : need.output_bytes;
      if (short_of >= kMaxChatBytes)
        return fail(detail, Code::kLimitExceeded, "bytes of a chat template", kMaxChatBytes,
                    detail->need);
      short_of *= 4;
      continue;
    }
    *out_bytes = count;
    const bool is_said = status.code() == Code::kInvalidArgument;
    if (!status.ok() && !is_said) return status;
    if (out.size == 0) return status;
    if (!is_said && out.size < count)
      return fail(detail, Code::kArenaTooSmall, "output", count, out.size);
    std::memcpy(out.data, rendered.at().data, count < out.size ? count : out.size);
    return status;
  }
}

Status chat(const TextTables& tables, const ingot_chat_options& options, Span<uint8_t> out,
            uint64_t* out_bytes, ErrorDetail* detail) {
  if (!tables.has_chat) return fail(detail, Code::kNotFound, "the file has no chat template");
  if (!tables.chat.refused.empty()) {
    const Status status =
        fail(detail, Code::kUnsupportedFeature, "the chat template is one that is refused");
    name_message(tables.chat.refused, detail);
    return status;
  }
  ChatCall call = {tables, options, {}, {}};
  const int32_t* now = options.now;
  call.rendering.now = {now[0], now[1], now[2], now[3], now[4], now[5]};
  uint64_t need = 0;
  INGOT_TRY(measure_chat_values(options, &need, detail));
  if (!options.memory) {
    WorkMemory values(tables.block.allocator);
    INGOT_TRY(values.take(need, detail));
    call.inputs = make_chat_values(options, values.at().data);
    return render_and_copy(call, out, out_bytes, detail);
  }
  uint8_t* const memory = static_cast<uint8_t*>(options.memory);
  INGOT_TRY(check_memory({memory, size_t(options.memory_bytes)}, need, "memory", detail));
  call.inputs = make_chat_values(options, memory);
  size_t count = 0;
  const Status status =
      render_into(call, {memory + need, size_t(options.memory_bytes - need)}, out, &count, detail);
  *out_bytes = count;
  return status;
}

}  // namespace

extern "C" {

ingot_code ingot_text_requirements(const ingot_model* model, uint64_t* out_bytes,
                                   ingot_error* error) {
  if (!model || !out_bytes) return refuse_argument("model or out_bytes is null", error);
  ErrorDetail detail;
  return report(measure_text_tables(*unwrap(model), out_bytes, &detail), detail, error);
}

ingot_code ingot_text_open(const ingot_model* model, const ingot_block_options* options,
                           ingot_text** out_text, ingot_error* error) {
  if (!out_text) return refuse_argument("out_text is null", error);
  *out_text = nullptr;
  if (!model) return refuse_argument("model is null", error);
  ErrorDetail detail;
  uint64_t bytes = 0;
  if (const Status status = measure_text_tables(*unwrap(model), &bytes, &detail); !status.ok())
    return report(status, detail, error);
  ObjectBlock block;
  if (const ingot_code code = take_block(options, *unwrap(model), bytes, &block, error))
    return code;
  TextTables* tables = nullptr;
  const Status status =
      open_text_tables(*unwrap(model), {block.at, size_t(block.bytes)}, &tables, &detail);
  keep_block(block, status, tables);
  if (status.ok()) *out_text = reinterpret_cast<ingot_text*>(tables);
  return report(status, detail, error);
}

void ingot_text_close(ingot_text* text) {
  if (!text) return;
  drop_block(reinterpret_cast<TextTables*>(text)->block);
}

ingot_code ingot_text_summarize(const ingot_text* text, ingot_text_summary* out_summary) {
  if (!text || !out_summary) return INGOT_INVALID_ARGUMENT;
  const TextTables& t = *unwrap(text);
  ingot_text_summary s = {};
  s.token_count = t.tokenizer.count;
  s.has_chat_template = t.has_chat;
  s.chat_refused = t.chat.refused.empty() ? "" : reinterpret_cast<const char*>(t.chat.refused.data);
  s.chat_refused_bytes = t.chat.refused.size;
  return wrote(write_sized(s, out_summary));
}

ingot_code ingot_text_encode_requirements(const ingot_text* text, uint64_t text_bytes,
                                          uint64_t* out_memory_bytes, uint64_t* out_tokens,
                                          ingot_error* error) {
  if (!text || !out_memory_bytes || !out_tokens)
    return refuse_argument("text, out_memory_bytes or out_tokens is null", error);
  ErrorDetail detail;
  text::EncodeNeed need;
  const Status status = text::measure_encode(unwrap(text)->tokenizer, text_bytes, &need, &detail);
  *out_memory_bytes = need.memory_bytes, *out_tokens = need.ids;
  return report(status, detail, error);
}

ingot_code ingot_text_encode(const ingot_text* text, const char* utf8, uint64_t bytes,
                             const ingot_encode_options* options, int32_t* out_ids,
                             uint64_t capacity, uint64_t* out_count, ingot_error* error) {
  if (out_count) *out_count = 0;
  if (!text || (!utf8 && bytes) || (!out_ids && capacity) || !out_count)
    return refuse_argument("text, utf8, out_ids or out_count is null", error);
  ingot_encode_options o = {};
  if (options && !read_sized(options, &o)) return refuse_size(error);
  constexpr uint32_t kKnown = INGOT_ENCODE_BARE | INGOT_ENCODE_CONTROL;
  if (o.flags & ~kKnown)
    return refuse_number("options.flags: unknown bits", 0, o.flags & ~kKnown, error);
  const TextTables& t = *unwrap(text);
  ErrorDetail detail;
  text::EncodeOptions encoding;
  encoding.add_special = !(o.flags & INGOT_ENCODE_BARE);
  encoding.parse_special = (o.flags & INGOT_ENCODE_CONTROL) != 0;
  WorkMemory work(t.block.allocator);
  Span<uint8_t> memory = {static_cast<uint8_t*>(o.memory), size_t(o.memory_bytes)};
  if (!memory.data) {
    text::EncodeNeed need;
    Status status = text::measure_encode(t.tokenizer, bytes, &need, &detail);
    if (status.ok()) status = work.take(need.memory_bytes, &detail);
    if (!status.ok()) return report(status, detail, error);
    memory = work.at();
  }
  size_t count = 0;
  const Status status = text::encode(t.tokenizer, bytes_of(utf8, bytes), encoding, memory,
                                     {out_ids, size_t(capacity)}, &count, &detail);
  *out_count = count;
  return report(status, detail, error);
}

ingot_code ingot_text_decode(const ingot_text* text, const int32_t* ids, uint64_t count,
                             int32_t shows_control, char* out, uint64_t capacity,
                             uint64_t* out_bytes, ingot_error* error) {
  if (out_bytes) *out_bytes = 0;
  if (!text || (!ids && count) || (!out && capacity) || !out_bytes)
    return refuse_argument("text, ids, out or out_bytes is null", error);
  const TokenizerView& t = unwrap(text)->tokenizer;
  text::Decoder decoder(shows_control != 0);
  uint8_t bytes[text::Decoder::kMaxBytes];
  uint64_t n = 0;
  for (uint64_t i = 0; i <= count; i++) {
    if (i < count && (ids[i] < 0 || uint32_t(ids[i]) >= t.count))
      return refuse_number("a token: at most", t.count - 1, uint64_t(int64_t{ids[i]}), error);
    const size_t more = i < count ? decoder.put(t, ids[i], bytes) : decoder.finish(bytes);
    if (more && n + more <= capacity) std::memcpy(out + n, bytes, more);
    n += more;
  }
  *out_bytes = n;
  return capacity && capacity < n ? refuse_number("capacity: at least", n, capacity, error)
                                  : ingot_code{INGOT_OK};
}

ingot_code ingot_text_token(const ingot_text* text, int32_t id, const char** out_bytes,
                            size_t* out_count, int32_t* out_is_control) {
  if (!text || !out_bytes || !out_count) return INGOT_INVALID_ARGUMENT;
  const TokenizerView& t = unwrap(text)->tokenizer;
  if (id < 0 || uint32_t(id) >= t.count) return INGOT_NOT_FOUND;
  const Span<const uint8_t> piece = t.piece(uint32_t(id));
  *out_bytes = reinterpret_cast<const char*>(piece.data);
  *out_count = piece.size;
  if (out_is_control) *out_is_control = t.kind(uint32_t(id)) == PieceKind::kControl;
  return INGOT_OK;
}

ingot_code ingot_text_chat(const ingot_text* text, const ingot_chat_options* options, char* out,
                           uint64_t capacity, uint64_t* out_bytes, ingot_error* error) {
  if (out_bytes) *out_bytes = 0;
  if (!text || !options || (!out && capacity) || !out_bytes)
    return refuse_argument("text, options, out or out_bytes is null", error);
  ingot_chat_options o = {};
  if (!read_sized(options, &o)) return refuse_size(error);
  ErrorDetail detail;
  const Status status = chat(*unwrap(text), o, {reinterpret_cast<uint8_t*>(out), size_t(capacity)},
                             out_bytes, &detail);
  return report(status, detail, error);
}

}  // extern "C"
