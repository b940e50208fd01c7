// SPDX-License-Identifier: Apache-2.0
// TorchScript files converted and run: the committed ones, and where they are at hand those of the
// shared corpus and of packages, against what torch computed.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>

#include "tests/support/shared.h"
#include "tools/compile/convert/convert.h"
#include "tools/diagnose/steps/check_golden.h"
#include "tools/files/output_file.h"
#include "tools/import/torchscript/import.h"

using namespace ingot;
namespace fs = std::filesystem;

namespace {

struct Case {
  std::string path, golden;
  std::vector<std::string> shapes, arguments, types;
};

convert::ConvertOptions options_of(const Case& c) {
  convert::ConvertOptions options;
  options.input_shapes = c.shapes;
  options.arguments = c.arguments;
  options.input_types = c.types;
  return options;
}

/// Converts, runs and compares; "" when all is well.
std::string run(const Case& c, const check::Golden* given = nullptr) {
  try {
    const convert::ConversionResult made = convert::convert_source(c.path, options_of(c));
    const host::TemporaryPath file(".ingot");
    convert::write_file(made.file, file.path());
    cli::Engine engine(file.path());
    check::Golden golden =
        given ? *given : check::read_golden(c.golden, engine.input_names(), engine.output_names());
    if (given) golden.outputs[0].name = engine.output_names()[0];
    const cli::CheckResult result = check_golden(&engine, golden, {});
    for (const cli::CheckedValue& v : result.values)
      if (!v.comparison.passed) return summary(v.comparison, v.dims);
    return result.values.empty() ? "nothing was compared" : "";
  } catch (const graph::ConversionError& error) {
    std::string all = error.message;
    for (const graph::Unsupported& u : error.unsupported)
      all += "\n  " + u.op + " '" + u.node + "' " + u.attribute + ": " + u.why;
    return all;
  } catch (const host::Failure& failure) {
    return failure.message();
  }
}

std::string data(const std::string& name) {
  return std::string(INGOT_TORCHSCRIPT_DATA) + "/" + name;
}
/// A program that torch.export has too has its golden there, and a trace that of what it traced.
std::string golden_of(const std::string& name) {
  const std::string own = data((name == "layers_traced" ? "layers" : name) + ".npz");
  return fs::exists(own) ? own : data("../../pt2/data/" + name + ".npz");
}
Case committed(const std::string& name, std::vector<std::string> shapes,
               std::vector<std::string> arguments = {}, std::vector<std::string> types = {}) {
  return {data(name + ".pt"), golden_of(name), std::move(shapes), std::move(arguments),
          std::move(types)};
}

graph::ConversionError refusal(const Case& c) {
  try {
    (void)convert::convert_source(c.path, options_of(c));
  } catch (const graph::ConversionError& error) {
    return error;
  }
  return {host::Exit::kOk, "", {}};
}

std::string notes_of(const Case& c) {
  std::string all;
  for (const std::string& note : convert::convert_source(c.path, options_of(c)).report.notes)
    all += note + "\n";
  return all;
}

}  // namespace

TEST_CASE("committed programs give what torch gave") {
  CHECK(run(committed("control", {"x=3x4"}, {"rounds=4"})) == "");
  CHECK(run(committed("in_place", {"x=4x4"})) == "");
  CHECK(run(committed("trained", {"x=1x2x5x6"})) == "");
  CHECK(run(committed("traced", {})) == "");
  CHECK(run(committed("sizes", {"ids=2x6"})) == "");
  CHECK(run(committed("sizes", {"ids=BxL"})) == "");
  CHECK(run(committed("sizes", {"ids=BxL"}, {}, {"ids=i64"})) == "");
  CHECK(run(committed("antialias", {"x=1x2x13x16"})) == "");
  CHECK(run(committed("rounds", {"x=5x3"})) == "");
  CHECK(run(committed("rounds", {"x=Nx3"})) == "");
  CHECK(run(committed("empty_rows", {"x=2x5x8", "seen=5x5"}, {}, {"seen=bool"})) == "");
  CHECK(run(committed("streaming", {"x=2x3"})) == "");
}

