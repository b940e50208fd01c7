// SPDX-License-Identifier: Apache-2.0
// The caller's memory for inputs and outputs: checked, used in place, read only where it is an
// input.
#include <doctest/doctest.h>

#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

ingot_tensor with_memory(ingot_tensor tensor, void* memory) {
  tensor.data = memory;
  return tensor;
}

}  // namespace

TEST_CASE(
    "ports: bound memory is used in place, inputs keep their contents, and binding null goes "
    "back") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  const std::vector<float> x = ramp(32);
  for (const uint32_t flags : {0u, uint32_t{INGOT_CALLER_BINDS_PORTS}}) {
    CAPTURE(flags);
    auto session = model.session(with_threads(1, flags));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    AlignedBlock in(128, 64), out(128, 64), out2(128, 64);
    std::memcpy(in.data(), x.data(), 128);
    if (flags) {
      CHECK(session->input(0)->data == nullptr);
      CHECK(session->run().error().code == INGOT_WRONG_STATE);
      CHECK(std::string(session->run().error().name) == "x");
      CHECK(model.requirements(with_threads(1, flags)).value().activations <
            model.requirements(with_threads(1)).value().activations);
    } else {
      write(session->input(0), x);
      REQUIRE(session->run().ok());
    }
    REQUIRE(session->bind_input(0, with_memory(session->input(0).value(), in.data())).ok());
    if (flags) CHECK(std::string(session->run().error().name) == "y");
    REQUIRE(session->bind_output(0, with_memory(session->output(0).value(), out.data())).ok());
    REQUIRE(session->run().ok());
    CHECK(std::memcmp(in.data(), x.data(), 128) == 0);
    CHECK(session->output(0)->data == out.data());
    REQUIRE(session->bind_output(0, with_memory(session->output(0).value(), out2.data())).ok());
    REQUIRE(session->run().ok());
    CHECK(std::memcmp(out.data(), out2.data(), 128) == 0);
    for (size_t i = 0; i < 32; i++)
      CHECK(reinterpret_cast<float*>(out.data())[i] == (x[i] > 0 ? 0.0f : x[i]) + float(i % 8));
    Error error;
    const ingot_code back = ingot_session_bind_input(session->get(), 0, nullptr, &error);
    CHECK(back == (flags ? INGOT_WRONG_STATE : INGOT_OK));
    if (flags) continue;
    REQUIRE(ingot_session_bind_output(session->get(), 0, nullptr, &error) == INGOT_OK);
    write(session->input(0), std::vector<float>(32, 0.0f));
    REQUIRE(session->run().ok());
    CHECK(read<float>(session->output(0))[3] == 3.0f);
    CHECK(reinterpret_cast<float*>(out2.data())[3] == reinterpret_cast<float*>(out.data())[3]);
  }
}

TEST_CASE("ports: an output that lies in an intermediate, and another that lies in that output") {
  FileBytes bytes(in_place_ports_network());
  Model model = open_bytes_or_fail(bytes);
  const std::vector<float> x = ramp(16);
  for (const uint32_t flags : {0u, uint32_t{INGOT_CALLER_BINDS_PORTS}}) {
    CAPTURE(flags);
    auto session = model.session(with_threads(1, flags));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    AlignedBlock in(64, 64), y(64, 64), flat(64, 64);
    std::memcpy(in.data(), x.data(), 64);
    REQUIRE(session->bind_input(0, with_memory(session->input(0).value(), in.data())).ok());
    if (!flags) {
      REQUIRE(session->run().ok());
      CHECK(read<float>(session->output("y"))[15] == -x[15]);
      CHECK(read<float>(session->output("flat"))[0] == 0.0f);
    }
    std::memset(y.data(), 0x55, 64), std::memset(flat.data(), 0x55, 64);
    REQUIRE(session->bind_output(0, with_memory(session->output(0).value(), y.data())).ok());
    if (!flags) {
      REQUIRE(session->run().ok());
      CHECK(read<float>(session->output("flat"))[15] == -x[15]);
    }
    REQUIRE(session->bind_output(1, with_memory(session->output(1).value(), flat.data())).ok());
    const auto ran = session->run();
    REQUIRE_MESSAGE(ran.ok(), ran.error().text());
    CHECK(std::memcmp(in.data(), x.data(), 64) == 0);
    CHECK(std::memcmp(y.data(), flat.data(), 64) == 0);
    for (size_t i = 0; i < 16; i++)
      CHECK(reinterpret_cast<float*>(y.data())[i] == (x[i] > 0 ? -x[i] : 0.0f));
  }
}

