// SPDX-License-Identifier: Apache-2.0
// tests/cuda/branch_inputs.h - sessions of branching_networks.h and their inputs, on any device.
#pragma once
#include "tests/cuda/branching_networks.h"
#include "tests/cuda/make_session.h"

namespace ingot::test {

struct LoopInputs {
  int64_t count, end;
};
inline void fill_loop(Session& session, const LoopInputs& in) {
  write(session.input("count"), std::vector<int64_t>{in.count});
  write(session.input("end"), std::vector<int64_t>{in.end});
  write(session.input("x"), ramp(32));
}
inline void fill_nested(Session& session, bool outer, bool inner, const LoopInputs& in) {
  write(session.input("outer"), std::vector<uint8_t>{outer});
  write(session.input("inner"), std::vector<uint8_t>{inner});
  fill_loop(session, in);
}

}  // namespace ingot::test
