// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/attributes_test.cpp - an attribute that no operator knows is refused by every
// operator, and one that could be read in two ways is an error. That none of the known ones is
// ignored is shown by tests/frameworks/onnx_backend/run_attributes.py.
#include <doctest/doctest.h>

#include "tools/import/onnx/call.h"
#include "tools/import/onnx/no_effect.h"

using namespace ingot;
using namespace ingot::onnx;

namespace {

/// What one node of `inputs` inputs gives: "", "error: ...", or the refused attributes.
std::string outcome(Text op, const Translation& translate, size_t inputs,
                    const std::vector<Attribute>& attributes) {
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  const Model source;
  const ImportOptions options;
  Translator translator(source, "net.onnx", "", options);
  Scope scope;
  scope.graph = &translator.model.graph;
  Node node;
  node.op = op;
  node.attributes = attributes;
  for (size_t i = 0; i < inputs; i++) {
    scope.names[kNames[i]] = translator.model.add_value(kNames[i], DType::kF32);
    node.inputs.push_back(kNames[i]);
  }
  node.outputs = {"y"};
  Call call(translator, scope, node, kNewestOpset);
  try {
    translate(call);
    if (!call.refused()) call.refuse_unknown_attributes();
  } catch (const graph::ConversionError& error) {
    return "error: " + error.message;
  }
  std::string all;
  for (const graph::Unsupported& u : translator.unsupported) all += u.attribute + " ";
  return all;
}
Attribute integer(Text name, int64_t value, int32_t type = kAttributeInt) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = type;
  attribute.i = value;
  return attribute;
}

}  // namespace

TEST_CASE("every operator refuses an attribute of a newer opset by name") {
  size_t operators = 0;
  for (const auto& [name, translate] : translate_table()) {
    bool taken = false;
    const std::string op(name);
    for (size_t n = 0; n <= 8; n++) {
      const std::string plain = outcome(name, translate, n, {});
      if (!plain.empty()) continue;  // wants other inputs, attributes or a graph
      taken = true;
      CHECK_MESSAGE(
          outcome(name, translate, n, {integer("of_a_newer_onnx", 1)}) == "of_a_newer_onnx ", op);
    }
    operators += taken;
  }
  CHECK(operators >= 150);
}

TEST_CASE("an attribute that can be read in two ways is an error") {
  const Translation softmax = translate_table().at("Softmax");
  const auto said = [&](const std::vector<Attribute>& attributes) {
    return outcome("Softmax", softmax, 1, attributes);
  };
  CHECK(said({integer("axis", 1)}) == "");
  CHECK(said({integer("axis", 1), integer("axis", 0)}).find("'axis' stands twice") !=
        std::string::npos);
  CHECK(said({integer("axis", 1, kAttributeUndefined)}).find("'axis' has no type, expected INT") !=
        std::string::npos);
  Attribute referring = integer("axis", 0);
  referring.reference = "its_axis";
  CHECK(said({referring}).find("refers to an argument of a function") != std::string::npos);
}

TEST_CASE("attributes without effect are of operators that there are") {
  for (const NoEffect& row : attributes_without_effect()) {
    const std::string op = row.op;
    CHECK_MESSAGE((op == "*" || translate_table().count(op)), op);
  }
}