TEST_CASE("programs of PyTorch Mobile, as bytecode in a zip archive and as FlatBuffers") {
  const Case kCases[] = {
      committed("control", {"x=3x4"}, {"rounds=4"}),
      committed("in_place", {"x=4x4"}),
      committed("trained", {"x=1x2x5x6"}),
      committed("traced", {"x=1x2x5x6"}),
      committed("sizes", {"ids=BxL"}),
      committed("rounds", {"x=Nx3"}),
      committed("streaming", {"x=2x3"}),
      committed("views", {"x=4x6"}),
      committed("rows", {"x=Nx3"}),
      committed("products", {"x=4x3"}),
      committed("positions", {"x=2x2x7x8"}),
      committed("layers_traced", {"x=2x5x8", "padded=2x5"}, {}, {"padded=bool"}),
      committed("quantized_static", {"x=1x3x10x12"}),
      committed("quantized_functions", {"x=1x4x3x4"}),
      committed("quantized_dynamic", {"x=3x12"}),
      committed("quantized_recurrent", {"ids=3x2"}, {}, {"ids=i64"}),
  };
  for (const Case& of_code : kCases)
    for (const char* ending : {".ptl", ".ptf"}) {
      Case c = of_code;
      c.path = data("mobile/" + fs::path(of_code.path).stem().string() + ending);
      CAPTURE(c.path);
      CHECK(run(c) == "");
    }
}

TEST_CASE("what is written through views of views reaches all that share the memory") {
  CHECK(run(committed("views", {"x=4x6"})) == "");
  CHECK(run(committed("writes_input", {"x=3x2"})) == "");
  CHECK(run(committed("turns_in_place", {"x=4x6"})) == "");
  CHECK(run(committed("rows", {"x=4x3"})) == "");
  CHECK(run(committed("rows", {"x=Nx3"})) == "");
}

TEST_CASE("layers of transformers, as many calls and as one") {
  CHECK(run(committed("layers", {"x=2x5x8", "padded=2x5"}, {}, {"padded=bool"})) == "");
  CHECK(run(committed("padded_traced", {"x=2x5x8", "padded=2x5"}, {}, {"padded=bool"})) == "");
  CHECK(run(committed("layers_traced", {"x=2x5x8", "padded=2x5"}, {}, {"padded=bool"})) == "");
}

TEST_CASE("operators that are a few of the others") {
  CHECK(run(committed("composed", {"x=4x4", "y=4x4", "i=3"}, {}, {"i=i64"})) == "");
}

TEST_CASE("numbers beyond the usual ones: large, infinite, NaN") {
  CHECK(run(committed("large", {"x=32"})) == "");
  CHECK(run(committed("not_numbers", {"x=6x4"})) == "");
}

TEST_CASE("quantized programs of eager mode give torch's integers") {
  CHECK(run(committed("quantized_static", {})) == "");
  CHECK(run(committed("quantized_functions", {})) == "");
  CHECK(run(committed("quantized_dynamic", {})) == "");
  CHECK(run(committed("quantized_recurrent", {})) == "");
  // in integers, and not as floats between
  CHECK(notes_of(committed("quantized_static", {})).find("Conv") == std::string::npos);
  CHECK(notes_of(committed("quantized_functions", {})).find("in f32") == std::string::npos);
}

TEST_CASE("a class may begin with a small letter") {
  CHECK(run(committed("small_class", {"x=2x3"})) == "");
}

TEST_CASE("pools by a divisor and with positions, products along a dimension") {
  CHECK(run(committed("averages", {"x=1x2x7x8", "volume=1x2x7x6x8"})) == "");
  CHECK(run(committed("positions", {"x=2x2x7x8"})) == "");
  CHECK(run(committed("products", {"x=4x3"})) == "");
}

TEST_CASE("boxes of images, an operator of another namespace") {
  CHECK(run(committed("boxes", {"x=2x5x9x11", "rois=6x5", "boxes=6x4"})) == "");
}

TEST_CASE("what is chosen is reported") {
  CHECK(notes_of(committed("trained", {"x=1x2x5x6"})).find("training mode") != std::string::npos);
  CHECK(notes_of(committed("traced", {})).find("traced with") != std::string::npos);
  CHECK(notes_of(committed("sizes", {"ids=2x6"})).find("is taken as i64") != std::string::npos);
  const std::string kept = notes_of(committed("streaming", {"x=2x3"}));
  CHECK(kept.find("'state' is kept") != std::string::npos);
  CHECK(kept.find("'mean' is kept") != std::string::npos);
}

