// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/refuse_test.cpp - sources that are no models, hostile or contradictory: one
// line each, with the exit code of its class.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/import/onnx/import_helpers.h"
#include "tests/support/scratch.h"

using namespace ingot;
using namespace ingot::test;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
namespace fs = std::filesystem;

namespace {

graph::ConversionError file_error(const std::string& path) {
  try {
    onnx::import_onnx(path);
  } catch (const graph::ConversionError& error) {
    return error;
  }
  return {host::Exit::kOk, "nothing was thrown", {}};
}
void check_line(const graph::ConversionError& error, int exit_code, const char* says) {
  CAPTURE(error.message);
  CHECK(error.exit_code == exit_code);
  CHECK(error.message.find(says) != std::string::npos);
  CHECK(error.message.find('\n') == std::string::npos);
}

OnnxGraph relu() {
  OnnxGraph g;
  return g.input("x", {1, 3}).output("y").node("Relu", {"x"}, {"y"});
}

}  // namespace

TEST_CASE("an element type is a number of 64 bits, of which none is passed over") {
  constexpr int64_t kBeyond = (int64_t(1) << 32) + 1;  // its lower half is FLOAT
  for (const auto& [op, name] : {std::pair("Cast", "to"), std::pair("EyeLike", "dtype"),
                                 std::pair("RandomNormalLike", "dtype")})
    for (const int64_t type : {kBeyond, int64_t(99), int64_t(-1)}) {
      OnnxGraph g;
      g.input("x", {2, 3}).output("y").node(op, {"x"}, {"y"}, {attribute(name, type)});
      const graph::ConversionError error = import_error(g.bytes(22));
      CAPTURE(error.message);
      CHECK(error.exit_code == 4);
      CHECK(error.message.find("element type " + std::to_string(type)) != std::string::npos);
    }
}

TEST_CASE("errors: a place stands in front once, and one reason is in the line") {
  graph::ConversionError error;
  try {
    graph::fail_mismatch("Add 'a'", "its shapes differ");
  } catch (const graph::ConversionError& thrown) {
    error = thrown;
  }
  CHECK(error.exit_code == host::Exit::kMismatch);
  for (const char* place : {"Add 'a'", "net.onnx", "net.onnx"}) error.add_place(place);
  CHECK(error.message == "net.onnx: Add 'a': its shapes differ");
  const graph::Unsupported one = {"Foo", "", "n", "", "is unknown", "export it"};
  CHECK(graph::refusal("net.onnx", {one}).says == graph::Says::kWhy);
  check_line(graph::refusal("net.onnx", {one}), 4,
             "net.onnx: 1 thing is not supported: Foo 'n': is");
  graph::Unsupported other = one;
  other.node = "m";
  CHECK(graph::refusal("net.onnx", {one, other}).says == graph::Says::kNothing);
}

TEST_CASE("refuse: files that are no models") {
  const Scratch inside;
  const std::string good = relu().bytes();
  check_line(file_error((inside.folder / "missing.onnx").string()), 7, "No such file");
  check_line(file_error(inside.folder.string()), 7, "is a directory");
  check_line(file_error(inside.write("empty.onnx", "")), 2, "empty");
  check_line(
      file_error(inside.write(
          "lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")),
      2, "git lfs pull");
  check_line(
      file_error(inside.write("page.onnx", "\n<!DOCTYPE html><html><body>404</body></html>")), 2,
      "web page");
  check_line(file_error(inside.write("zip.onnx", std::string("PK\x03\x04", 4) + good)), 2, "zip");
  check_line(file_error(inside.write("noise.onnx", "abcdefgh, this is no protobuf")), 2,
             "no valid ONNX model");
  check_line(file_error(inside.write("nograph.onnx", Proto().varint(1, 8).bytes)), 2, "no graph");
  CHECK_NOTHROW(onnx::import_onnx(inside.write("good.onnx", good)));
}

