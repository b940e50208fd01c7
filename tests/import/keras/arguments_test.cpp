// SPDX-License-Identifier: Apache-2.0
// tests/import/keras/arguments_test.cpp - no field of a layer and no argument of a call is ignored:
// in the committed samples each is changed in turn, and the program must change with it or be
// refused. What changes nothing must stand in the list of fields without effect.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/support/graph_text.h"
#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/files/failure.h"
#include "tools/import/keras/import.h"
#include "tools/import/keras/no_effect.h"

using namespace ingot;
using keras::Json;

namespace {

std::string program(const Json& config, const checkpoint::Checkpoint& weights) {
  try {
    const graph::Model model = keras::import_keras_config(config.dump(), weights, "net").model;
    return test::GraphText(model).whole();
  } catch (const graph::ConversionError& error) {
    std::string all = "refused: " + error.message;
    for (const graph::Unsupported& u : error.unsupported)
      all += " " + u.op + " " + u.attribute + ": " + u.why;
    return all;
  }
}

/// Other values of a field; none for what the test does not know how to change.
std::vector<Json> changes_of(const Json& value) {
  if (value.is_boolean()) return {!value.get<bool>()};
  if (value.is_number_integer()) return {value.get<int64_t>() + 1};
  if (value.is_number()) return {value.get<double>() * 1.25 + 0.25};
  if (value.is_string()) return {"another"};
  if (value.is_null()) return {7};
  std::vector<Json> out;
  if (value.is_array())
    for (size_t i = 0; i < value.size(); i++)
      for (const Json& item : changes_of(value[i])) {
        out.push_back(value);
        out.back()[i] = item;
      }
  if (value.is_object() && out.empty())
    out.push_back({{"class_name", "Another"}, {"config", {{"x", 1}}}});
  return out;
}

/// Every layer of a configuration, those of models and wrappers inside too.
void collect_layers(Json& at, std::vector<Json*>* out) {
  if (at.is_object() && at.contains("class_name") && at.contains("config") &&
      at["config"].is_object()) {
    const std::string kind = at["class_name"].get<std::string>();
    if (kind != "Functional" && kind != "Sequential" && kind != "Model" && kind != "function" &&
        kind != "DTypePolicy")
      out->push_back(&at);
  }
  if (at.is_structured())
    for (Json& item : at)
      if (item.is_structured()) collect_layers(item, out);
}
/// The samples' own parts that are no layers: initializers and types.
bool is_layer(const Json& at) {
  return at.contains("inbound_nodes") || at.contains("build_config") || at.contains("name");
}

}  // namespace

TEST_CASE("no field of a layer is ignored") {
  size_t changes = 0, refusals = 0;
  std::set<std::string> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(INGOT_KERAS_SAMPLES)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".keras") continue;
    CAPTURE(path);
    const checkpoint::Checkpoint file = checkpoint::read_checkpoint(path);
    Json config;
    for (const checkpoint::Fact& fact : file.facts)
      if (const std::string* text = std::get_if<std::string>(&fact.value))
        if (fact.path == checkpoint::Path{"model_config"}) config = Json::parse(*text);
    const std::string plain = program(config, file);
    REQUIRE(plain.rfind("refused", 0) != 0);
    std::vector<Json*> layers;
    collect_layers(config, &layers);
    // those inside first: a changed field moves what it holds
    std::reverse(layers.begin(), layers.end());
    for (Json* layer : layers) {
      if (!is_layer(*layer)) continue;
      const std::string kind = (*layer)["class_name"].get<std::string>();
      kinds.insert(kind);
      Json& fields = (*layer)["config"];
      std::vector<std::string> keys = {"a_field_of_a_newer_keras"};
      for (const auto& [key, value] : fields.items()) keys.push_back(key);
      for (const std::string& key : keys) {
        const Json before = fields.contains(key) ? fields[key] : Json();
        for (const Json& other : changes_of(before)) {
          fields[key] = other;
          changes++;
          const std::string now = program(config, file);
          refusals += now.rfind("refused", 0) == 0;
          if (now == plain)
            CHECK_MESSAGE(keras::no_effect(kind, key), "'" << key << "' of a " << kind
                                                           << " is ignored: " << other.dump()
                                                           << " for " << before.dump());
          fields[key] = before;
        }
        if (key == keys[0]) fields.erase(key);
      }
    }
  }
  CHECK(kinds.size() > 35);
  MESSAGE(kinds.size() << " kinds of layers, " << changes << " changed fields, of which "
                       << refusals << " refused");
}

