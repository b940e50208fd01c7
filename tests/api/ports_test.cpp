// SPDX-License-Identifier: Apache-2.0
// ingot.hpp: a wrong name, type or index is an error that says what there is, and that ends a
// program which does not ask.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "ingot/cpu.h"
#include "ingot/pipeline.hpp"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// What a program says that does this, and whether it was ended by abort().
std::string said_before_abort(const std::function<void()>& act) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    act();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char block[256];
  for (ssize_t n; (n = ::read(ends[0], block, sizeof block)) > 0;) said.append(block, size_t(n));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  return said;
}

}  // namespace

TEST_CASE("ports: a name that does not exist is an error with the names that do") {
  FileBytes bytes(lookup_network());
  Model model = open_bytes_or_fail(bytes);
  Session session = std::move(model.session()).value();
  const auto typo = session.input<float>("tabel");
  REQUIRE(!typo);
  CHECK(typo.error().code == INGOT_NOT_FOUND);
  CHECK(typo.error().text() ==
        "no input named 'tabel'; did you mean 'table'? there are: 'table', 'indices'");
  CHECK(session.input("tabel").error().text() == typo.error().text());
  CHECK(model.input("tabel").error().text() == typo.error().text());
  CHECK(has(session.output<float>("z").error().text(), "no output named 'z'; "));
  CHECK(has(session.input<float>(7).error().text(),
            "no input named '7'; there are: 'table', 'indices'"));
  CHECK(session.input<float>(-1).error().code == INGOT_NOT_FOUND);
  CHECK(session.input<float>(int64_t{1} << 32).error().code == INGOT_NOT_FOUND);
  CHECK(session.input<float>(static_cast<const char*>(nullptr)).error().code == INGOT_NOT_FOUND);
  CHECK(has(session.state("h").error().text(), "'h': state variables; there are none"));
  CHECK(has(model.symbol(0).error().text(), "'0': symbols; there are none"));
  CHECK(model.metadata("no such key").error().code == INGOT_NOT_FOUND);
}

TEST_CASE("ports: an element type that is not the tensor's is an error with both") {
  FileBytes bytes(lookup_network());
  Model model = open_bytes_or_fail(bytes);
  Session session = std::move(model.session()).value();
  const auto wrong = session.input<float>("indices");
  CHECK(wrong.error().code == INGOT_DTYPE_MISMATCH);
  CHECK(wrong.error().text() ==
        "wrong element type 'indices': C++ type of the elements: expected i64, found f32");
  CHECK(session.input<double>(0).error().text() ==
        "wrong element type 'table': C++ type of the elements: expected f32, found f64");
  CHECK(session.input<int64_t>("indices")->size == 3);
  CHECK(session.input<float>(std::string("table"))->size == 32);
  CHECK(session.input<const float>(size_t{0})->size == 32);
}

TEST_CASE("ports: memory that is not there yet, and rows that lie apart, are errors") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  ingot_session_options options = session_options();
  options.flags = INGOT_CALLER_BINDS_PORTS;
  Session session = std::move(model.session(options)).value();
  CHECK(session.input(0)->data == nullptr);  // the view says what to bind
  CHECK(session.input<float>(0).error().code == INGOT_WRONG_STATE);
  float rows[12] = {};
  ingot_tensor tensor{};
  tensor.data = rows;
  tensor.dtype = INGOT_F32;
  tensor.rank = 2;
  tensor.dims[0] = 3, tensor.dims[1] = 2;
  tensor.row_stride = 4;
  tensor.bytes = 10 * sizeof(float);
  CHECK(elements<float>(tensor).error().code == INGOT_SHAPE_MISMATCH);
  tensor.row_stride = 2, tensor.bytes = sizeof(float) * 6;
  CHECK(elements<float>(tensor)->size == 6);
  tensor.dims[0] = 0, tensor.bytes = 0, tensor.data = nullptr;
  CHECK(elements<float>(tensor)->empty());
}

TEST_CASE("ports: whoever takes the value of an error is ended with its text, in every build") {
  FileBytes bytes(lookup_network());
  Model model = open_bytes_or_fail(bytes);
  Session session = std::move(model.session()).value();
  CHECK(has(said_before_abort([&] {
              for (float& x : session.input<float>("typo").value()) x = 1;
            }),
            "ingot: a result was used that is an error: no input named 'typo'"));
  CHECK(has(said_before_abort([&] { (*session.input<float>("indices"))[0] = 1; }),
            "expected i64, found f32"));
  CHECK(has(said_before_abort([&] { session.output<float>("typo")->begin(); }),
            "no output named 'typo'"));
  CHECK(has(said_before_abort(
                [&] { (void)Model::open("/no/such/file", ingot_cpu_kernels(nullptr))->session(); }),
            "the file cannot be opened '/no/such/file': No such file or directory"));
  CHECK(has(said_before_abort([&] { session.rebind("n", 3).value(); }), "an error"));
}

TEST_CASE("ports: a dimension that does not exist comes with those that do") {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes);
  const ingot_binding wrong{"m", 4};
  ingot_session_options options = session_options();
  options.bindings = &wrong, options.binding_count = 1;
  const std::string there = "'" + std::string(model.symbol(0)->name) + "'";
  CHECK(has(model.session(options).error().text(), there.c_str()));
  CHECK(has(model.requirements(options).error().text(), there.c_str()));
}

TEST_CASE(
    "ports: of a pipeline too; what fills a slot may fail, and nothing waits for a run that nobody "
    "started") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  Pipeline pipeline = std::move(Pipeline::create(model)).value();
  CHECK(pipeline.input<float>(0).error().code == INGOT_WRONG_STATE);
  CHECK(pipeline.release().error().code == INGOT_WRONG_STATE);
  const auto filled = pipeline.push([](Pipeline& p) -> Result<void> {
    const auto x = p.input<float>("typo");
    if (!x) return x.error();
    return {};
  });
  CHECK(filled.error().code == INGOT_NOT_FOUND);
  CHECK(has(filled.error().text(), "no input named 'typo'; "));
  REQUIRE(pipeline.push([](Pipeline& p) { write(p.input("x"), ramp(32)); }).ok());
  REQUIRE(pipeline.pop().ok());
  CHECK(pipeline.output<float>(0)->size == 32);
  CHECK(pipeline.output<int32_t>(0).error().code == INGOT_DTYPE_MISMATCH);
  CHECK(pipeline.release().ok());
  CHECK(pipeline.finish().ok());
  Session session = std::move(model.session()).value();
  CHECK(session.has_ended());
}