TEST_CASE(
    "refuse: every truncation and every flipped byte of a small model is an error or a model, "
    "never a crash") {
  OnnxGraph g;
  g.input("x", {"N", 2, 8, 8})
      .output("y")
      .initializer("w", {3, 2, 3, 3}, Floats(54, 0.5f))
      .shape_input("s", {0, -1});
  g.node("Conv", {"x", "w"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})})
      .node("Reshape", {"c", "s"}, {"y"});
  const std::string good = g.bytes();
  size_t refused = 0;
  for (size_t length = 0; length < good.size(); length++)
    refused += import_error(good.substr(0, length)).exit_code != 0;
  CHECK(refused + 24 >= good.size());  // a cut between the last fields may leave a model
  for (size_t at = 0; at < good.size(); at++) {
    for (const int flip : {1, 2, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = char(bad[at] ^ flip);
      const int code = import_error(bad).exit_code;
      CHECK((code == 0 || code == 2 || code == 4 || code == 5 || code == 3));
    }
  }
}

TEST_CASE("refuse: a quantization whose scale or zero point cannot be one") {
  const auto error = [](const Floats& scale, const Ints& dims, int64_t block = 0) {
    OnnxGraph g;
    g.input("x", {2, 3}).output("y").initializer("s", dims, scale);
    g.node("QuantizeLinear", {"x", "s"}, {"y"}, {attribute("block_size", block)});
    return import_error(g.bytes(21));
  };
  CHECK(error({1, 2, 0.5f}, {3}).exit_code == 0);
  CHECK(error({1, 2, 3, 4, 5, 6}, {2, 3}, 1).exit_code == 0);
  for (const float bad : {0.0f, -1.0f, 1e-40f, NAN, INFINITY})
    check_line(error({1, bad, 1}, {3}), 2, "at element 1, expected a positive normal number");
  check_line(error({1, 1}, {2}), 2, "shape [2], expected [3]");
  check_line(error({1, 1}, {2}, -1), 2, "block_size is -1");
  check_line(error({1, 1}, {2}, INT64_MAX), 2, "expected [2, 1]");
}

TEST_CASE("refuse: zero points of another type, axes and scales that do not fit") {
  const auto bytes_of = [](const std::string& op, const Ints& dims, int64_t axis) {
    OnnxGraph g;
    g.input("x", {2, 3}).output("y").initializer("s", dims, Floats(size_t(dims[0]), 0.5f));
    g.node(op, {"x", "s"}, {"y"}, {attribute("axis", axis)});
    return import_error(g.bytes(21));
  };
  CHECK(bytes_of("QuantizeLinear", {2}, -2).exit_code == 0);
  check_line(bytes_of("QuantizeLinear", {2}, 2), 2, "axis");
  check_line(bytes_of("QuantizeLinear", {2}, -3), 2, "axis");
  check_line(bytes_of("QuantizeLinear", {2}, 1), 2, "shape [2], expected [3]");
  const auto with_zero = [](int type, bool is_signed) {
    OnnxGraph g;
    g.input("x", {2, 3}, type).output("y").initializer("s", {}, Floats{0.5f});
    if (is_signed)
      g.initializer("z", {}, std::vector<int8_t>{1});
    else
      g.initializer("z", {}, std::vector<uint8_t>{1});
    g.node("DequantizeLinear", {"x", "s", "z"}, {"y"});
    return import_error(g.bytes(21));
  };
  CHECK(with_zero(2, false).exit_code == 0);
  check_line(with_zero(2, true), 2, "its zero point is i8, its input u8");
  check_line(with_zero(3, false), 2, "its zero point is u8, its input i8");
  check_line(with_zero(1, false), 2, "its input is f32, expected a quantized type or i32");
}

