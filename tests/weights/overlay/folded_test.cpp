// SPDX-License-Identifier: Apache-2.0
// Exports in which constants stand for weights: a checkpoint over them is refused, unless it is
// said that they stay. The files are written by make_folded.py.
#include <doctest/doctest.h>

#include "tools/compile/convert/convert.h"

using namespace ingot;

namespace {

std::string data(const std::string& name) { return std::string(INGOT_OVERLAY_DATA) + "/" + name; }

convert::ConvertOptions over(const std::string& name) {
  convert::ConvertOptions options;
  options.weights.checkpoint = data(name + ".pth");
  return options;
}

struct Refusal {
  int exit_code = 0;
  std::string text;
};
Refusal refusal(const std::string& name, const convert::ConvertOptions& options) {
  Refusal out;
  try {
    (void)convert::convert_source(data(name + ".onnx"), options);
  } catch (const graph::ConversionError& error) {
    out.exit_code = error.exit_code;
    out.text = error.message;
    for (const graph::Unsupported& row : error.unsupported)
      out.text += "\n" + row.op + ": " + row.why + "; " + row.hint;
  }
  return out;
}

}  // namespace

TEST_CASE(
    "constants that an exporter computed from weights are refused, by name and with a way out") {
  struct Case {
    const char *name, *constant, *why;
  };
  for (const Case& c : {Case{"lstm_cell", "linear", "holds the architecture's 'cell.bias_hh'"},
                        Case{"gru_cell", "linear_1", "holds the architecture's 'cell.bias_hh'"},
                        Case{"row", "embedding_1", "holds the architecture's 'table.weight'"},
                        Case{"scaled", "exp", "is in no tensor of the checkpoint"}}) {
    CAPTURE(c.name);
    const Refusal refused = refusal(c.name, over(c.name));
    CAPTURE(refused.text);
    CHECK(refused.exit_code == 5);
    CHECK(refused.text.find("--partial") != std::string::npos);
    CHECK(refused.text.find(std::string("kept '") + c.constant + "'") != std::string::npos);
    CHECK(refused.text.find(c.why) != std::string::npos);
    CHECK(refused.text.find("export without folding") != std::string::npos);
    CHECK(refusal(c.name, {}).exit_code == 0);  // the architecture alone
    convert::ConvertOptions said = over(c.name);
    said.weights.allow_missing = {c.constant};
    CHECK(refusal(c.name, said).exit_code == 0);
    said = over(c.name);
    said.weights.partial = true;
    CHECK(refusal(c.name, said).exit_code == 0);
  }
}

TEST_CASE("constants that a program states or makes by a formula are no weights") {
  const Refusal refused = refusal("stated", over("stated"));
  CAPTURE(refused.text);
  CHECK(refused.exit_code == 0);
}

TEST_CASE(
    "--partial leaves what has no partner on either side, and is no way to convert another "
    "network") {
  convert::ConvertOptions options = over("row");
  options.weights.checkpoint = data("scaled.pth");  // head.* fits, the rest belongs to nobody
  const Refusal refused = refusal("row", options);
  CAPTURE(refused.text);
  CHECK(refused.exit_code == 5);
  CHECK(refused.text.find("missing 'table.weight'") != std::string::npos);
  CHECK(refused.text.find("unexpected 'scale'") != std::string::npos);
  options.weights.partial = true;
  CHECK(refusal("row", options).exit_code == 0);
  options = over("lstm_cell");
  options.weights.checkpoint = data("stated.pth");
  options.weights.partial = true;
  CHECK(refusal("lstm_cell", options).exit_code == 5);  // head.weight has another shape
}
