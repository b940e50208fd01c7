// SPDX-License-Identifier: Apache-2.0
// `ingot generate` and `bench --prompt` on files that are no language model: refused by name,
// whatever their ports are; nothing is written beside one.
#include <doctest/doctest.h>

#include "tests/cli/command_line.h"
#include "tests/format/small_files.h"
#include "tools/compile/write/file_writer.h"

using namespace ingot;
using namespace cli_test;

namespace {

struct Ports {
  DType tokens, position, logits;
  std::vector<Dim> place = {1};
};

/// Ports with the names of a language model.
std::string with_ports(const Folder& folder, const Ports& ports) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  const Dim length = p.add_symbol("T", 1, 8);
  p.add_value(test::input("tokens", {1, length}, ports.tokens));
  p.add_value(test::input("position", ports.place, ports.position));
  const int32_t x = p.add_value(test::input("x", {1, 4}, ports.logits)),
                y = p.add_value(test::output("logits", {1, 4}, ports.logits));
  p.add_instruction(CopyAttributes{}, {x}, {y});
  test::add_ports(&file);
  const std::string path = folder / "net.ingot";
  convert::write_file(file, path);
  return path;
}

}  // namespace

TEST_CASE("generation: ports of other types and sizes, and none") {
  const Folder folder;
  const struct {
    Ports ports;
    const char* says;
  } rows[] = {
      {{DType::kF64, DType::kI64, DType::kF32}, "element type 'tokens'"},
      {{DType::kI8, DType::kI64, DType::kF32}, "element type 'tokens'"},
      {{DType::kI32, DType::kI32, DType::kF32}, "'position': "},
      {{DType::kI32, DType::kI64, DType::kF32, {0}}, "'position': "},
      {{DType::kI32, DType::kI64, DType::kI64}, "element type 'logits'"},
  };
  for (const auto& row : rows) {
    const std::string file = with_ports(folder, row.ports);
    const Ran ran = run({"bench", file, "--prompt", "4", "--generate", "0", "--seconds", "0"});
    CAPTURE(ran.err);
    CHECK(ran.exit == 5);
    CHECK(has(ran.err, row.says));
    CHECK(is_one_error_line(ran.err));
    const Ran text = run({"generate", file, "--prompt", "a"});
    CHECK(text.exit == 5);
    CHECK(has(text.err, "has no tokenizer"));
  }
  const std::string other = converted(folder, "linear");
  const Ran ran = run({"bench", other, "--prompt", "4"});
  CHECK(ran.exit == 5);
  CHECK(has(ran.err, "is no language model"));
  CHECK(run({"bench", other, "--prompt", "0"}).exit == 1);
  CHECK(run({"bench", other, "--prompt", "four"}).exit == 1);
}
