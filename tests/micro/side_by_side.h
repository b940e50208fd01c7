// SPDX-License-Identifier: Apache-2.0
// tests/micro/side_by_side.h - a file in the whole runtime and in a microcontroller's core, run on
// the same inputs: codes, outputs and states have the same bytes.
#pragma once
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ingot/ingot.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/micro/exact_memory.h"

namespace ingot::test {

/// Writes input `i`.
using FillInput = std::function<void(uint32_t i, void* to, uint64_t bytes)>;

class SideBySide {
 public:
  /// @pre the core opens `file`
  explicit SideBySide(const std::vector<uint8_t>& file) : image_(file), arena_(arena_of(file)) {
    ingot_open_options open = INGOT_INIT(ingot_open_options);
    open.kernels = reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar"));
    if (ingot_model_open_memory(image_.data(), file.size(), &open, &whole_, nullptr)) return;
    ingot_session_options options = INGOT_INIT(ingot_session_options);
    options.threads = 1;
    (void)ingot_session_create(whole_, &options, &session_, nullptr);
    ingot_micro_error error;
    if (open_micro(image_, file.size(), arena_, arena_bytes_, &core_, &error)) arena_bytes_ = 0;
  }
  ~SideBySide() {
    ingot_session_destroy(session_);
    ingot_model_destroy(whole_);
  }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

  bool is_open() const { return session_ && arena_bytes_ != 0; }
  const ingot_micro& core() const { return core_; }
  uint32_t arena_bytes() const { return arena_bytes_; }

  /// One run of both. @return what differs, "" for nothing
  std::string run(const FillInput& fill) {
    ingot_tensor t = {};
    ingot_micro_tensor m;
    for (uint32_t i = 0; ingot_session_input(session_, i, &t) == INGOT_OK; i++) {
      if (ingot_micro_input(&core_, i, &m) != 0 || m.bytes != t.bytes) return at("input", i);
      fill(i, t.data, t.bytes);
      fill(i, m.data, m.bytes);
    }
    ingot_error error = {};
    ingot_micro_error micro_error;
    const int32_t code = ingot_session_run(session_, &error),
                  core = ingot_micro_run(&core_, nullptr, nullptr, &micro_error);
    if (code != core) return "codes " + std::to_string(code) + " and " + std::to_string(core);
    if (code != 0) return "";
    for (uint32_t i = 0; ingot_session_output(session_, i, &t) == INGOT_OK; i++) {
      if (ingot_micro_output(&core_, i, &m) != 0 || m.bytes != t.bytes ||
          (m.bytes && std::memcmp(m.data, t.data, m.bytes) != 0))
        return at("output", i);
      for (uint64_t k = 0; k < t.bytes; k++)
        moved_ = moved_ || static_cast<const uint8_t*>(t.data)[k] != 0;
    }
    return compare_states();
  }

  /// Fresh states in both. @return what differs
  std::string reset() {
    if (ingot_session_reset_state(session_, nullptr) || ingot_micro_reset_state(&core_, nullptr))
      return "reset failed";
    return compare_states();
  }

  /// Bytes of all states, as the core has them.
  std::vector<uint8_t> states() const {
    micro::MicroModel model;
    std::memcpy(static_cast<void*>(&model), &core_, sizeof model);
    std::vector<uint8_t> bytes;
    micro::FlatReader r = micro::reader_of(model);
    const micro::FlatVector all = r.vector(r.load32(0), micro::program_field::kStates, 4);
    for (uint32_t i = 0; i < all.count; i++) {
      const uint32_t value = r.word(r.element(all, i), micro::state_field::kValue);
      micro::MicroValue v;
      if (!micro::read_value(model, value, &v, nullptr) || v.bytes == 0) continue;
      const uint8_t* from = micro::address_of(model, value, v);
      bytes.insert(bytes.end(), from, from + v.bytes);
    }
    return bytes;
  }

  /// Some output had a byte that is not zero.
  bool has_moved() const { return moved_; }

 private:
  ExactMemory arena_of(const std::vector<uint8_t>& file) {
    const ExactMemory ample(kAmpleArena);
    ingot_micro_error error;
    if (open_micro(image_, file.size(), ample, kAmpleArena, &core_, &error) == 0)
      arena_bytes_ = ingot_micro_arena_bytes(&core_);
    return ExactMemory(arena_bytes_);
  }
  static std::string at(const char* what, uint32_t i) {
    return std::string(what) + " " + std::to_string(i);
  }
  std::string compare_states() {
    std::vector<uint8_t> expected;
    ingot_tensor t = {};
    for (uint32_t i = 0; ingot_session_state(session_, i, &t) == INGOT_OK; i++)
      expected.insert(expected.end(), static_cast<uint8_t*>(t.data),
                      static_cast<uint8_t*>(t.data) + t.bytes);
    return expected == states() ? "" : "states";
  }

  uint32_t arena_bytes_ = 0;
  ingot_micro core_{};
  ExactMemory image_, arena_;
  ingot_model* whole_ = nullptr;
  ingot_session* session_ = nullptr;
  bool moved_ = false;
};

}  // namespace ingot::test