TEST_CASE("refuse: operators on integers whose operands do not fit") {
  const auto convolved = [](const Floats& scale, const Ints& weights, int zero_type = 2) {
    OnnxGraph g;
    g.input("x", {1, 2, 4, 4}, 2).output("y").initializer("s", {}, Floats{0.5f});
    g.initializer("z", {}, std::vector<uint8_t>{3});
    g.initializer("w", weights, std::vector<int8_t>(size_t(weights[0] * weights[1]), 1));
    g.initializer("ws", {int64_t(scale.size())}, scale);
    g.initializer("wz", {int64_t(scale.size())}, std::vector<int8_t>(scale.size(), 0));
    g.node("QLinearConv", {"x", "s", zero_type == 2 ? "z" : "wz", "w", "ws", "wz", "s", "z"},
           {"y"});
    return import_error(g.bytes());
  };
  CHECK(convolved({1, 2, 3}, {3, 2, 1, 1}).exit_code == 0);
  check_line(convolved({1, 0, 3}, {3, 2, 1, 1}), 2, "its scale is 0 at element 1");
  check_line(convolved({1, 2}, {3, 2, 1, 1}), 2, "shape [2], expected [3]");
  check_line(convolved({1, 2, 3}, {3, 2, 1, 1}, 3), 2, "its zero point is i8, its input u8");
  const auto multiplied = [](int products, int type) {
    OnnxGraph g;
    g.input("a", {2, products}, type).output("y");
    g.initializer("b", {products, 1}, std::vector<int8_t>(size_t(products), 1));
    g.node("MatMulInteger", {"a", "b"}, {"y"});
    return import_error(g.bytes());
  };
  CHECK(multiplied(65793, 2).exit_code == 0);
  CHECK(multiplied(65794, 2).exit_code == 0);  // in whole numbers, without the integer kernels
  check_line(multiplied(8, 1), 2, "its input 0 is f32, expected i8 or u8");
  const auto microsoft = [](const std::string& op, const std::vector<Proto>& attributes) {
    OnnxGraph g;
    g.input("x", {1, 2, 4, 4}, 2).output("y").initializer("s", {}, Floats{0.5f});
    g.initializer("z", {}, std::vector<uint8_t>{3});
    g.node(op, {"x", "s", "z", "s", "z"}, {"y"}, attributes, "com.microsoft");
    return import_error(g.bytes());
  };
  CHECK(microsoft("QLinearSigmoid", {}).exit_code == 0);
  CHECK(microsoft("QLinearGlobalAveragePool", {attribute("channels_last", int64_t(1))}).exit_code ==
        0);
  check_line(microsoft("QLinearAveragePool", {attribute("channels_last", int64_t(1))}), 4,
             "channels_last");
  check_line(microsoft("QLinearSigmoid", {attribute("beta", int64_t(1))}), 4, "beta");
  check_line(microsoft("QLinearConcat", {}), 2, "axis 0 is out of range");
  check_line(microsoft("NGramRepeatBlock", {}), 4, "the operator is not supported");
}

TEST_CASE("refuse: external data outside of the model's folder") {
  const Scratch inside, outside;
  outside.write("secret.bin", "12345678");
  inside.write("weights.bin", "12345678abcd");
  fs::create_symlink(outside.folder / "secret.bin", inside.folder / "link.bin");
  fs::create_directory_symlink(outside.folder, inside.folder / "link");
  const auto model = [&](const std::string& location, const char* offset, const char* length) {
    Proto t = Proto().packed_varints(1, {2}).varint(2, 1).text(8, "w").varint(14, 1).message(
        13, Proto().text(1, "location").text(2, location));
    if (offset) t.message(13, Proto().text(1, "offset").text(2, offset));
    if (length) t.message(13, Proto().text(1, "length").text(2, length));
    OnnxGraph g;
    g.proto.message(5, t);
    return g.input("x", {2}).output("y").node("Add", {"x", "w"}, {"y"}).bytes();
  };
  const auto error = [&](const std::string& location, const char* offset = nullptr,
                         const char* length = nullptr) {
    return import_error(model(location, offset, length), {}, inside.folder.string());
  };
  CHECK(error("weights.bin", "4", "8").exit_code == 0);
  CHECK(error("weights.bin").exit_code == 0);
  check_line(error((outside.folder / "secret.bin").string()), 3, "absolute");
  check_line(error("../" + outside.folder.filename().string() + "/secret.bin"), 3, "..");
  check_line(error("sub/../../secret.bin"), 3, "..");
  check_line(error("link.bin"), 3, "link");
  check_line(error("link/secret.bin"), 3, "link");
  check_line(error("missing.bin"), 7, "missing.bin");
  check_line(error("."), 7, "directory");
  check_line(error(""), 2, "no file name");
  check_line(error("weights.bin", "8"), 2, "pass the end");
  check_line(error("weights.bin", "99999999999999"), 2, "past the end");
  check_line(error("weights.bin", "-4"), 2, "past the end");
  check_line(error("weights.bin", "4x"), 2, "expected a number");
  check_line(error("weights.bin", "0", "4"), 2, "its shape says");
}

