// SPDX-License-Identifier: Apache-2.0
// tests/cuda/make_session.h - a session, or the test ends; on any device.
#pragma once
#include <stdexcept>
#include <utility>

#include "tests/session/session_models.h"

namespace ingot::test {

inline Session make(const Model& model, const ingot_session_options& options) {
  auto session = model.session(options);
  if (!session) throw std::runtime_error(session.error().text());
  return std::move(*session);
}

}  // namespace ingot::test
