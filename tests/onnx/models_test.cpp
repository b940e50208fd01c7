// tests/onnx/models_test.cpp - every real model that is at hand imports with all shapes known.
// Models of tests/models/models.tsv come from $INGOT_SHARED (default ../shared) and, for those
// inside packages, from $INGOT_PYPI (<package>==<version>/<member>); what is not there is a counted
// skip. The last line counts both.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/onnx/import_helpers.h"
#include "tools/import/tflite/import.h"

using namespace ingot;
namespace fs = std::filesystem;

namespace {

std::string root_of(const char* variable, const std::string& otherwise) {
  const char* value = std::getenv(variable);
  return value ? value : otherwise;
}

struct Row {
  std::string name, source, options;
};
std::vector<Row> rows() {
  std::ifstream in(std::string(SOURCE_DIR) + "/tests/models/models.tsv");
  std::vector<Row> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::stringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '\t');) cells.push_back(cell);
    cells.resize(5);
    out.push_back({cells[0], cells[1], cells[4]});
  }
  return out;
}
fs::path locate(const std::string& source) {
  const size_t colon = source.find(':');
  const std::string kind = source.substr(0, colon),
                    rest = colon == std::string::npos ? "" : source.substr(colon + 1);
  if (kind == "shared")
    return fs::path(root_of("INGOT_SHARED", std::string(SOURCE_DIR) + "/../shared")) / rest;
  if (kind == "file") return fs::path(SOURCE_DIR) / rest;
  if (kind != "pypi") return {};
  const std::string packages = root_of("INGOT_PYPI", "");
  const size_t member = rest.find(':');
  return packages.empty() ? fs::path()
                          : fs::path(packages) / rest.substr(0, member) / rest.substr(member + 1);
}
importer::ImportOptions options_of(const std::string& text) {
  importer::ImportOptions options;
  std::stringstream words(text);
  for (std::string word, value; words >> word >> value;) {
    if (word == "--input-shape") importer::add_input_shape(options, value);
    if (word == "--dim") importer::add_dim(options, value);
  }
  return options;
}

void check_complete(const graph::Model& model, const graph::Graph& graph) {
  const auto check = [&](graph::ValueId id) {
    if (id == graph::kAbsent) return;
    const graph::Value& value = model.values[size_t(id)];
    CAPTURE(value.name);
    CHECK(value.shape_known);
    CHECK(value.dtype != DType::kInvalid);
  };
  for (const graph::Node& node : graph.nodes) {
    for (const graph::ValueId id : node.inputs) check(id);
    for (const graph::ValueId id : node.outputs) check(id);
    CHECK(node.op != "Shape");
    for (const char* branch : {"then_branch", "else_branch"}) {
      if (const auto inner = node.subgraph(branch)) check_complete(model, *inner);
    }
  }
}

}  // namespace

TEST_CASE("models: those that must run import, with every shape known") {
  size_t done = 0, skipped = 0;
  for (const Row& row : rows()) {
    const fs::path path = locate(row.source);
    if (path.empty() || !fs::exists(path)) {
      skipped++;
      std::cout << "[skip] import of " << row.name << ": its source is not there\n";
      continue;
    }
    CAPTURE(row.name);
    try {
      const graph::Model model =
          path.extension() == ".onnx"
              ? onnx::import_onnx(path.string(), options_of(row.options))
              : tflite::import_tflite(path.string(), options_of(row.options)).model;
      check_complete(model, model.graph);
      CHECK(!model.graph.outputs.empty());
      done++;
    } catch (const graph::ConversionError& error) {
      FAIL_CHECK(error.message);
    }
  }
  std::cout << "models imported: " << done << ", not there: " << skipped << "\n";
}

TEST_CASE("models: any other .onnx at hand imports or gives its whole list") {
  size_t imported = 0, refused = 0;
  for (const std::string& root :
       {root_of("INGOT_SHARED", std::string(SOURCE_DIR) + "/../shared") + "/models",
        root_of("INGOT_PYPI", "")}) {
    if (root.empty() || !fs::exists(root)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".onnx" || !entry.is_regular_file()) continue;
      CAPTURE(entry.path().filename().string());
      try {
        onnx::import_onnx(entry.path().string());
        imported++;
      } catch (const graph::ConversionError& error) {
        CAPTURE(error.message);
        CHECK(error.exit_code == 4);
        CHECK(!error.unsupported.empty());
        refused++;
      }
    }
  }
  std::cout << "other models: " << imported << " imported, " << refused << " refused with a list\n";
}
