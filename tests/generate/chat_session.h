// SPDX-License-Identifier: Apache-2.0
// tests/generate/chat_session.h - a session of the model of small_chat_model.h.
#pragma once
#include "tests/generate/small_chat_model.h"
#include "tests/session/counting_allocator.h"
#include "tests/session/session_models.h"

namespace ingot::test {

inline Session chat_session(const Model& model, int threads = 1) {
  const ingot_binding one = {"T", 1};
  ingot_session_options options = with_threads(threads, INGOT_REBINDABLE);
  options.bindings = &one;
  options.binding_count = 1;
  auto session = model.session(options);
  REQUIRE(session.ok());
  return std::move(*session);
}

}  // namespace ingot::test