TEST_CASE("refuse: graphs that contradict themselves name the place") {
  struct Case {
    const char* name;
    OnnxGraph graph;
    int exit_code;
    const char* says;
  };
  const Case cases[] = {
      {"cycle", OnnxGraph().output("a").node("Relu", {"b"}, {"a"}).node("Relu", {"a"}, {"b"}), 2,
       "cycle"},
      {"own output", OnnxGraph().output("a").node("Relu", {"a"}, {"a"}), 2, "cycle"},
      {"undefined input",
       OnnxGraph().input("x", {1}).output("y").node("Add", {"x", "nowhere"}, {"y"}), 2,
       "reads 'nowhere'"},
      {"made twice", relu().node("Exp", {"x"}, {"y"}), 2, "made twice"},
      {"makes an input", relu().node("Exp", {"y"}, {"x"}), 2, "names must be made once"},
      {"output that nothing makes", relu().output("z"), 2, "'z'"},
      {"no output", OnnxGraph().input("x", {1}).node("Relu", {"x"}, {"y"}), 2, "no outputs"},
      {"too few inputs", OnnxGraph().input("x", {1}).output("y").node("Add", {"x"}, {"y"}), 2,
       "expected 2"},
      {"shapes that do not broadcast",
       OnnxGraph().input("a", {2, 3}).input("b", {4}).output("y").node("Add", {"a", "b"}, {"y"}), 2,
       "broadcast"},
      {"types that do not mix",
       OnnxGraph().input("a", {2}).input("b", {2}, 7).output("y").node("Add", {"a", "b"}, {"y"}), 2,
       "one type"},
      {"elements that do not fit",
       OnnxGraph()
           .input("x", {2, 3})
           .output("y")
           .shape_input("s", {4, 2})
           .node("Reshape", {"x", "s"}, {"y"}),
       2, "elements"},
      {"axis out of range",
       OnnxGraph()
           .input("x", {2, 3})
           .output("y")
           .node("Softmax", {"x"}, {"y"}, {attribute("axis", int64_t(2))}),
       2, "axis 2"},
      {"a window larger than its input",
       OnnxGraph()
           .input("x", {1, 1, 2, 2})
           .output("y")
           .node("MaxPool", {"x"}, {"y"}, {attribute("kernel_shape", Ints{3, 3})}),
       2, "window of 3"},
      {"attribute of the wrong type",
       OnnxGraph().input("x", {2}).output("y").node("Softmax", {"x"}, {"y"},
                                                    {attribute("axis", 1.0f)}),
       2, "expected INT"},
      {"matrices that do not meet",
       OnnxGraph()
           .input("a", {2, 3})
           .input("b", {4, 5})
           .output("y")
           .node("MatMul", {"a", "b"}, {"y"}),
       2, "disagree"},
      {"a hole in a list",
       OnnxGraph().input("x", {2}).output("y").node("Mean", {"x", "", "x"}, {"y"}), 2, "missing"},
      {"more outputs than there are",
       OnnxGraph().input("x", {2}).output("y").node("Relu", {"x"}, {"y", "z"}), 2, "2 outputs"},
      {"an input without a shape", OnnxGraph(), 2, "no outputs"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    check_line(import_error(c.graph.bytes()), c.exit_code, c.says);
  }
}

TEST_CASE("refuse: attributes that say what they are and are not") {
  for (const int type : {4, 5, 11}) {
    CAPTURE(type);
    const char* const names[] = {"value", "then_branch", "sparse_value"};
    const Proto hollow = Proto()
                             .text(1, names[type == 4   ? 0
                                            : type == 5 ? 1
                                                        : 2])
                             .varint(20, uint64_t(type));
    OnnxGraph g;
    g.input("c", {}, 9).output("y");
    if (type == 5)
      g.node("If", {"c"}, {"y"}, {hollow});
    else
      g.node("Constant", {}, {"y"}, {hollow});
    check_line(import_error(g.bytes()), 2, "holds no");
  }
}

TEST_CASE("refuse: transforms, samples and windows that fit nothing") {
  const auto with_numbers = [](const char* op, std::vector<OnnxDim> dims,
                               std::vector<Ints> numbers) {
    OnnxGraph g;
    std::vector<std::string> inputs = {"x"};
    g.input("x", dims).output("y");
    for (size_t i = 0; i < numbers.size(); i++) {
      inputs.push_back("i" + std::to_string(i));
      g.shape_input(inputs.back(), numbers[i]);
    }
    return import_error(g.node(op, inputs, {"y"}).bytes(20));
  };
  check_line(with_numbers("DFT", {2, 8, 1}, {{-4}}), 2, "its length is -4");
  check_line(with_numbers("DFT", {2, 8, 1}, {{4, 4}}), 2, "dft_length has 2 elements");
  check_line(with_numbers("DFT", {2, 8, 3}, {}), 2, "1 or 2");
  check_line(with_numbers("DFT", {2, 8, 1}, {{1 << 23}}), 4, "longer than 2^22");
  check_line(with_numbers("STFT", {2, 8, 1}, {{0}}), 2, "frame_step");
  check_line(with_numbers("AffineGrid", {1, 2, 3}, {{1, 1, -2, 4}}), 2, "negative");
  check_line(with_numbers("CenterCropPad", {4, 4}, {{2}}), 2, "shape");
  OnnxGraph deep;
  deep.input("x", {1, 1, "H", "W"}).output("y").output("i");
  deep.node("MaxPool", {"x"}, {"y", "i"}, {attribute("kernel_shape", Ints{1 << 20, 1 << 20})});
  check_line(import_error(deep.bytes(18)), 4, "more than 4096");
}

TEST_CASE("refuse: everything unsupported is listed, not only the first") {
  OnnxGraph g;
  g.input("x", {1, 3})
      .output("y")
      .node("StringConcat", {"x", "x"}, {"a"})
      .node("FancyOp", {"x"}, {"b"}, {}, "com.example");
  g.node("Relu", {"x"}, {"c"}, {attribute("speed", int64_t(9))})
      .node("LayerNormalization", {"x", "x"}, {"d"}, {attribute("stash_type", int64_t(0))});
  g.node("Concat", {"a", "b"}, {"e"}, {attribute("axis", int64_t(0))}).node("Exp", {"c"}, {"y"});
  const graph::ConversionError error = import_error(g.bytes(18));
  CHECK(error.exit_code == 4);
  REQUIRE(error.unsupported.size() >= 4);
  CHECK(error.unsupported[0].op == "StringConcat");
  CHECK(error.unsupported[0].node == "n0");
  CHECK(error.unsupported[0].output == "a");
  CHECK(error.unsupported[0].why.find("works on text") != std::string::npos);
  CHECK(error.unsupported[0].hint.find("feed numbers") != std::string::npos);
  CHECK(error.unsupported[1].op == "com.example.FancyOp");
  CHECK(error.unsupported[2].attribute == "speed");
  CHECK(error.unsupported[3].attribute == "stash_type");
  CHECK(error.message.find("StringConcat") != std::string::npos);
}

TEST_CASE("refuse: opsets outside of 1 to 28, and functions that call themselves") {
  check_line(import_error(relu().bytes(0)), 4, "opset 0");
  check_line(import_error(relu().bytes(29)), 4, "opset 29");
  Proto body = Proto().text(1, "F").text(4, "a").text(5, "b").text(10, "own");
  body.message(7, Proto().text(1, "a").text(2, "b").text(4, "F").text(7, "own"));
  OnnxGraph g;
  g.input("x", {2}).output("y").node("F", {"x"}, {"y"}, {}, "own");
  check_line(
      import_error(
          g.model(16).message(8, Proto().text(1, "own").varint(2, 1)).message(25, body).bytes),
      2, "calls itself");
}

TEST_CASE("refuse: graphs nested without end, expressions that grow without end") {
  Proto inner = OnnxGraph().node("Relu", {"x"}, {"z"}).output("z").proto;
  for (int i = 0; i < 60; i++) {
    OnnxGraph outer;
    outer
        .node("If", {"c"}, {"z"},
              {graph_attribute("then_branch", inner), graph_attribute("else_branch", Proto())})
        .output("z");
    inner = outer.proto;
  }
  check_line(import_error(Proto().varint(1, 8).message(7, inner).bytes), 2, "nested deeper");
  OnnxGraph grows;
  grows.input("x", {"A", "B"}).output("y");
  std::string at = "x";
  for (int i = 0; i < 40; i++) {
    const std::string next = "t" + std::to_string(i);
    grows.node("Concat", {at, at}, {next + "c"}, {attribute("axis", int64_t(0))})
        .node("Flatten", {next + "c"}, {next + "f"}, {attribute("axis", int64_t(2))});
    grows.node("Concat", {next + "f", next + "f"}, {next}, {attribute("axis", int64_t(1))});
    at = next;
  }
  grows.node("Relu", {at}, {"y"});
  CHECK(import_error(grows.bytes()).exit_code != 0);
}

TEST_CASE("refuse: operands of a rank or type that the operator does not take") {
  struct Case {
    const char *op, *domain;
    std::vector<std::vector<OnnxDim>> shapes;
    std::vector<Proto> attributes;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"Conv", "", {{1, 3}, {2, 3, 1, 1}}, {}, "operand 0 has shape [1, 3] of rank 2"},
      {"Conv", "", {{1, 3, 8, 8}, {2, 3, 3}}, {}, "operand 1 has shape [2, 3, 3] of rank 3"},
      {"Gemm", "", {{2}, {2, 2}}, {}, "expected rank 2"},
      {"GridSample", "", {{1, 2, 3, 4}, {1, 2}}, {}, "operand 1"},
      {"MultiHeadAttention",
       "com.microsoft",
       {{1, 4, 32}, {1, 4, 32}, {1, 4, 32}, {4, 96}},
       {attribute("num_heads", int64_t(4))},
       "operand 3 has shape [4, 96] of rank 2, expected rank 1"},
      {"GroupQueryAttention",
       "com.microsoft",
       {{1, 4, 32}, {16}, {1, 4, 16}, {1, 2, 8, 8}, {1, 2, 8, 8}, {1}, {}},
       {attribute("num_heads", int64_t(4)), attribute("kv_num_heads", int64_t(2))},
       "operand 1"},
      {"SkipLayerNormalization", "com.microsoft", {{}, {}, {8}}, {}, ""},
      {"RotaryEmbedding", "com.microsoft", {{4}, {1, 4}, {16, 4}, {16, 4}}, {}, "operand"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.op);
    OnnxGraph g;
    std::vector<std::string> names;
    for (size_t i = 0; i < c.shapes.size(); i++) {
      names.push_back("i" + std::to_string(i));
      g.input(names.back(), c.shapes[i]);
    }
    g.node(c.op, names, {"y"}, c.attributes, c.domain).output("y");
    const graph::ConversionError error = import_error(g.bytes(20));
    CAPTURE(error.message);
    CHECK((error.exit_code == 2 || error.exit_code == 4));
    CHECK(error.message.find(c.says) != std::string::npos);
  }
}

