// SPDX-License-Identifier: Apache-2.0
// tests/session/placement_models.h - models whose weights have places, and assignments of them.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "runtime/device/fake/fake_device.h"
#include "tests/session/session_models.h"

namespace ingot::test {

inline convert::ValueSpec weight(const std::string& name, std::vector<Dim> dims, float first) {
  convert::ValueSpec value = constant(name, dims);
  auto bytes = std::make_shared<std::vector<uint8_t>>(value.bytes.held->size());
  for (size_t i = 0; i < bytes->size() / 4; i++) {
    const float x = first + 0.25f * float(i % 13);
    std::memcpy(bytes->data() + 4 * i, &x, 4);
  }
  value.bytes.held = bytes;
  return value;
}

inline convert::SourceWeightSpec record(std::vector<std::string> path, int32_t value,
                                        const char* device, std::vector<int64_t> dims) {
  convert::SourceWeightSpec spec;
  spec.path = std::move(path);
  spec.dtype = "float32";
  spec.device = device;
  spec.dims = spec.view = std::move(dims);
  spec.value = value;
  return spec;
}

/// y = ((x + a) * b) + c, then relu: three weights of 8, 32 and 8 elements; the source knows b as
/// part of a checkpoint's state_dict, c as changed, a not at all.
inline convert::FileSpec three_weights() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {4, 8}));
  const int32_t a = p.add_value(weight("a", {8}, 1)), b = p.add_value(weight("b", {4, 8}, -1));
  const int32_t c = p.add_value(weight("c", {8}, 3));
  const int32_t s = p.add_value(activation("s", {4, 8})), t = p.add_value(activation("t", {4, 8}));
  const int32_t u = p.add_value(in_place_of(activation("u", {4, 8}), t)),
                y = p.add_value(output("y", {4, 8}));
  p.add_instruction(step(ElementwiseOp::kAdd), {x, a}, {s});
  p.add_instruction(step(ElementwiseOp::kMul), {s, b}, {t});
  p.add_instruction(step(ElementwiseOp::kAdd), {t, c}, {u});
  p.add_instruction(step(ElementwiseOp::kRelu), {u}, {y});
  file.metadata.weights.push_back(record({"state_dict", "net.b"}, b, "cuda:1", {4, 8}));
  file.metadata.weights.push_back(record({"state_dict", "module.c"}, -1, "cuda:0", {8}));
  add_ports(&file);
  return file;
}

/// Straight-line, with values in place, storages written in parts and read across them, and weights
/// of several sizes.
inline convert::FileSpec random_network(uint32_t seed) {
  std::minstd_rand random(seed * 7919 + 1);
  random.discard(5);
  const auto die = [&](size_t n) { return size_t(random() >> 6) % n; };
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  std::vector<int32_t> pool, in_place;  // to read; of those, that may be overwritten
  int names = 0;
  const auto name = [&](const char* stem) { return stem + std::to_string(names++); };
  const auto fresh = [&] { return p.add_value(activation(name("v"), {4, 8})); };
  for (int i = 0; i < 2; i++) pool.push_back(p.add_value(input(name("x"), {4, 8})));
  const auto any = [&] { return pool[die(pool.size())]; };
  const auto made = [&](int32_t value) { pool.push_back(value), in_place.push_back(value); };
  for (size_t n = 6 + die(18); n > 0; n--) {
    switch (die(6)) {
      case 0: {
        const int32_t a = any(), y = fresh();
        p.add_instruction(step(ElementwiseOp::kAbs), {a}, {y});
        made(y);
        break;
      }
      case 1:
      case 2: {
        const bool large = die(2) != 0;
        const int32_t w = p.add_value(weight(
            name("w"), large ? std::vector<Dim>{4, 8} : std::vector<Dim>{8}, float(die(9)) - 4));
        const int32_t a = any(), y = fresh();
        p.add_instruction(step(die(2) ? ElementwiseOp::kAdd : ElementwiseOp::kMul), {a, w}, {y});
        made(y);
        break;
      }
      case 3: {
        const int32_t a = any(), b = any(), y = fresh();
        p.add_instruction(step(ElementwiseOp::kMax), {a, b}, {y});
        made(y);
        break;
      }
      case 4: {  // overwrites what nobody reads later
        if (in_place.empty()) break;
        const size_t at = die(in_place.size());
        const int32_t a = in_place[at];
        in_place.erase(in_place.begin() + long(at));
        pool.erase(std::find(pool.begin(), pool.end(), a));
        const int32_t y = p.add_value(in_place_of(activation(name("v"), {4, 8}), a));
        p.add_instruction(step(ElementwiseOp::kNeg), {a}, {y});
        made(y);
        break;
      }
      default: {  // two parts, each with a weight of its own, and one that reads across both
        const int32_t whole = p.add_value(activation(name("whole"), {8, 8}));
        const int32_t first = p.add_value(view_of(activation(name("part"), {4, 8}), whole));
        const int32_t second = p.add_value(view_of(activation(name("part"), {4, 8}), whole, 32));
        const int32_t across = p.add_value(view_of(activation(name("across"), {4, 8}), whole, 16));
        const int32_t w = p.add_value(weight(name("w"), {8}, 2)), a = any(), b = any(), y = fresh();
        p.add_instruction(step(ElementwiseOp::kAdd), {a, w}, {first});
        p.add_instruction(step(ElementwiseOp::kAbs), {b}, {second});
        p.add_instruction(step(ElementwiseOp::kNeg), {across}, {y});
        made(y);
        pool.push_back(first), pool.push_back(second), pool.push_back(across);
      }
    }
  }
  for (int i = 0; i < 3; i++) {
    const int32_t y = p.add_value(output(name("y"), {4, 8}));
    p.add_instruction(step(ElementwiseOp::kNeg), {i ? any() : pool.back()}, {y});
  }
  add_ports(&file);
  return file;
}