TEST_CASE("ports: what does not fit is named with both numbers") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(with_threads(1));
  REQUIRE(session.ok());
  AlignedBlock memory(256, 64);
  const ingot_tensor good = with_memory(session->input(0).value(), memory.data());
  struct Case {
    const char* what;
    void (*spoil)(ingot_tensor*);
    ingot_code code;
  };
  const Case cases[] = {
      {"dtype", [](ingot_tensor* t) { t->dtype = INGOT_I32; }, INGOT_DTYPE_MISMATCH},
      {"dtype out of range", [](ingot_tensor* t) { t->dtype = 99; }, INGOT_INVALID_ARGUMENT},
      {"rank", [](ingot_tensor* t) { t->rank = 1; }, INGOT_SHAPE_MISMATCH},
      {"rank out of range", [](ingot_tensor* t) { t->rank = 9; }, INGOT_INVALID_ARGUMENT},
      {"dims", [](ingot_tensor* t) { t->dims[0] = 5; }, INGOT_SHAPE_MISMATCH},
      {"negative dims", [](ingot_tensor* t) { t->dims[0] = -4; }, INGOT_INVALID_ARGUMENT},
      {"stride below the row", [](ingot_tensor* t) { t->row_stride = 7; }, INGOT_SHAPE_MISMATCH},
      {"stride beyond the row", [](ingot_tensor* t) { t->row_stride = 16; }, INGOT_SHAPE_MISMATCH},
      {"overflowing stride", [](ingot_tensor* t) { t->row_stride = INT64_MAX; },
       INGOT_SHAPE_MISMATCH},
      {"alignment", [](ingot_tensor* t) { t->data = static_cast<char*>(t->data) + 4; },
       INGOT_MISALIGNED},
      {"size", [](ingot_tensor* t) { t->bytes--; }, INGOT_SHAPE_MISMATCH},
      {"null", [](ingot_tensor* t) { t->data = nullptr; }, INGOT_INVALID_ARGUMENT},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    ingot_tensor tensor = good;
    c.spoil(&tensor);
    const auto bound = session->bind_input(0, tensor);
    CHECK(bound.error().code == c.code);
    CHECK_FALSE(bound.error().text().empty());
  }
  CHECK(session->bind_input(1, good).error().code == INGOT_NOT_FOUND);
  CHECK(session->bind_input(0, good).ok());
}

namespace {

/// y = -x, and z = x + y or -y: whether x is read behind the instruction that writes y.
convert::FileSpec two_outputs_network(bool reads_again) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {16})), y = p.add_value(output("y", {16})),
                z = p.add_value(output("z", {16}));
  p.add_instruction(step(ElementwiseOp::kNeg), {x}, {y});
  if (reads_again)
    p.add_instruction(step(ElementwiseOp::kAdd), {x, y}, {z});
  else
    p.add_instruction(step(ElementwiseOp::kNeg), {y}, {z});
  add_ports(&file);
  return file;
}

}  // namespace

TEST_CASE("ports: an output may lie on an input only where that was read before it is written") {
  for (const bool reads_again : {false, true}) {
    CAPTURE(reads_again);
    FileBytes bytes(two_outputs_network(reads_again));
    Model model = open_bytes_or_fail(bytes);
    auto session = model.session(with_threads(1));
    REQUIRE(session.ok());
    AlignedBlock shared(256, 64), other(256, 64);
    const std::vector<float> x = ramp(16);
    const auto at = [&](const Result<ingot_tensor>& port, void* memory) {
      return with_memory(port.value(), memory);
    };
    // y onto x: one instruction reads x and writes y element by element
    REQUIRE(session->bind_input(0, at(session->input(0), shared.data())).ok());
    const auto bound = session->bind_output(0, at(session->output(0), shared.data()));
    CHECK(bound.ok() == !reads_again);
    if (!bound.ok()) {
      CHECK(bound.error().code == INGOT_INVALID_ARGUMENT);
      CHECK(std::string(bound.error().name) == "y");
    }
    std::memcpy(shared.data(), x.data(), 64);
    REQUIRE(session->run().ok());
    CHECK(read<float>(session->output(0))[1] == -x[1]);
    CHECK(read<float>(session->output(1))[1] == (reads_again ? 0.0f : x[1]));
    // z onto x: written last
    session = model.session(with_threads(1));
    REQUIRE(session->bind_input(0, at(session->input(0), shared.data())).ok());
    CHECK(session->bind_output(1, at(session->output(1), shared.data())).ok());
    // half onto x
    CHECK(session->bind_output(0, at(session->output(0), shared.data() + 64)).ok());
    // z onto y
    CHECK(session->bind_output(1, at(session->output(1), shared.data() + 64)).error().code ==
          INGOT_INVALID_ARGUMENT);
    // buffers that take turns: looked at by the run, when both are bound
    session = model.session(with_threads(1));
    REQUIRE(session->bind_input(0, at(session->input(0), shared.data())).ok());
    REQUIRE(session->bind_output(0, at(session->output(0), other.data())).ok());
    std::memcpy(shared.data(), x.data(), 64);
    REQUIRE(session->run().ok());
    REQUIRE(session->bind_input(0, at(session->input(0), other.data())).ok());
    CHECK(session->run().ok() == !reads_again);
    REQUIRE(session->bind_output(0, at(session->output(0), shared.data())).ok());
    REQUIRE(session->run().ok());
  }
}
