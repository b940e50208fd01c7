// SPDX-License-Identifier: Apache-2.0
// Any text as the code of a TorchScript archive, and behind a zero any bytes as the instructions of
// a method of PyTorch Mobile, three a piece: parsed, and forward() of its class M followed over one
// small input. A program, or an error of its own; never anything else, and never for long.
#include <cstdint>
#include <cstdlib>

#include "tools/import/torchscript/bytecode.h"
#include "tools/import/torchscript/interpreter.h"
#include "tools/import/torchscript/parse.h"

using namespace ingot;

namespace {

/// Constants: True, as many rounds as can be, 0, 1, a text.
const std::vector<aten::Value> kConstants = {
    aten::Value::of(true), aten::Value::of(graph::Dim(INT64_MAX)), aten::Value::of(graph::Dim(0)),
    aten::Value::of(graph::Dim(1)), aten::Value::of(std::string("forward"))};

torchscript::Bytecode bytecode_of(const uint8_t* data, size_t size) {
  torchscript::BytecodeMethod f;
  f.name = "__torch__.M.forward";
  f.instructions = {{torchscript::Opcode::kStoreN, 1, 3}};
  for (size_t i = 0; i + 2 < size; i += 3)
    f.instructions.push_back({torchscript::Opcode(data[i] % torchscript::kOpcodes),
                              int8_t(data[i + 1]), int8_t(data[i + 2])});
  f.operators = {{"aten::add", "Tensor", 2},      {"aten::add", "int", 2},
                 {"aten::lt", "int", 2},          {"aten::mul", "Tensor", 2},
                 {"aten::gt", "Scalar", 2},       {"aten::sum", "dim_IntList", 2},
                 {"prim::TupleUnpack", "", 1},    {"aten::append", "t", 2},
                 {"aten::_set_item", "str", 3},   {"aten::relu_", "", 1},
                 {"prim::RaiseException", "", 1}, {"aten::chunk", "", 3},
                 {"aten::linear", "", -1}};
  f.constants = kConstants.size();
  f.truths = {0}, f.endless = {1}, f.texts = {{4, "forward"}};
  f.types = {"int", "__torch__.M", "Tensor"};
  f.arguments = {{"self", "__torch__.M"}, {"x", "Tensor"}, {"n", "int"}};
  torchscript::Bytecode out;
  out.methods.push_back(std::move(f));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const bool is_bytecode = size > 0 && data[0] == 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (!is_bytecode) (void)torchscript::parse_file(text, "fuzz.py");
    graph::Model model;
    model.fold_budget = 1 << 16;
    aten::Builder builder(model);
    const torchscript::Bytecode bytecode =
        is_bytecode ? bytecode_of(data + 1, size - 1) : torchscript::Bytecode();
    const torchscript::Library::Make of_bytecode = [&](const std::string& member) {
      return torchscript::file_of_bytecode(bytecode, member, "fuzz.ptl");
    };
    const torchscript::Library::Read of_text =
        [&](const std::string& member) -> std::optional<std::string> {
      if (member == "__torch__.py") return text;
      return std::nullopt;
    };
    torchscript::Library library = is_bytecode ? torchscript::Library("fuzz.ptl", of_bytecode)
                                               : torchscript::Library("fuzz.pt", of_text);
    const graph::ValueId x = model.add_value("x", DType::kF32);
    model.values[size_t(x)].dims = {graph::Dim(2), graph::Dim::symbol("N")};
    model.values[size_t(x)].shape_known = true;
    model.graph.inputs.push_back(x);
    auto module = std::make_shared<torchscript::Object>();
    module->type = "__torch__.M";
    torchscript::Interpreter interpreter(
        builder, library,
        aten::Value::tuple(is_bytecode ? kConstants : std::vector<aten::Value>()));
    interpreter.most_steps = 2000;
    (void)interpreter.call_method(
        module, "forward", {aten::Value::of(builder.own(x)), aten::Value::of(graph::Dim(3))});
  } catch (const graph::ConversionError& error) {
    if (error.exit_code == 8) abort();
  } catch (const graph::DimError&) {
  } catch (const torchscript::Raised&) {
  } catch (const torchscript::Stopped&) {
  } catch (const torchscript::TakenAsIndex&) {
  } catch (const aten::Refused&) {
  } catch (const aten::Reported&) {
  }
  return 0;
}
