// SPDX-License-Identifier: Apache-2.0
// find_speech.cpp - finds the speech in a recording with the sequence form of silero-vad, converted
// to one file.
//
//   find_speech VAD.ingot RECORDING.wav [threads]
//
// The number of frames is a symbolic dimension, bound when the session is made: one run for the
// whole recording. Before: mono, 16 kHz (windowed-sinc resampling), frames of 512 samples, each
// with the 64 before it. After: hysteresis (speech begins above 0.5, ends below 0.35), at least
// 0.25 s of speech, gaps under 0.2 s closed.
#include <ingot/cpu.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ingot/ingot.hpp>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr int kRate = 16000, kFrame = 512, kContext = 64;

struct Sound {
  int rate = 0;
  std::vector<float> samples;  // mono, -1..1
};

uint32_t little(const uint8_t* p, int bytes) {
  uint32_t v = 0;
  for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
  return v;
}

/// 16-bit PCM WAV, any channel count. Empty with a message when it is something else.
Sound load_wav(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> b((std::istreambuf_iterator<char>(file)), {});
  Sound sound;
  if (b.size() < 44 || std::memcmp(b.data(), "RIFF", 4) != 0 ||
      std::memcmp(&b[8], "WAVE", 4) != 0) {
    std::fprintf(stderr, "find_speech: %s: not a WAV file (%zu bytes)\n", path, b.size());
    return sound;
  }
  int channels = 0, bits = 0;
  for (size_t at = 12; at + 8 <= b.size();) {
    // a pipe leaves size open
    const size_t size = little(&b[at + 4], 4), body = at + 8,
                 room = std::min(size, b.size() - body);
    if (std::memcmp(&b[at], "fmt ", 4) == 0 && room >= 16) {
      channels = static_cast<int>(little(&b[body + 2], 2)),
      sound.rate = static_cast<int>(little(&b[body + 4], 4));
      bits = static_cast<int>(little(&b[body + 14], 2));
    } else if (std::memcmp(&b[at], "data", 4) == 0) {
      if (bits != 16 || channels < 1 || sound.rate < 1000 || sound.rate > 384000) {
        std::fprintf(stderr, "find_speech: %s: %d-bit, %d channels, %d Hz: expected 16-bit PCM\n",
                     path, bits, channels, sound.rate);
        return {};
      }
      const size_t step = 2 * static_cast<size_t>(channels);
      for (size_t i = body; i + step <= body + room; i += step) {
        float sum = 0;
        for (int c = 0; c < channels; c++)
          sum += static_cast<float>(
              static_cast<int16_t>(little(&b[i + 2 * static_cast<size_t>(c)], 2)));
        sound.samples.push_back(sum / static_cast<float>(channels) / 32768.f);
      }
      return sound;
    }
    at = body + size + (size & 1);
  }
  std::fprintf(stderr, "find_speech: %s: no data chunk\n", path);
  return {};
}

/// Hann-windowed sinc, 16 zero crossings to each side.
std::vector<float> resample(const Sound& in) {
  if (in.rate == kRate) return in.samples;
  const double step = static_cast<double>(in.rate) / kRate, cut = std::min(1.0, 1.0 / step),
               reach = 16 / cut;
  std::vector<float> out(static_cast<size_t>(static_cast<double>(in.samples.size()) / step));
  for (size_t i = 0; i < out.size(); i++) {
    const double at = static_cast<double>(i) * step;
    double sum = 0;
    for (auto j = static_cast<int64_t>(std::ceil(at - reach));
         j <= static_cast<int64_t>(at + reach); j++) {
      if (j < 0 || j >= static_cast<int64_t>(in.samples.size())) continue;
      const double x = (static_cast<double>(j) - at) * cut,
                   window = .5 + .5 * std::cos(M_PI * (static_cast<double>(j) - at) / reach);
      sum += static_cast<double>(in.samples[static_cast<size_t>(j)]) * cut * window *
             (x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x));
    }
    out[i] = static_cast<float>(sum);
  }
  return out;
}

