// SPDX-License-Identifier: Apache-2.0
// TFLite_Detection_PostProcess: what it becomes, and options that lie: every cut and every changed
// byte of them. Its numbers are compared with LiteRT's in detection.py.
#include <doctest/doctest.h>
#include <flatbuffers/flexbuffers.h>

#include <cmath>

#include "tests/checkpoint/support.h"
#include "tests/import/tflite/models.h"
#include "tools/files/output_file.h"
#include "tools/import/tflite/flex_map.h"
#include "tools/import/tflite/import.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Settings {
  std::map<std::string, double> floats = {{"y_scale", 10},
                                          {"x_scale", 10},
                                          {"h_scale", 5},
                                          {"w_scale", 5},
                                          {"nms_score_threshold", 0.5},
                                          {"nms_iou_threshold", 0.5}};
  std::map<std::string, int> integers = {
      {"max_detections", 4}, {"max_classes_per_detection", 1}, {"num_classes", 2}};
  bool regular = false;
};
std::string flex(const Settings& s) {
  flexbuffers::Builder b;
  b.Map([&] {
    for (const auto& [name, value] : s.floats) b.Float(name.c_str(), float(value));
    for (const auto& [name, value] : s.integers) b.Int(name.c_str(), value);
    if (s.regular) b.Bool("use_regular_nms", true);
  });
  b.Finish();
  return std::string(b.GetBuffer().begin(), b.GetBuffer().end());
}
GraphGiven detector(const std::string& options, int classes = 3) {
  const auto kF32 = lite::TensorType::float32;
  GraphGiven g;
  g.tensors = {{"boxes", kF32, {1, 5, 4}, ""},
               {"scores", kF32, {1, 5, classes}, ""},
               {"anchors", kF32, {5, 4}, raw(std::vector<float>(20, 0.5f))},
               {"b", kF32, {}, ""},
               {"c", kF32, {}, ""},
               {"s", kF32, {}, ""},
               {"n", kF32, {}, ""}};
  g.operators = {{32, {0, 1, 2}, {3, 4, 5, 6}}};
  g.operators[0].custom = "TFLite_Detection_PostProcess";
  g.operators[0].custom_options = options;
  g.inputs = {0, 1};
  g.outputs = {3, 4, 5, 6};
  return g;
}
/// 0, or the exit code; what is reported.
int detection_of(const GraphGiven& g, std::string* said, graph::Model* model = nullptr) {
  const host::TemporaryPath file(".tflite");
  write_file(file.path(), model_file({g}));
  try {
    graph::Model made = tflite::import_tflite(file.path()).model;
    if (model) *model = std::move(made);
    return 0;
  } catch (const graph::ConversionError& error) {
    *said = error.message;
    for (const graph::Unsupported& u : error.unsupported)
      *said += " " + u.op + " " + u.attribute + " " + u.why;
    return error.exit_code;
  }
}

}  // namespace

TEST_CASE("a detector has the four outputs of its operator, padded to all detections") {
  for (const bool regular : {false, true})
    for (const int classes : {2, 3}) {  // without a background and with it
      Settings s;
      s.regular = regular;
      std::string said;
      graph::Model model;
      REQUIRE(detection_of(detector(flex(s), classes), &said, &model) == 0);
      const auto dims = [&](size_t i) {
        return graph::text(model.values[size_t(model.graph.outputs[i])].dims);
      };
      CHECK(dims(0) == "[1, 4, 4]");
      CHECK(dims(1) == "[1, 4]");
      CHECK(dims(2) == "[1, 4]");
      CHECK(dims(3) == "[1]");
    }
}

TEST_CASE("options of a detector that cannot be") {
  std::string said;
  const auto refused = [&](const Settings& s, const char* word, int code = 2) {
    CHECK(detection_of(detector(flex(s)), &said) == code);
    CHECK_MESSAGE(said.find(word) != std::string::npos, said);
  };
  for (const double scale : {0.0, -1.0, double(NAN), double(INFINITY)}) {
    Settings s;
    s.floats["h_scale"] = scale;
    refused(s, "h_scale");
  }
  for (const int most : {0, -1, 1 << 30}) {
    Settings s;
    s.integers["max_detections"] = most;
    refused(s, "max_detections");
  }
  Settings s;
  s.floats.erase("y_scale");
  refused(s, "y_scale is missing");
  s = {};
  s.integers["num_classes"] = 5;
  refused(s, "num_classes is 5");
  s = {};
  s.floats["nms_iou_threshold"] = 1.5;
  refused(s, "nms_iou_threshold");
  s = {};
  s.integers["max_classes_per_detection"] = 2;
  refused(s, "max_classes_per_detection", 4);
  s = {};
  s.integers["unheard_of"] = 2;
  refused(s, "unheard_of", 4);
  CHECK(detection_of(detector(""), &said) == 2);
  CHECK(said.find("no map") != std::string::npos);
}

TEST_CASE("every cut and every changed byte of a map of options") {
  Settings s;
  s.floats["a_double"] = 0.1;  // is a float too
  const std::string whole = flex(s);
  const auto read = [](const std::string& bytes) {
    return tflite::FlexMap::read(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  };
  auto map = read(whole);
  REQUIRE(map);
  CHECK(map->number("y_scale") == 10.0);
  CHECK(map->number("max_detections") == 4.0);
  CHECK(!map->number("none"));
  CHECK(map->unread().size() == 8);
  size_t refused = 0, tried = 0;
  for (size_t n = 0; n < whole.size(); n++) {
    refused += !read(whole.substr(0, n));
    refused += !read(whole.substr(n));
    tried += 2;
  }
  CHECK(refused > tried / 2);
  std::string said;
  size_t refusals = 0;
  for (size_t i = 0; i < whole.size(); i++)
    for (const int mask : {0x01, 0x04, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = char(bytes[i] ^ mask);
      const int code = detection_of(detector(bytes), &said);
      CHECK((code == 0 || code == 2 || code == 4));
      refusals += code != 0;
    }
  CHECK(refusals > whole.size());
}
