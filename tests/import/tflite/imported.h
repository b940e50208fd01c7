// SPDX-License-Identifier: Apache-2.0
// tests/import/tflite/imported.h - what the importer makes of a small model, or says of it.
#pragma once
#include <doctest/doctest.h>

#include "tests/checkpoint/support.h"
#include "tests/import/tflite/models.h"
#include "tools/files/output_file.h"
#include "tools/import/tflite/import.h"

namespace ingot::test {

struct Made {
  int code = 0;
  std::string message;
  graph::Model model;
  std::vector<std::string> ops() const {
    std::vector<std::string> all;
    for (const graph::Node& node : model.graph.nodes) all.push_back(text(node.op));
    return all;
  }
  const graph::Node& node(const std::string& op) const {
    for (const graph::Node& each : model.graph.nodes)
      if (text(each.op) == op) return each;
    FAIL("no node ", op);
    return model.graph.nodes[0];
  }
};
inline Made made_of(const std::vector<GraphGiven>& graphs,
                    importer::ExactTo exact_to = importer::ExactTo::kDefault) {
  const host::TemporaryPath file(".tflite");
  write_file(file.path(), model_file(graphs));
  Made out;
  try {
    importer::ImportOptions options;
    options.exact_to = exact_to;
    out.model = tflite::import_tflite(file.path(), options).model;
  } catch (const graph::ConversionError& error) {
    out.code = error.exit_code;
    out.message = error.message;
    for (const graph::Unsupported& u : error.unsupported)
      out.message += " " + u.op + " " + u.attribute + " " + u.why;
    CHECK(error.message.find('\n') == std::string::npos);
  }
  return out;
}
inline Made made_of(const GraphGiven& g, importer::ExactTo exact_to = importer::ExactTo::kDefault) {
  return made_of(std::vector<GraphGiven>{g}, exact_to);
}
inline bool says(const Made& out, const std::string& word) {
  return out.message.find(word) != std::string::npos;
}

}  // namespace ingot::test
