// SPDX-License-Identifier: Apache-2.0
// Any bytes as options, history and logits of a sampler: an error, or an id that is possible. The
// rest as stop texts and an answer, which nothing is lost of.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/text/sampler.h"
#include "runtime/text/stop_texts.h"

using namespace ingot;

namespace {

constexpr size_t kMaxVocabulary = 512;

struct Bytes {
  const uint8_t* data;
  size_t size;
  template <class T>
  T take() {
    T value{};
    const size_t count = size < sizeof value ? size : sizeof value;
    if (count) memcpy(&value, data, count);
    data += count, size -= count;
    return value;
  }
};

void sample(Bytes* in) {
  text::SamplerOptions o;
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  if (in->take<uint8_t>() % 4 == 0) o.name = in->take<type>();
#include "runtime/text/sampler_options.def"
  o.seed = in->take<uint64_t>();
  text::LogitBias biases[3];
  for (text::LogitBias& bias : biases)
    bias.id = in->take<int16_t>() % 600, bias.add = double(in->take<float>());
  o.biases = {biases, in->take<uint8_t>() % 4u};
  const size_t vocabulary = in->take<uint16_t>() % (kMaxVocabulary + 1);
  uint64_t bytes = 0;
  ErrorDetail detail;
  if (!text::measure_sampler(o, vocabulary, &bytes, &detail).ok()) return;
  auto* memory = static_cast<uint8_t*>(::operator new(size_t(bytes), std::align_val_t(16)));
  text::Sampler sampler;
  if (!sampler.open(o, vocabulary, {memory, size_t(bytes)}, &detail).ok()) abort();
  for (unsigned n = in->take<uint8_t>(); n > 0; n--)
    sampler.accept(int32_t(in->take<uint8_t>() % (vocabulary + 1)));
  float logits[kMaxVocabulary];
  for (size_t i = 0; i < vocabulary; i++) logits[i] = in->take<float>();
  int32_t id = -1;
  if (sampler.sample({logits, vocabulary}, &id, &detail).ok() &&
      (id < 0 || size_t(id) >= vocabulary || !(logits[id] > -INFINITY)))
    abort();
  ::operator delete(memory, std::align_val_t(16));
}

void stop(Bytes* in) {
  text::StopText texts[4];
  for (text::StopText& text : texts) {
    const size_t wanted = in->take<uint8_t>() % 8, count = wanted < in->size ? wanted : in->size;
    text = {in->data, count};
    in->data += count, in->size -= count;
  }
  uint8_t memory[128];
  ErrorDetail detail;
  text::StopTexts stops;
  if (!stops.open(texts, memory, &detail).ok()) return;
  auto* out = new uint8_t[in->size];
  const uint8_t* const answer = in->data;
  size_t given = 0;
  for (size_t at = 0; at < in->size;) {
    const size_t wanted = 1 + answer[at] % 5, left = in->size - at;
    const size_t count = wanted < left ? wanted : left;
    given += stops.put({answer + at, count}, out + given);
    at += count;
    if (stops.stopped_by() < 0 && given + stops.held() != at) abort();
  }
  given += stops.finish(out + given);
  if (given && memcmp(out, answer, given) != 0) abort();
  if (stops.stopped_by() < 0 && given != in->size) abort();
  delete[] out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes in = {data, size};
  sample(&in);
  stop(&in);
  return 0;
}
