// SPDX-License-Identifier: Apache-2.0
// Text as an input or output of a model, which nothing here computes with.
#include "tests/import/onnx/import_helpers.h"

using namespace ingot;
using namespace ingot::test;

namespace {

Proto texts(const std::string& name, const std::vector<std::string>& all) {
  Proto out = Proto().text(1, name);
  for (const std::string& each : all) out.text(9, each);
  return out.varint(20, 8);
}

}  // namespace

TEST_CASE("refuse: text at the borders of a graph is one line that says where to cut it") {
  constexpr int kText = 8;
  OnnxGraph in;  // words -> ids -> rows of a table, beside an ordinary input
  in.input("words", {"n"}, kText).input("scale", {1}).output("y");
  in.initializer("table", {2, 3}, std::vector<float>(6, 1));
  in.node("StringNormalizer", {"words"}, {"lower"});
  in.node(
      "LabelEncoder", {"lower"}, {"ids"},
      {texts("keys_strings", {"a", "b"}), attribute("values_int64s", std::vector<int64_t>{0, 1})},
      "ai.onnx.ml");
  in.node("Gather", {"table", "ids"}, {"rows"}).node("Mul", {"rows", "scale"}, {"y"});
  graph::ConversionError error = import_error(in.bytes(18));
  CHECK(error.exit_code == 4);
  REQUIRE(error.unsupported.size() == 1);
  CHECK(error.unsupported[0].output == "words");
  CHECK(error.unsupported[0].why.find("is text") == 0);
  CHECK(error.unsupported[0].hint ==
        "cut it off: onnx.utils.extract_model(MODEL, CUT, ['scale', 'ids'], ['y']); what "
        "StringNormalizer, LabelEncoder did is the caller's");

  OnnxGraph out;  // x -> the place of the largest -> its name, beside the probabilities
  out.input("x", {"n", 2}).output("label").output("p");
  out.node("ArgMax", {"x"}, {"place"}, {attribute("axis", int64_t(1))});
  out.node("LabelEncoder", {"place"}, {"label"},
           {texts("values_strings", {"cat", "dog"}),
            attribute("keys_int64s", std::vector<int64_t>{0, 1})},
           "ai.onnx.ml");
  out.node("Softmax", {"x"}, {"p"});
  error = import_error(out.bytes(18));
  REQUIRE(error.unsupported.size() == 1);
  CHECK(error.unsupported[0].op == "output");
  CHECK(error.unsupported[0].hint ==
        "cut it off: onnx.utils.extract_model(MODEL, CUT, ['x'], ['place', 'p']); what "
        "LabelEncoder did is the caller's");
}
