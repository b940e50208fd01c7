// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/sequences.h - the sequences of a model with state: what each keeps from one
// request to the next. A sequence begins with a request that says so and ends with one that says
// so, or when no request came for a while.
// Threads  one at a time: the owner locks.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ingot::serve {

struct Sequence {
  std::vector<uint8_t> state;  // as a session saves it
  bool runs = false;           // a request of it is computed: the next one waits
  bool ends = false;           // its last request has come
  uint64_t waiting = 0;        // its requests that have not ended
  uint64_t used_ns = 0;        // of ingot_clock_ns(), when its last request came
  uint64_t kept_bytes = 0;     // of the state, when its last request ended
};

class Sequences {
 public:
  /// @param most sequences at once. @param idle_ns after which one without requests is forgotten
  Sequences(size_t most, uint64_t idle_ns) : most_(most), idle_ns_(idle_ns) {}

  /// The sequence of a request that comes now, one request more waiting in it.
  /// @throws ServeError where it has not begun, there are too many, or the id is too long
  std::shared_ptr<Sequence> enter(const std::string& id, bool starts, bool ends);
  /// A request of it has ended; after the last one of a sequence that ends it is forgotten.
  /// @param ran false: it was late, and another one of the sequence may run
  void leave(const std::string& id, const std::shared_ptr<Sequence>& sequence, bool ran);
  size_t count() const { return all_.size(); }
  /// What they keep: names and states.
  uint64_t bytes() const;
  /// @throws ServeError kInvalid of an id that is too long to be kept
  static void check_id(const std::string& id);

 private:
  void forget_idle(uint64_t now);

  const size_t most_;
  const uint64_t idle_ns_;
  std::map<std::string, std::shared_ptr<Sequence>> all_;
};

}  // namespace ingot::serve
