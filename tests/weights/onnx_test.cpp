// SPDX-License-Identifier: Apache-2.0
// Initializers of ONNX models made here: every encoding, graphs inside graphs, external data that
// must stay beside the model.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/checkpoint/support.h"
#include "tests/support/onnx_writer.h"
#include "tools/files/output_file.h"
#include "tools/weights/programs/read_weights.h"

using namespace ingot;
using namespace ingot::test;
using checkpoint::Checkpoint;
using checkpoint::ElementType;
using checkpoint::Tensor;

namespace {

Proto raw_tensor(const std::string& name, int type, const std::vector<int64_t>& dims,
                 const std::string& bytes) {
  return Proto().packed_varints(1, dims).varint(2, uint64_t(type)).text(8, name).text(9, bytes);
}
Proto external_tensor(const std::string& name, const std::vector<int64_t>& dims,
                      const std::string& location, const std::string& offset) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return Proto().text(1, key).text(2, value);
  };
  return Proto()
      .packed_varints(1, dims)
      .varint(2, 1)
      .text(8, name)
      .message(13, entry("location", location))
      .message(13, entry("offset", offset))
      .varint(14, 1);
}
const std::vector<float> kFour = {1, -2, 3, 4};

std::string model_bytes() {
  OnnxGraph branch;
  branch.initializer("inner", {2}, std::vector<int64_t>{5, -6}).output("inner");
  OnnxGraph g;
  g.input("x", {2, 2}).initializer("w", {2, 2}, kFour);
  g.proto.message(5, raw_tensor("half", 10, {2}, std::string("\0\x3c\0\xc0", 4)));
  g.proto.message(5, raw_tensor("four", 22, {3}, "\x21\x0f"));
  g.node("Constant", {}, {"k"},
         {tensor_attribute("value", tensor("", {1}, std::vector<float>{9}))});
  g.node(
      "If", {"x"}, {"z"},
      {graph_attribute("then_branch", branch.proto), graph_attribute("else_branch", branch.proto)});
  g.node("MatMul", {"x", "w"}, {"y"}).output("y");
  return g.bytes();
}

}  // namespace

TEST_CASE("initializers, whatever their encoding") {
  const host::TemporaryPath file(".onnx");
  write_file(file.path(), model_bytes());
  const Checkpoint c = weights::read_weights(file.path());
  CHECK(c.format == "onnx");
  REQUIRE(c.tensors.size() == 6);
  REQUIRE(find(c, "w"));
  CHECK(values_of<float>(*find(c, "w")) == kFour);
  CHECK(find(c, "w")->dims == std::vector<int64_t>{2, 2});
  REQUIRE(find(c, "half"));
  CHECK(find(c, "half")->type == ElementType::kF16);
  CHECK(values_of<uint16_t>(*find(c, "half")) == std::vector<uint16_t>{0x3c00, 0xc000});
  REQUIRE(find(c, "four"));
  CHECK(values_of<int8_t>(*find(c, "four")) == std::vector<int8_t>{1, 2, -1});
  REQUIRE(find(c, "constants/k"));
  REQUIRE(find(c, "z/then_branch/inner"));
  CHECK(values_of<int64_t>(*find(c, "z/else_branch/inner")) == std::vector<int64_t>{5, -6});
}

TEST_CASE("external data is read where it lies, and only beside the model") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("ingot_external_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string model_path = folder / "net.onnx", data_path = model_path + ".data";
  const std::string name = std::filesystem::path(data_path).filename().string();
  write_file(data_path, "pad_" + raw(kFour));
  const auto reading = [&](const std::string& location, const std::string& offset) {
    OnnxGraph g;
    g.proto.message(5, external_tensor("w", {4}, location, offset));
    write_file(model_path, g.output("w").bytes());
    return weights::read_weights(model_path);
  };
  const Checkpoint c = reading(name, "4");
  REQUIRE(c.tensors.size() == 1);
  CHECK(values_of<float>(c.tensors[0]) == kFour);
  CHECK(exit_of([&] { reading(name, "5"); }) == host::Exit::kCorrupt);
  CHECK(exit_of([&] { reading(name, "-1"); }) == host::Exit::kCorrupt);
  CHECK(exit_of([&] { reading("../" + name, "4"); }) == host::Exit::kUnsafe);
  CHECK(exit_of([&] { reading(data_path, "4"); }) == host::Exit::kUnsafe);
  CHECK(exit_of([&] { reading("absent.data", "0"); }) == host::Exit::kUnavailable);
  std::filesystem::remove(data_path);
}

TEST_CASE("initializers that lie or are of a type that is not read are refused by name") {
  const host::TemporaryPath file(".onnx");
  const auto opening = [&](const Proto& tensor) {
    OnnxGraph g;
    g.proto.message(5, tensor);
    write_file(file.path(), g.output("w").bytes());
    return exit_of([&] { (void)weights::read_weights(file.path()); });
  };
  CHECK(opening(raw_tensor("w", 1, {1}, "1234")) == host::Exit::kOk);
  CHECK(opening(raw_tensor("w", 1, {2}, "1234")) == host::Exit::kCorrupt);
  CHECK(opening(raw_tensor("w", 1, {-1}, "1234")) == host::Exit::kCorrupt);
  CHECK(opening(raw_tensor("w", 1, {int64_t(1) << 40, int64_t(1) << 40}, "1234")) ==
        host::Exit::kCorrupt);
  CHECK(opening(raw_tensor("w", 1, {0, int64_t(1) << 50, int64_t(1) << 50}, "")) ==
        host::Exit::kOk);
  CHECK(opening(raw_tensor("w", 23, {1}, "1")) == host::Exit::kUnsupported);
  CHECK(opening(tensor("w", {3}, kFour)) == host::Exit::kCorrupt);
}

TEST_CASE("every cut and every changed byte of a model ends in data or in a refusal") {
  const host::TemporaryPath file(".onnx");
  const size_t refused = damaged_and_refused(model_bytes(), file.path(), [](const std::string& p) {
    return weights::read_onnx_weights(p, {});
  });
  CHECK(refused > 200);
}