struct Segment {
  double begin, end;
};

std::vector<Segment> segments(const float* probability, size_t frames) {
  const double seconds = static_cast<double>(kFrame) / kRate;
  std::vector<Segment> found;
  bool inside = false;
  for (size_t i = 0; i < frames; i++) {
    if (!inside && probability[i] >= 0.5f) {
      const double begin = static_cast<double>(i) * seconds;
      if (!found.empty() && begin - found.back().end < 0.2)
        found.back().end = begin;
      else
        found.push_back({begin, begin});
      inside = true;
    }
    if (inside) {
      if (probability[i] < 0.35f)
        inside = false;
      else
        found.back().end = static_cast<double>(i + 1) * seconds;
    }
  }
  std::erase_if(found, [](const Segment& s) { return s.end - s.begin < 0.25; });
  return found;
}

int fail(const char* what, const ingot::Error& error) {
  std::fprintf(stderr, "find_speech: %s: %s\n", what, error.text().c_str());
  return 7;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: find_speech VAD.ingot RECORDING.wav [threads]\n"), 1;
  const Sound sound = load_wav(argv[2]);
  if (sound.samples.empty()) return 7;
  const std::vector<float> samples = resample(sound);
  const size_t frames = (samples.size() + kFrame - 1) / kFrame;

  auto model = ingot::Model::open(argv[1], ingot_cpu_kernels(nullptr));
  if (!model) return fail(argv[1], model.error());
  const auto symbol = model->symbol(0);
  if (!symbol) return fail(argv[1], symbol.error());
  const ingot_binding binding{symbol->name, static_cast<int64_t>(frames)};
  ingot_session_options options = ingot::session_options();
  options.bindings = &binding, options.binding_count = 1,
  options.threads = argc > 3 ? std::atoi(argv[3]) : 0;
  auto session = model->session(options);
  if (!session) return fail("session", session.error());

  const auto input = session->input<float>("input"), h = session->input<float>("h"),
             c = session->input<float>("c");
  for (const auto* port : {&input, &h, &c})
    if (!*port) return fail(argv[1], port->error());
  if (input->size != frames * (kContext + kFrame))
    return std::fprintf(stderr, "find_speech: %s: not silero-vad's sequence form\n", argv[1]), 5;
  std::fill(h->begin(), h->end(), 0.f), std::fill(c->begin(), c->end(), 0.f);
  for (size_t f = 0; f < frames; f++)
    for (size_t i = 0; i < kContext + kFrame; i++) {
      const auto at = static_cast<int64_t>(f * kFrame + i) - kContext;
      (*input)[f * (kContext + kFrame) + i] = at >= 0 && at < static_cast<int64_t>(samples.size())
                                                  ? samples[static_cast<size_t>(at)]
                                                  : 0.f;
    }
  const auto begin = std::chrono::steady_clock::now();
  if (auto run = session->run(); !run) return fail("run", run.error());
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();

  const auto probability = session->output<float>("speech_probs");
  if (!probability) return fail(argv[1], probability.error());
  const std::vector<Segment> found = segments(probability->data, probability->size);
  const double length = static_cast<double>(samples.size()) / kRate;
  std::string line;
  for (size_t i = 0; i < 64; i++) {
    const float p = (*probability)[i * frames / 64];
    line += p > 0.8f ? "#" : p > 0.5f ? "+" : p > 0.2f ? "." : " ";
  }
  std::printf("0.0 s |%s| %.1f s\n", line.c_str(), length);
  for (const Segment& s : found)
    std::printf("speech from %5.2f s to %5.2f s\n", s.begin, std::min(s.end, length));
  std::printf(
      "%zu stretches in %.1f s; %zu frames in %.1f ms (%.0f times as fast as it was spoken); arena "
      "%.2f MB (weights included)\n",
      found.size(), length, frames, ms, length * 1e3 / ms,
      static_cast<double>(session->requirements().arena_bytes) / 1e6);
  return found.empty() ? 6 : 0;
}