constexpr const char* kAnswers[] = {"cpu", "fake:0", "fake:1", "", nullptr};

inline Assignment assign(const Model& model, uint32_t seed, const char* device = "cpu") {
  std::minstd_rand random(seed * 31 + 7);
  random.discard(3);
  auto assignment = model.assign(
      device, [&](const ingot_weight&) { return kAnswers[size_t(random() >> 6) % 5]; });
  if (!assignment) throw std::runtime_error(assignment.error().text());
  return std::move(*assignment);
}

inline ingot_session_options with(const Assignment& assignment) {
  ingot_session_options options = session_options();
  options.assignment = assignment.get();
  return options;
}

inline void fill(const Model& model, const Session& session) {
  for (uint32_t i = 0; i < model.summary().input_count; i++)
    if (session.input(i)->dtype == INGOT_F32)
      write(session.input(i), ramp(session.input(i)->bytes / 4, float(i) - 3));
}

inline std::vector<std::vector<float>> run_twice(const Model& model,
                                                 const ingot_session_options& options) {
  auto session = model.session(options);
  if (!session) throw std::runtime_error(session.error().text());
  std::vector<std::vector<float>> answers;
  for (int run = 0; run < 2; run++) {
    fill(model, *session);
    if (const auto ran = session->run(); !ran) throw std::runtime_error(ran.error().text());
    for (uint32_t i = 0; i < model.summary().output_count; i++)
      answers.push_back(read<float>(session->output(i)));
  }
  return answers;
}

inline ingot_weight_place named(const Assignment& assignment, const std::string& name) {
  for (uint32_t i = 0;; i++) {
    const ingot_weight weight = assignment.weight(i);
    if (!weight.name) throw std::runtime_error("no weight " + name);
    if (name == weight.name) return assignment.place(i);
  }
}

/// three_weights(): a on the CPU, b and c each on a device of its own; what the CPU alone answers.
struct PlacedWeights {
  FileBytes bytes{three_weights()};
  Model model = open_bytes_or_fail(bytes);
  std::vector<std::vector<float>> expected = run_twice(model, session_options());
  Assignment assignment = apart();

  Assignment apart() const {
    auto made = model.assign("cpu", [](const ingot_weight& w) {
      return std::strstr(w.name, "net.b")    ? "fake:0"
             : std::strcmp(w.name, "c") == 0 ? "fake:1"
                                             : nullptr;
    });
    if (!made) throw std::runtime_error(made.error().text());
    return std::move(*made);
  }
};

inline void reset_counts() {
  for (int d = 0; d < kFakeDevices; d++)
    fake_gpu(d).uploads = fake_gpu(d).downloads = fake_gpu(d).runs = 0;
}

}  // namespace ingot::test