TEST_CASE("refuse: a sequence as an output is named, whatever its type is declared as") {
  for (const bool split : {false, true}) {
    OnnxGraph g;
    g.input("x", {4, 3});
    if (split)
      g.node("SplitToSequence", {"x"}, {"y"}, {attribute("axis", int64_t(0))});
    else
      g.node("SequenceConstruct", {"x", "x"}, {"y"});
    g.output("y");
    const graph::ConversionError error = import_error(g.bytes(18));
    CAPTURE(error.message);
    CHECK(error.exit_code == 4);
    CHECK(error.message.find("sequence") != std::string::npos);
  }
}

TEST_CASE("refuse: a bias of another rank or type names the operand") {
  for (const int type : {1, 7}) {
    OnnxGraph g;
    g.input("x", {1, 3, 4, 4}).input("w", {2, 3, 1, 1});
    if (type == 1)
      g.input("b", {}, type);
    else
      g.input("b", {2}, type);
    g.node("FusedConv", {"x", "w", "b"}, {"y"}, {attribute("activation", std::string("Relu"))},
           "com.microsoft");
    g.output("y");
    check_line(import_error(g.bytes(18)), 2, "operand 2");
  }
}

TEST_CASE("refuse: the smallest integer divided by -1 in shape arithmetic") {
  OnnxGraph g;
  g.shape_input("a", {INT64_MIN}).shape_input("b", {-1}).input("x", {2, 3});
  g.node("Shape", {"x"}, {"s"}).node("Div", {"a", "b"}, {"d"}).node("Add", {"s", "d"}, {"y"});
  g.output("y");
  const graph::ConversionError error = import_error(g.bytes(20));
  CHECK(error.exit_code != 8);
}
