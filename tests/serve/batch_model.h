// SPDX-License-Identifier: Apache-2.0
// tests/serve/batch_model.h - a repository with one model whose batch is open, and requests to it.
#pragma once
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"
#include "tests/serve/server_process.h"

namespace serve_test {

using cli_test::has;

/// One version of a model of x f32 [N,4] and y f32 [N,3].
struct Models {
  cli_test::Folder folder;
  std::string root = folder / "models", file = cli_test::converted(folder, "batch");
  Models() { add(); }
  void add() const {
    const cli_test::Ran ran = cli_test::run({"registry", "add", file, "batch", "--root", root});
    CAPTURE(ran.err);
    REQUIRE(ran.exit == 0);
  }
};

inline const std::string kInfer = "/v2/models/batch/infer";
inline std::string request_of(int rows, const std::string& more = "") {
  std::string data;
  for (int i = 0; i < rows * 4; i++) data += (i ? "," : "") + std::to_string(i % 7);
  return "{" + more + "\"inputs\":[{\"name\":\"x\",\"shape\":[" + std::to_string(rows) +
         ",4],\"datatype\":\"FP32\",\"data\":[" + data + "]}]}";
}
/// Asks until the metric of the one model has this value; what a sleep would only guess.
inline void await(Connection& asks, const std::string& metric, int value) {
  const std::string line = "\ningot_" + metric + "_requests{model=\"batch\",version=\"1\"} " +
                           std::to_string(value) + "\n";
  for (int i = 0; i < 12000; i++) {
    asks.send(get("/metrics"));
    if (has(asks.answer(), line)) return;
    usleep(5000);
  }
  FAIL("a minute without" << line);
}
/// Zeros, compressed by gzip.
inline std::string bomb(const std::string& bytes = "3000000") {
  const cli_test::Folder folder;
  const std::string file = folder / "zeros.gz";
  REQUIRE(std::system(("head -c " + bytes + " /dev/zero | gzip -9 >" + file).c_str()) == 0);
  return cli_test::slurp(file);
}
/// A request to a path of OpenAI's protocol that is refused: by what status, with which words, for
/// which field of the body ("": none).
struct RefusedCase {
  std::string request;
  int status;
  std::string text, field;
};
inline void check_refused(uint16_t port, const std::vector<RefusedCase>& cases) {
  for (const RefusedCase& c : cases) {
    const std::string answer = ask(port, c.request);
    CAPTURE(c.request.substr(0, 300));
    CAPTURE(answer);
    CHECK(status(answer) == c.status);
    CHECK(has(answer, c.text));
    CHECK(has(answer, "{\"error\":{\"message\":\""));
    CHECK(has(answer, c.field.empty() ? "\"param\":null" : "\"param\":\"" + c.field + "\""));
  }
}
inline bool goes_on(uint16_t port) { return status(ask(port, post(kInfer, request_of(1)))) == 200; }

}  // namespace serve_test
