// SPDX-License-Identifier: Apache-2.0
// pipeline.cpp - frames through a model: the plain loop (decode, run, read, one behind the other),
// then the same through ingot::Pipeline with a loader, which decodes the next frame while one is
// computed. Prints both times, and how much of the decoding is hidden.
//
//   pipeline_cpp MODEL.ingot [FRAMES [DECODE_MS [DEVICE]]]      DECODE_MS 0 (the default): as long
//   as a run takes
#include <ingot/cpu.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ingot/pipeline.hpp>
#include <vector>

namespace {

int fail(const char* what, const ingot::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.text().c_str());
  return 1;
}

/// Stands for a camera or a file: frame `item` is always the same bytes, and takes some
/// milliseconds of arithmetic to make.
struct Decoder {
  uint64_t frames = 0, nanoseconds = 0;

  void decode(const ingot_tensor& to, uint64_t item) const {
    const uint64_t begin = ingot_clock_ns();
    do {
      uint32_t state = uint32_t(item) * 2654435761u + 1;
      for (float& element : ingot::elements<float>(to).value()) {
        state = state * 1664525u + 1013904223u;
        element = static_cast<float>(state >> 8) * 0x1p-24f;
      }
    } while (ingot_clock_ns() - begin < nanoseconds);
  }
};

int32_t load(void* user, ingot_pipeline* pipeline, uint64_t item) {
  const Decoder& decoder = *static_cast<const Decoder*>(user);
  if (item == decoder.frames) return 1;
  ingot_tensor input;
  if (ingot_pipeline_input(pipeline, 0, &input)) return -1;
  decoder.decode(input, item);
  return 0;
}

double sum_of(const ingot_tensor& output) {
  double sum = 0;
  for (const float element : ingot::elements<float>(output).value())
    sum += static_cast<double>(element);
  return sum;
}

double milliseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: pipeline_cpp MODEL.ingot [FRAMES [DECODE_MS [DEVICE]]]\n");
    return 1;
  }
  Decoder decoder;
  decoder.frames = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 50;
  decoder.nanoseconds = argc > 3 ? static_cast<uint64_t>(std::atof(argv[3]) * 1e6) : 0;
  auto model = ingot::Model::open(argv[1], ingot_cpu_kernels(nullptr));
  if (!model) return fail(argv[1], model.error());
  ingot_session_options options = ingot::session_options();
  options.device = argc > 4 ? argv[4] : nullptr;
  options.threads = 1;

  // Before: everything waits for everything.
  std::vector<double> expected;
  uint64_t run_ns = 0, plain_ns = 0, decode_ns = 0;
  {
    auto session = model->session(options);
    if (!session) return fail("session", session.error());
    decoder.decode(session->input(0).value(), 0);
    for (int i = 0; i < 3; i++) {  // the first is the slowest
      const uint64_t begin = ingot_clock_ns();
      if (const auto ran = session->run(); !ran) return fail("run", ran.error());
      run_ns = ingot_clock_ns() - begin;
    }
    if (!decoder.nanoseconds) decoder.nanoseconds = run_ns;
    const uint64_t begin = ingot_clock_ns();
    for (uint64_t item = 0; item < decoder.frames; item++) {
      const uint64_t from = ingot_clock_ns();
      decoder.decode(session->input(0).value(), item);
      decode_ns += ingot_clock_ns() - from;
      if (const auto ran = session->run(); !ran) return fail("run", ran.error());
      expected.push_back(sum_of(session->output(0).value()));
    }
    plain_ns = ingot_clock_ns() - begin;
  }

  // After: the loader decodes on a thread of its own, straight into the memory that the run reads.
  ingot_pipeline_options through = ingot::pipeline_options();
  through.session = &options;
  through.depth = 3;
  through.loader = load;
  through.user = &decoder;
  auto pipeline = ingot::Pipeline::create(*model, through);
  if (!pipeline) return fail("pipeline", pipeline.error());
  const uint64_t begin = ingot_clock_ns();
  uint64_t equal = 0;
  for (;;) {
    const auto item = pipeline->pop();
    if (!item) {
      if (item.error().code == INGOT_NOT_FOUND) break;  // the end
      return fail("frame", item.error());
    }
    equal += sum_of(pipeline->output(0).value()) == expected[item.value()];
    if (const auto released = pipeline->release(); !released)
      return fail("frame", released.error());
  }
  const uint64_t ns = ingot_clock_ns() - begin;

  const double frames = static_cast<double>(decoder.frames ? decoder.frames : 1);
  const double decode = milliseconds(decode_ns) / frames, before = milliseconds(plain_ns) / frames,
               after = milliseconds(ns) / frames;
  const double rest = before - decode, hideable = decode < rest ? decode : rest;
  std::printf("frames: %llu, equal to the plain loop: %llu\n",
              static_cast<unsigned long long>(decoder.frames),
              static_cast<unsigned long long>(equal));
  std::printf("ms a frame: decode %.3f, run and read %.3f, plain loop %.3f, pipeline %.3f\n",
              decode, rest, before, after);
  std::printf("pipeline / plain loop: %.2f; hidden of what can be: %.0f %%\n", after / before,
              100 * (before - after) / hideable);
  return equal == decoder.frames ? 0 : 1;
}
