// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/functions_test.cpp - functions that a model brings with it.
#include "tests/import/onnx/import_helpers.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("import: functions of the model are inlined, with their attributes") {
  Proto body = Proto().text(1, "Leak").text(4, "a").text(5, "b").text(6, "slope").text(10, "own");
  Proto leaky = Proto()
                    .text(1, "a")
                    .text(2, "b")
                    .text(4, "LeakyRelu")
                    .message(5, Proto().text(1, "alpha").varint(20, 1).text(21, "slope"));
  body.message(7, leaky).message(9, Proto().text(1, "").varint(2, 16));
  OnnxGraph g;
  g.input("x", {2}).output("y").node("Leak", {"x"}, {"y"}, {attribute("slope", 0.25f)}, "own");
  Proto model = g.model(16).message(8, Proto().text(1, "own").varint(2, 1)).message(25, body);
  const graph::Model made = onnx::import_onnx_bytes(model.bytes, "test.onnx", "");
  REQUIRE(operators(made.graph) == "LeakyRelu");
  CHECK(made.graph.nodes[0].number(attr::alpha, 0) == 0.25);
  OnnxGraph more;
  more.input("x", {2}).output("y").node(
      "Leak", {"x"}, {"y"}, {attribute("slope", 0.25f), attribute("clip", 0.5f)}, "own");
  const graph::ConversionError error = import_error(
      more.model(16).message(8, Proto().text(1, "own").varint(2, 1)).message(25, body).bytes);
  CHECK(error.exit_code == 4);
  REQUIRE(error.unsupported.size() == 1);
  CHECK(error.unsupported[0].attribute == "clip");
  CHECK(error.unsupported[0].why == "the function of the model has no such attribute");
}
