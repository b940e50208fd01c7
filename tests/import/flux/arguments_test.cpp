// SPDX-License-Identifier: Apache-2.0
// tests/import/flux/arguments_test.cpp - no field of a layer is ignored: in the committed samples
// each is changed in turn, and the program must change with it or be refused. What changes nothing
// must stand in the list of fields without effect.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "tests/support/graph_text.h"
#include "tools/checkpoint/julia/julia_value.h"
#include "tools/files/failure.h"
#include "tools/import/flux/import.h"
#include "tools/import/flux/no_effect.h"

using namespace ingot;
using checkpoint::JuliaId;
using checkpoint::JuliaKind;
using checkpoint::JuliaNode;
using checkpoint::JuliaTree;

namespace {

std::string program(const JuliaTree& tree) {
  try {
    return test::GraphText(flux::import_flux_tree(tree)).whole();
  } catch (const graph::ConversionError& error) {
    std::string all = "refused: " + error.message;
    for (const graph::Unsupported& u : error.unsupported)
      all += " " + u.op + " " + u.attribute + ": " + u.why;
    return all;
  } catch (const host::Failure& failure) {
    return "refused: " + failure.message();
  }
}

/// The field as another node: a number that is another, something where nothing was, a text where
/// an array was.
JuliaId changed(JuliaTree* tree, JuliaId id) {
  JuliaNode node = tree->at(id);
  switch (node.kind) {
    case JuliaKind::kBool: node.integer = !node.integer; break;
    case JuliaKind::kInteger: node.integer++; break;
    case JuliaKind::kFloat: node.number = node.number * 1.25 + 0.25; break;
    case JuliaKind::kNothing:
      node.kind = JuliaKind::kInteger;
      node.integer = 7;
      break;
    case JuliaKind::kList:
      if (node.items.empty()) return id;
      node.items[0] = changed(tree, node.items[0]);
      break;
    default:
      node = {};
      node.kind = JuliaKind::kText;
      node.text = "another";
  }
  tree->nodes.push_back(node);
  return JuliaId(tree->nodes.size() - 1);
}

}  // namespace

TEST_CASE("no field of a layer is ignored") {
  size_t changes = 0, refusals = 0;
  std::set<std::string> kinds;
  for (const char* name :
       {"mlp.bson", "more.bson", "picture.bson", "recurrent.bson", "two_dense.jld2"}) {
    const std::string path = std::string(INGOT_FLUX_SAMPLES) + "/" + name;
    CAPTURE(path);
    const bool bson = std::filesystem::path(path).extension() == ".bson";
    const JuliaTree tree = bson ? checkpoint::read_bson(path, {}) : checkpoint::read_jld2(path, {});
    const std::string plain = program(tree);
    REQUIRE_MESSAGE(plain.rfind("refused", 0) != 0, plain);
    for (JuliaId id = 0; id < tree.nodes.size(); id++) {
      const std::string kind = tree.short_type(id);
      const std::vector<std::string>* const fields = checkpoint::flux_fields(kind);
      if (!fields || tree.at(id).kind != JuliaKind::kStruct) continue;
      kinds.insert(kind);
      const std::vector<std::string>& names =
          tree.at(id).names.empty() ? *fields : tree.at(id).names;
      for (size_t i = 0; i <= tree.at(id).items.size(); i++) {  // the last: a field of a newer Flux
        JuliaTree other = tree;
        const bool more = i == tree.at(id).items.size();
        const std::string field = more               ? "a_field_of_a_newer_flux"
                                  : i < names.size() ? names[i]
                                                     : "";
        if (more) {
          JuliaNode seven;
          seven.kind = JuliaKind::kInteger;
          seven.integer = 7;
          other.nodes.push_back(seven);
          other.nodes[id].items.push_back(JuliaId(other.nodes.size() - 1));
          if (!other.nodes[id].names.empty()) other.nodes[id].names.push_back(field);
        } else {
          const JuliaId to = changed(&other, other.nodes[id].items[i]);
          other.nodes[id].items[i] = to;
        }
        changes++;
        const std::string now = program(other);
        refusals += now.rfind("refused", 0) == 0;
        if (now == plain)
          CHECK_MESSAGE(flux::no_effect(kind, field),
                        "'" << field << "' of a " << kind << " is ignored");
      }
    }
  }
  CHECK(kinds.size() > 8);
  MESSAGE(kinds.size() << " kinds of layers, " << changes << " changed fields, of which "
                       << refusals << " refused");
}
