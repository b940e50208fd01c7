// Any text as the code of a TorchScript archive: parsed, and forward() of its class M followed over
// one small input. A program, or an error of its own; never anything else, and never for long.
#include <cstdint>
#include <cstdlib>

#include "tools/import/torchscript/interpreter.h"
#include "tools/import/torchscript/parse.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    (void)torchscript::parse_file(text, "fuzz.py");
    graph::Model model;
    model.fold_budget = 1 << 16;
    aten::Builder builder(model);
    torchscript::Library library("fuzz.pt",
                                 [&](const std::string& member) -> std::optional<std::string> {
                                   if (member == "__torch__.py") return text;
                                   return std::nullopt;
                                 });
    const graph::ValueId x = model.add_value("x", DType::kF32);
    model.values[size_t(x)].dims = {graph::Dim(2), graph::Dim::symbol("N")};
    model.values[size_t(x)].shape_known = true;
    model.graph.inputs.push_back(x);
    auto module = std::make_shared<torchscript::Object>();
    module->type = "__torch__.M";
    torchscript::Interpreter interpreter(builder, library, aten::Value::tuple({}));
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
