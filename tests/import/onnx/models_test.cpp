// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/models_test.cpp - every real model that is at hand imports with all shapes
// known. Models of tests/models/models.tsv come from the repository, from shared material
// (tests/support/shared.h) and from $INGOT_MODELS, the folder into which stage `models` fetches and
// writes them. Without that variable its models are left to that stage. A model of shared material
// is a counted skip where that is absent and no other row has its kind (column `instead`).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/import/onnx/import_helpers.h"
#include "tests/support/shared.h"
#include "tools/import/tflite/import.h"

using namespace ingot;
namespace fs = std::filesystem;

namespace {

fs::path fetched() {
  const char* const folder = std::getenv("INGOT_MODELS");
  return folder ? folder : "";
}

struct Row {
  std::string name, source, options;
  bool replaced = false;  // another row, or another test, has its kind
};
std::vector<Row> rows() {
  std::ifstream in(std::string(INGOT_CHECKOUT) + "/tests/models/models.tsv");
  std::vector<Row> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::stringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '\t');) cells.push_back(cell);
    cells.resize(6);
    out.push_back({cells[0], cells[1], cells[4], !cells[5].empty()});
  }
  return out;
}
fs::path locate(const std::string& name, const std::string& source) {
  const size_t colon = source.find(':');
  const std::string kind = source.substr(0, colon),
                    rest = colon == std::string::npos ? "" : source.substr(colon + 1);
  if (kind == "shared") return tests::shared_folder() / rest;
  if (kind == "file") return fs::path(INGOT_CHECKOUT) / rest;
  if (fetched().empty()) return {};
  if (kind == "zoo" || kind == "made") return fetched() / kind / (name + ".onnx");
  if (kind != "pypi") return fetched() / (name + ".onnx");
  const size_t member = rest.find(':');
  std::string file = fs::path(rest.substr(member + 1)).filename().string();
  if (const size_t inner = file.find('!'); inner != std::string::npos) file.erase(0, inner + 1);
  return fetched() / "pypi" / rest.substr(0, member) / file;
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
    CHECK(node.op != op::Shape);
    for (const auto branch : {attr::then_branch, attr::else_branch}) {
      if (const auto inner = node.subgraph(branch)) check_complete(model, *inner);
    }
  }
}

/// The rows whose models are shared material, or the others.
void import_rows(bool shared) {
  size_t done = 0, absent = 0;
  for (const Row& row : rows()) {
    if ((row.source.rfind("shared:", 0) == 0) != shared) continue;
    const fs::path path = locate(row.name, row.source);
    if (path.empty() || !fs::exists(path)) {
      absent++;
      if (shared && !row.replaced)
        std::cout << "[skip] import of " << row.name << ": there is no shared material\n";
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
  std::cout << "models imported: " << done << ", not there: " << absent << "\n";
}

/// Any .onnx below `root` imports or gives its whole list.
void import_below(const fs::path& root) {
  if (!fs::exists(root)) return;
  size_t imported = 0, refused = 0;
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
  std::cout << "other models: " << imported << " imported, " << refused << " refused with a list\n";
}

}  // namespace

TEST_CASE("shared material: none means none") {
  const char* const before = std::getenv("INGOT_SHARED");
  const std::string kept = before ? before : "";
  setenv("INGOT_SHARED", "none", 1);
  CHECK_FALSE(fs::exists(tests::shared_folder()));
  setenv("INGOT_SHARED", "/there", 1);
  CHECK(tests::shared_folder() == "/there");
  setenv("INGOT_SHARED", "", 1);
  CHECK(tests::shared_folder().lexically_normal() ==
        fs::path(INGOT_CHECKOUT).parent_path() / "shared");
  before ? setenv("INGOT_SHARED", kept.c_str(), 1) : unsetenv("INGOT_SHARED");
}

TEST_CASE("models: those that must run import, with every shape known") { import_rows(false); }
TEST_CASE("models: those of shared material" * doctest::test_suite("shared")) { import_rows(true); }

TEST_CASE("models: any other .onnx at hand imports or gives its whole list") {
  import_below(fetched() / "pypi");
}
TEST_CASE("models: any other .onnx of shared material" * doctest::test_suite("shared")) {
  import_below(tests::shared_folder() / "models");
}