TEST_CASE("what a call says is refused where nobody reads it") {
  const std::string path = std::string(INGOT_KERAS_SAMPLES) + "/mix.keras";
  const checkpoint::Checkpoint file = checkpoint::read_checkpoint(path);
  Json config;
  for (const checkpoint::Fact& fact : file.facts)
    if (const std::string* text = std::get_if<std::string>(&fact.value))
      if (fact.path == checkpoint::Path{"model_config"}) config = Json::parse(*text);
  const std::string plain = program(config, file);
  size_t calls = 0;
  for (Json& layer : config["config"]["layers"])
    for (Json& node : layer["inbound_nodes"]) {
      if (!node.is_object() || layer["class_name"] == "InputLayer") continue;
      calls++;
      const Json before = node;
      node["kwargs"]["training"] = false;
      CHECK(program(config, file) == plain);
      for (const Json& value : {Json(true), Json(3), Json("text")}) {
        node["kwargs"]["training"] = value;
        const std::string said = program(config, file);
        CHECK_MESSAGE(said.find("training: is ") != std::string::npos, said);
      }
      node = before;
      node["args"].push_back(true);
      CHECK(program(config, file).find("true in a call") != std::string::npos);
      node = before;
    }
  CHECK(calls > 5);
}

TEST_CASE("an activation layer used as a function keeps its parameters or is refused") {
  const std::string path = std::string(INGOT_KERAS_SAMPLES) + "/sequential.keras";
  const checkpoint::Checkpoint file = checkpoint::read_checkpoint(path);
  Json config;
  for (const checkpoint::Fact& fact : file.facts)
    if (const std::string* text = std::get_if<std::string>(&fact.value))
      if (fact.path == checkpoint::Path{"model_config"}) config = Json::parse(*text);
  size_t seen = 0;
  for (Json& layer : config["config"]["layers"]) {
    if (!layer["config"].contains("activation")) continue;
    seen++;
    const Json before = layer["config"]["activation"];
    const auto with = [&](const char* kind, const Json& fields) {
      layer["config"]["activation"] = {
          {"module", "keras.layers"}, {"class_name", kind}, {"config", fields}};
      return program(config, file);
    };
    CHECK(with("ReLU", {{"max_value", 6.0}}).find("ReLU with max_value 6.0") != std::string::npos);
    CHECK(with("LeakyReLU", {{"negative_slope", 0.3}}).find("LeakyReLU with negative_slope 0.3") !=
          std::string::npos);
    CHECK(with("ReLU", {{"max_value", nullptr}, {"negative_slope", 0.0}, {"name", "r"}})
              .find("refused") != 0);
    layer["config"]["activation"] = before;
  }
  CHECK(seen > 0);
}

TEST_CASE("the same in the form of Keras 2, and of inputs, models and tensors beside the first") {
  // Input, Dropout called with `arguments`, ReLU.
  const auto said = [](const Json& arguments, const Json& input = Json::object(),
                       const Json& second = Json::array()) {
    Json calls = {{{"x", 0, 0, arguments}}};
    for (const Json& more : second) calls[0].push_back(more);
    Json first = {{"name", "x"},
                  {"dtype", "float32"},
                  {"batch_input_shape", {nullptr, 4}},
                  {"sparse", false}};
    first.update(input);
    const Json layers = {{{"class_name", "InputLayer"},
                          {"name", "x"},
                          {"config", first},
                          {"inbound_nodes", Json::array()}},
                         {{"class_name", "Dropout"},
                          {"name", "d"},
                          {"config", {{"name", "d"}, {"rate", 0.5}}},
                          {"inbound_nodes", calls}},
                         {{"class_name", "ReLU"},
                          {"name", "y"},
                          {"config", {{"name", "y"}}},
                          {"inbound_nodes", {{{"d", 0, 0, Json::object()}}}}}};
    const Json model = {{"class_name", "Functional"},
                        {"config",
                         {{"name", "m"},
                          {"layers", layers},
                          {"input_layers", {{"x", 0, 0}}},
                          {"output_layers", {{"y", 0, 0}}}}}};
    return program(model, checkpoint::Checkpoint());
  };
  CHECK(said(Json::object()).find("Relu") != std::string::npos);
  CHECK(said({{"training", false}}).find("Relu") != std::string::npos);
  CHECK(said({{"training", true}}).find("Dropout training: is true in a call") !=
        std::string::npos);
  CHECK(said(Json::object(), {{"sparse", true}}).find("InputLayer sparse: is true") !=
        std::string::npos);
  CHECK(said(Json::object(), Json::object(), {{"x", 0, 0, Json::object()}})
            .find("the second is not read") != std::string::npos);
}
