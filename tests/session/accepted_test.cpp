// SPDX-License-Identifier: Apache-2.0
// Every accepted file gives the same answers on each plan that a session may have: the file's own,
// values kept, ports in the caller's memory, an arena that can be rebound, several threads; and
// whatever the caller's floating-point state is.
#include <doctest/doctest.h>

#include <cfenv>
#include <filesystem>

#include "tests/session/session_models.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace ingot;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<uint8_t>;

/// Free symbols at a number within their bounds that makes a session.
std::vector<ingot_binding> bindings_of(const Model& model) {
  for (const int64_t wanted : {4, 2, 3, 1, 8}) {
    std::vector<ingot_binding> out;
    ingot_symbol symbol = {};
    for (uint32_t i = 0; ingot_model_symbol(model.get(), i, &symbol) == INGOT_OK; i++) {
      const int64_t low = symbol.low > wanted ? symbol.low : wanted;
      out.push_back({symbol.name, symbol.high > 0 && symbol.high < low ? symbol.high : low});
    }
    ingot_session_options options = session_options();
    options.bindings = out.data(), options.binding_count = out.size();
    if (model.requirements(options).ok()) return out;
  }
  return {};
}

void fill(const ingot_tensor& tensor, uint32_t seed) {
  Bytes bytes(tensor.bytes);
  if (tensor.dtype == INGOT_F32) {
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      seed = seed * 1664525 + 1013904223;
      const float value = float(int32_t(seed >> 8) % 2001 - 1000) / 512.0f;  // exact
      std::memcpy(&bytes[i], &value, 4);
    }
  } else if (tensor.dtype == INGOT_BOOL) {
    for (uint8_t& b : bytes) b = 1;
  }
  if (!bytes.empty()) std::memcpy(tensor.data, bytes.data(), bytes.size());
}

struct Plan {
  const char* name;
  uint32_t flags;
  int32_t threads;
};
constexpr Plan kPlans[] = {
    {"plain", 0, 1},
    {"kept", INGOT_KEEP_VALUES, 1},
    {"the caller's ports", INGOT_CALLER_BINDS_PORTS, 1},
    {"kept, the caller's ports", INGOT_KEEP_VALUES | INGOT_CALLER_BINDS_PORTS, 1},
    {"rebindable", INGOT_REBINDABLE, 1},
    {"rebindable, kept", INGOT_REBINDABLE | INGOT_KEEP_VALUES, 1},
    {"poisoned, threads", INGOT_POISON, 3}};

/// Outputs of two runs, states between them.
Bytes answers(const Model& model, const Plan& plan) {
  ingot_session_options options = session_options();
  const std::vector<ingot_binding> bindings = bindings_of(model);
  options.bindings = options.upper_bounds = bindings.data();
  options.binding_count = options.upper_bound_count = bindings.size();
  if (!(plan.flags & INGOT_REBINDABLE))
    options.upper_bounds = nullptr, options.upper_bound_count = 0;
  options.flags = plan.flags, options.threads = plan.threads;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  std::vector<std::unique_ptr<AlignedBlock>> memory;
  const auto place = [&](ingot_tensor tensor) {
    memory.push_back(std::make_unique<AlignedBlock>(tensor.bytes, 64));
    tensor.data = memory.back()->data();
    return tensor;
  };
  const ingot_model_summary summary = model.summary();
  for (uint32_t i = 0; plan.flags & INGOT_CALLER_BINDS_PORTS && i < summary.input_count; i++)
    REQUIRE(session->bind_input(i, place(session->input(i).value())).ok());
  for (uint32_t i = 0; plan.flags & INGOT_CALLER_BINDS_PORTS && i < summary.output_count; i++)
    REQUIRE(session->bind_output(i, place(session->output(i).value())).ok());
  Bytes out;
  for (uint32_t run = 0; run < 2; run++) {
    for (uint32_t i = 0; i < summary.input_count; i++) fill(session->input(i).value(), i + run);
    const auto ran = session->run();
    REQUIRE_MESSAGE(ran.ok(), ran.error().text());
    for (uint32_t i = 0; i < summary.output_count; i++) {
      const ingot_tensor y = session->output(i).value();
      const uint8_t* data = static_cast<const uint8_t*>(y.data);
      out.insert(out.end(), data, data + y.bytes);
    }
  }
  return out;
}

template <class Check>
void for_accepted(const Check& check) {
  int count = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(fs::path(INGOT_SOURCE_DIR) / "tests/golden/accept")) {
    if (entry.path().extension() != ".ingot") continue;
    CAPTURE(entry.path().string());
    auto model = Model::open(entry.path().c_str(), open_options(oracle_table()));
    REQUIRE_MESSAGE(model.ok(), model.error().text());
    check(*model);
    count++;
  }
  CHECK(count >= 30);
}

}  // namespace

TEST_CASE("accepted: the same answers on every plan") {
  for_accepted([](const Model& model) {
    const Bytes expected = answers(model, kPlans[0]);
    for (const Plan& plan : kPlans) {
      CAPTURE(plan.name);
      CHECK(answers(model, plan) == expected);
    }
  });
}

TEST_CASE("accepted: a part that was overwritten in place shows in its whole, values kept or not") {
  auto model = Model::open(INGOT_SOURCE_DIR "/tests/golden/accept/v1/in_place_of_a_part.ingot",
                           open_options(oracle_table()));
  REQUIRE(model.ok());
  CHECK(answers(*model, kPlans[1]) == answers(*model, kPlans[0]));
  CHECK(answers(*model, kPlans[3]) == answers(*model, kPlans[0]));
}

TEST_CASE("accepted: the caller's floating-point state changes no answer, and comes back") {
  for_accepted([](const Model& model) {
    for (const Plan& plan : {kPlans[0], Plan{"threads", 0, 3}}) {
      const Bytes expected = answers(model, plan);
      for (const int rounding : {FE_UPWARD, FE_TOWARDZERO}) {
        REQUIRE(std::fesetround(rounding) == 0);
        const Bytes found = answers(model, plan);
        const int left = std::fegetround();
        std::fesetround(FE_TONEAREST);
        CHECK(found == expected);
        CHECK(left == rounding);
      }
#if defined(__SSE2__)
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | 0x8040);  // subnormal numbers flushed, as inputs too
      const Bytes found = answers(model, plan);
      const unsigned left = _mm_getcsr();
      _mm_setcsr(before);
      CHECK(found == expected);
      CHECK((left & 0x8040) == 0x8040);
#endif
    }
  });
}
