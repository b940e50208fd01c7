// SPDX-License-Identifier: Apache-2.0
// Any bytes as the part with a tokenizer and a chat template; what is taken encodes and decodes
// texts, and every id is one of its pieces. A template renders within its budgets.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/text/template.h"
#include "runtime/text/tokenizer.h"

using namespace ingot;

namespace {

constexpr size_t kMaxText = 4096;

void use(const TokenizerView& t, Span<const uint8_t> text) {
  text::EncodeNeed need;
  ErrorDetail detail;
  text::EncodeOptions options;
  options.parse_special = true;
  if (!text::measure_encode(t, text.size, &need, &detail).ok()) abort();
  auto* memory = static_cast<uint8_t*>(::operator new(need.memory_bytes, std::align_val_t(16)));
  auto* ids = new int32_t[need.ids];
  size_t count = 0;
  const Status status =
      text::encode(t, text, options, {memory, need.memory_bytes}, {ids, need.ids}, &count, &detail);
  if (!status.ok() && status.code() != Code::kNotFound) abort();
  uint8_t out[text::Decoder::kMaxBytes];
  text::Decoder decoder(true);
  for (size_t i = 0; status.ok() && i < count; i++) {
    if (ids[i] < 0 || uint32_t(ids[i]) >= t.count) abort();
    if (decoder.put(t, ids[i], out) > sizeof out) abort();
  }
  (void)decoder.finish(out);
  delete[] ids;
  ::operator delete(memory, std::align_val_t(16));
}

void use(const TemplateView& chat) {
  using text::Value;
  const text::ValuePair fields[] = {{Value::text("role"), Value::text("user")},
                                    {Value::text("content"), Value::text(" a<b c \xc3\xa9\n")},
                                    {Value::text("n"), Value::real(2.5)}};
  const Value message = Value::dict({fields, 3});
  const text::ValuePair inputs[] = {{Value::text("messages"), Value::list({&message, 1})},
                                    {Value::text("x"), Value::whole(3)}};
  text::RenderOptions options;
  options.steps = 20000;
  options.now = {2026, 3, 7, 1, 2, 3};
  constexpr size_t kMemory = 1 << 14, kOutput = 1 << 12;
  auto* memory = static_cast<uint8_t*>(::operator new(kMemory, std::align_val_t(16)));
  auto* out = new uint8_t[kOutput];
  size_t count = 0;
  ErrorDetail detail;
  (void)text::render(chat, {inputs, 2}, options, {memory, kMemory}, {out, kOutput}, &count,
                     &detail);
  if (count > kOutput) abort();
  delete[] out;
  ::operator delete(memory, std::align_val_t(16));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto* part = static_cast<uint8_t*>(::operator new(size, std::align_val_t(16)));
  if (size) memcpy(part, data, size);
  TokenizerView view;
  ErrorDetail detail;
  if (open_text({part, size}, &view, &detail).ok()) {
    static constexpr uint8_t kText[] = "abc <|end|> 12 a\xc3\xa9 <tab> b\n\n  'll \xe4\xb8\xad\xff";
    use(view, {kText, sizeof kText});
    // Its own pieces are the text that it knows best.
    use(view, {view.piece_bytes.data,
               view.piece_bytes.size < kMaxText ? view.piece_bytes.size : kMaxText});
  }
  TemplateView chat;
  if (open_template({part, size}, &chat, &detail).ok()) use(chat);
  ::operator delete(part, std::align_val_t(16));
  return 0;
}