TEST_CASE("what is missing or does not fit is one line that says the flag") {
  CHECK(refusal(committed("control", {})).exit_code == 5);
  CHECK(refusal(committed("control", {})).message.find("--input-shape x=") != std::string::npos);
  CHECK(refusal(committed("control", {})).message.find("--argument rounds=") != std::string::npos);
  CHECK(refusal(committed("control", {"x=3x4"}, {"rounds=x"})).exit_code == 5);
  CHECK(refusal(committed("control", {"x=3x4", "y=3"}, {"rounds=1"})).message.find("'y'") !=
        std::string::npos);
  CHECK(refusal(committed("control", {"x=3x4x5"}, {"rounds=1"}))
            .message.find("expected 2 dimensions, got 3") != std::string::npos);
  CHECK(
      refusal(committed("control", {"x=3x4"}, {"rounds=1", "flip=True"})).message.find("raises") !=
      std::string::npos);
  CHECK(refusal(committed("in_place", {"x=3x5"})).exit_code == 2);
  const graph::ConversionError mask = refusal(committed("dropped", {"x=2x3"}));
  CHECK(mask.exit_code == 4);
  CHECK(mask.message.find("mask of a dropout") != std::string::npos);
}

TEST_CASE("samples of the shared corpus" * doctest::test_suite("shared")) {
  const fs::path folder = tests::shared_folder() / "formats" / "torchscript";
  if (!fs::is_directory(folder)) {
    printf("[skip] TorchScript of shared material and its goldens of packages: there is none\n");
    return;
  }
  struct Row {
    const char *file, *net, *input;
    std::vector<std::string> arguments;
  };
  std::vector<Row> rows;
  for (const char* net :
       {"cnn", "lstm", "mbconv", "mlp", "resblock", "torch_encoder_layer", "transformer"})
    for (const char* form : {"_traced.pt", "_frozen.pt"}) rows.push_back({form, net, "", {}});
  rows.push_back({"_extra.pt", "cnn", "", {}});
  rows.push_back({"_lite.ptl", "cnn", "", {}});
  rows.push_back({".pt", "scripted_loop_if", "", {"n=3"}});
  for (const Row& row : rows) {
    const std::string path = (folder / (std::string(row.net) + row.file)).string();
    CAPTURE(path);
    check::Golden golden;
    golden.path = row.net;
    golden.inputs = host::read_npz((folder / (std::string(row.net) + "_in.npy")).string());
    golden.outputs = host::read_npz((folder / (std::string(row.net) + "_out.npy")).string());
    const std::vector<torchscript::Parameter> parameters = torchscript::describe_parameters(path);
    REQUIRE(!parameters.empty());
    const std::string& input = parameters[0].name;
    golden.inputs[0].name = input;
    std::string shape = input + "=";
    for (size_t i = 0; i < golden.inputs[0].dims.size(); i++)
      shape += (i ? "x" : "") + std::to_string(golden.inputs[0].dims[i]);
    CHECK(run({path, "", {shape}, row.arguments, {}}, &golden) == "");
  }
  CHECK(refusal({(folder / "mlp_dynquant_traced.pt").string(), "", {"x=3x6"}, {}, {}}).exit_code ==
        0);
}

TEST_CASE("programs that ship in packages" * doctest::test_suite("shared")) {
  const fs::path goldens = tests::shared_folder() / "models-pypi" / "golden";
  const fs::path models = std::getenv("INGOT_ZOO_DIR") ? std::getenv("INGOT_ZOO_DIR") : INGOT_ZOO;
  const auto find = [&](const std::string& name) {
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(models, none))
      if (entry.path().filename() == name) return entry.path().string();
    return std::string();
  };
  const auto row = [&](const std::string& package, const std::string& name,
                       std::vector<std::string> shapes, std::vector<std::string> arguments) {
    const std::string path = find(name),
                      golden = (goldens / (package + "__" + name + ".npz")).string();
    if (!fs::exists(golden)) return;  // the case above has counted it
    if (path.empty()) {
      printf("[skip] %s of package %s: ./dev show model-files fetches it\n", name.c_str(),
             package.c_str());
      return;
    }
    CAPTURE(name);
    CHECK(run({path, golden, std::move(shapes), std::move(arguments), {}}) == "");
  };
  // The golden has the argument, too, and a name of its own for the only output.
  row("silero-vad", "silero_vad.jit", {"x=1x512"}, {"sr=16000"});
  row("pulsevad", "pulsevad_2.1k.jit", {"x=3x64x21"}, {});
}
