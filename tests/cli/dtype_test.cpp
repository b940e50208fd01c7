// SPDX-License-Identifier: Apache-2.0
// --dtype and what belongs to it, on every kind of source, through the real binary.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/shared.h"

using namespace cli_test;

namespace {

const std::string kTests = std::string(INGOT_MODELS) + "/../";

nlohmann::json inspect(const std::string& file) {
  const Ran ran = run({"inspect", file, "--json", "--tensors", "--plan"});
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  return nlohmann::json::parse(ran.out);
}

std::string digits() { return kTests + "../examples/digits/digits.onnx"; }

}  // namespace

TEST_CASE("--dtype: every kind of source is converted, validated, verified and half as large") {
  const Folder folder;
  struct Source {
    std::string path;
    std::vector<std::string> options;
  };
  const Source sources[] = {
      {digits(), {"--dim", "n=1"}},
      {kTests + "import/pt2/data/picture.pt2", {}},
      {kTests + "import/torchscript/data/trained.pt", {"--input-shape", "x=1x2x5x6"}},
      {kTests + "import/keras/samples/sequential.keras", {}},
      {kTests + "import/keras/samples/lstm.h5", {}},
      {kTests + "import/flux/samples/picture.bson", {}},
      {kTests + "import/flux/samples/two_dense.jld2", {}}};
  for (const Source& source : sources)
    for (const char* dtype : {"fp16", "bf16"}) {
      CAPTURE(source.path);
      CAPTURE(dtype);
      std::vector<std::string> arguments = {"convert", source.path, "-o", folder / "model.ingot",
                                            "--check"};
      arguments.insert(arguments.end(), source.options.begin(), source.options.end());
      const Ran plain = run(arguments);
      REQUIRE_MESSAGE(plain.exit == 0, plain.err);
      const auto before = inspect(folder / "model.ingot");
      CHECK(before["storage"].is_null());
      arguments.insert(arguments.end(), {"--dtype", dtype});
      const Ran ran = run(arguments);
      REQUIRE_MESSAGE(ran.exit == 0, ran.err);
      CHECK(ran.err.find(std::string("are stored as ") + (dtype[0] == 'f' ? "f16" : "bf16")) !=
            std::string::npos);
      const auto after = inspect(folder / "model.ingot");
      CHECK(after["storage"]["widened_bytes"].get<uint64_t>() >=
            2 * after["storage"]["stored_bytes"].get<uint64_t>());
      CHECK(after["weights_bytes"].get<uint64_t>() < before["weights_bytes"].get<uint64_t>());
      if (!after["plan"].contains("open_dims"))
        CHECK(after["plan"]["widened_bytes"] == after["storage"]["widened_bytes"]);
      for (const auto& tensor : after["storage"]["tensors"])
        CHECK(tensor["mean_error"].get<double>() < 0.01);
      const Ran verified = run({"verify", folder / "model.ingot"});
      CHECK_MESSAGE(verified.exit == 0, verified.err);
      const Ran why = run({"why", folder / "model.ingot", "--seconds", "0"});
      CHECK(why.out.find("weights converted at load") != std::string::npos);
    }
}

TEST_CASE("--dtype: an embedded golden is held to the row of the table for that type") {
  const Folder folder;
  const Ran ran = run({"convert", data("linear.onnx"), "-o", folder / "m.ingot", "--golden",
                       data("linear.npz"), "--dtype", "bf16"});
  CHECK_MESSAGE(ran.exit == 0, ran.err);
  CHECK(run({"verify", folder / "m.ingot"}).exit == 0);
  CHECK(run({"check", folder / "m.ingot", "--golden", data("linear.npz")}).exit == 0);
}

namespace {
void expect_golden(const std::string& source, const std::string& golden) {
  CAPTURE(source);
  const Folder folder;
  for (const char* dtype : {"fp16", "bf16"}) {
    CAPTURE(dtype);
    const std::string file = folder / "m.ingot";
    const Ran ran = run({"convert", source, "-o", file, "--golden", golden, "--dtype", dtype});
    REQUIRE_MESSAGE(ran.exit == 0, ran.err);
    CHECK(run({"verify", file}).exit == 0);
    const auto report = inspect(file);
    const double weights = double(report["weights_bytes"].get<uint64_t>());
    // of a small network the biases that stay f32 are more than a few hundredths
    CHECK(double(report["storage"]["stored_bytes"].get<uint64_t>()) >
          (weights > 16384 ? 0.97 : 0.7) * weights);
  }
}
}  // namespace

TEST_CASE(
    "--dtype: trained networks give their goldens, within the row of the table for that type") {
  const std::string keras = kTests + "import/keras/samples/sequential",
                    flux = kTests + "import/flux/samples/picture";
  expect_golden(keras + ".keras", keras + ".npz");
  expect_golden(flux + ".bson", flux + ".npz");
}

TEST_CASE("--dtype: trained networks of shared material" * doctest::test_suite("shared")) {
  const std::string models = (ingot::tests::shared_folder() / "models/").string(),
                    goldens = models + "golden/";
  const char* const networks[][2] = {
      {"xboot__libonnx/mnist_8/model.onnx", "xboot__libonnx__mnist_8__model.onnx.npz"},
      {"kraiskil__onnx2c/pytorch.onnx", "kraiskil__onnx2c__pytorch.onnx.npz"},
      {"breizhn__DTLN/model_1.onnx", "breizhn__DTLN__model_1.onnx.npz"},
      {"snakers4__silero-vad/silero_vad_16k_op15.onnx",
       "snakers4__silero-vad__silero_vad_16k_op15.onnx.npz"},
      {"sonos__tract/byte_sb_bidi_lstm/model.onnx",
       "sonos__tract__byte_sb_bidi_lstm__model.onnx.npz"},
      {"Linzaer__Ultra-Light-Fast-Generic-Face-Detector-1MB/version-slim-320_simplified.onnx",
       "Linzaer__Ultra-Light-Fast-Generic-Face-Detector-1MB__version-slim-320_simplified.onnx."
       "npz"}};
  for (const auto& [source, golden] : networks)
    if (std::filesystem::exists(models + source)) expect_golden(models + source, goldens + golden);
}

TEST_CASE("--dtype: --explain and inspect say what every weight costs") {
  const Folder folder;
  const Ran ran = run({"convert", digits(), "-o", folder / "m.ingot", "--dim", "n=1", "--dtype",
                       "fp16", "--explain"});
  REQUIRE(ran.exit == 0);
  CHECK(ran.out.find("Weights that were rounded") != std::string::npos);
  CHECK(ran.err.find("in the worst of them, 'w3'") != std::string::npos);
  const Ran shown = run({"inspect", folder / "m.ingot", "--tensors"});
  for (const char* part : {"f32 [8,5,5,1], stored as f16", "Weights that were rounded",
                           "in every session's arena, stored as f16"})
    CHECK_MESSAGE(shown.out.find(part) != std::string::npos, shown.out);
  const Ran dry = run({"convert", digits(), "--dim", "n=1", "--dtype", "fp16", "--dry-run"});
  CHECK(dry.exit == 0);
  CHECK(dry.err.find("constants are stored as f16") != std::string::npos);
}

TEST_CASE("--dtype: mistakes are named") {
  const Folder folder;
  const std::string out = folder / "m.ingot";
  const Ran unknown = run({"convert", digits(), "-o", out, "--dtype", "int7"});
  CHECK(unknown.exit == 1);
  CHECK(unknown.err.find("expected fp32, fp16, bf16, int8, w8") != std::string::npos);
  CHECK(run({"convert", digits(), "-o", out, "--keep-fp32", "w1"}).exit == 1);
  CHECK(run({"convert", digits(), "-o", out, "--allow-overflow", "--dtype", "fp32"}).exit == 1);
  const Ran nothing = run(
      {"convert", digits(), "-o", out, "--dim", "n=1", "--dtype", "fp16", "--keep-fp32", "ww3"});
  CHECK(nothing.exit == 5);
  CHECK_MESSAGE(nothing.err.find("--keep-fp32 ww3") != std::string::npos, nothing.err);
  CHECK(is_one_error_line(nothing.err));
  CHECK(folder.names().empty());
  const Ran kept = run({"convert", digits(), "-o", out, "--dim", "n=1", "--dtype", "fp16",
                        "--keep-fp32", "w*", "--keep-fp32", "b?"});
  CHECK(kept.exit == 5);  // ? stands for itself
  const Ran two = run({"convert", digits(), "-o", out, "--dim", "n=1", "--dtype", "fp16",
                       "--keep-fp32", "w1", "--keep-fp32", "*3"});
  CHECK_MESSAGE(two.exit == 0, two.err);
  CHECK(inspect(out)["storage"]["tensors"].size() == 1);
}

TEST_CASE("--dtype: a damaged or rewritten file, upgrade, extract and diff") {
  const Folder folder;
  const std::string file = folder / "m.ingot", copy = folder / "copy.ingot";
  REQUIRE(
      run({"convert", digits(), "-o", file, "--dim", "n=1", "--dtype", "fp16", "--keep-weights"})
          .exit == 0);
  CHECK(run({"upgrade", file, "-o", copy}).exit == 0);
  CHECK(slurp(copy) == slurp(file));
  const Ran given = run({"extract", file, "-o", folder / "w.safetensors"});
  CHECK_MESSAGE(given.exit == 0, given.err);
  const Ran same = run({"diff", digits(), file});
  CHECK_MESSAGE(same.out.find("6 tensors equal, 0 of other values") != std::string::npos, same.out);
  REQUIRE(run({"convert", digits(), "-o", file, "--dim", "n=1", "--dtype", "fp16"}).exit == 0);
  const Ran lost = run({"extract", file, "-o", folder / "w.safetensors"});
  CHECK(lost.exit == 0);
  CHECK_MESSAGE(lost.err.find("stored as f16, which rounds its numbers") != std::string::npos,
                lost.err);
  const Ran compared = run({"compare", digits(), file, "--dim", "n=1"});
  CHECK_MESSAGE(compared.exit == 0, compared.err);
  std::string bytes = slurp(file);
  bytes[bytes.size() - 3] = char(bytes[bytes.size() - 3] ^ 1);
  spill(copy, bytes);
  CHECK(run({"verify", copy}).exit == 2);
}

TEST_CASE("--dtype w8 and w4: weights of linear layers alone, checked, verified and smaller") {
  const Folder folder;
  const std::string out = folder / "m.ingot";
  const std::vector<std::string> words = {"convert", digits(), "-o", out, "--dim", "n=1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run(more);
  };
  REQUIRE(with({}).exit == 0);
  uint64_t before = inspect(out)["weights_bytes"].get<uint64_t>();
  for (const char* dtype : {"w8", "w4"}) {
    const Ran ran = with({"--dtype", dtype, "--target", "cpu,cuda", "--check"});
    REQUIRE_MESSAGE(ran.exit == 0, ran.err);
    CHECK_MESSAGE(ran.err.find("1 linear layers as int") != std::string::npos, ran.err);
    CHECK_MESSAGE(ran.err.find("2 convolutions and recurrent layers stay f32") != std::string::npos,
                  ran.err);
    const uint64_t after = inspect(out)["weights_bytes"].get<uint64_t>();
    CHECK(after < before);
    before = after;
    CHECK(run({"verify", out}).exit == 0);
  }
  struct Mistake {
    std::vector<std::string> words;
    int exit;
    const char* part;
  };
  std::filesystem::remove(out);
  for (const Mistake& m : {Mistake{{"--dtype", "w4:12"}, 1, "where a block is a multiple of 8"},
                           Mistake{{"--dtype", "w4:"}, 1, "where a block is a multiple of 8"},
                           Mistake{{"--dtype", "w4:64k"}, 1, "where a block is a multiple of 8"},
                           Mistake{{"--dtype", "w8", "--allow-overflow"}, 1, "--allow-overflow"},
                           Mistake{{"--dtype", "w8", "--keep-fp32", "x9"}, 5, "--keep-fp32 x9"},
                           Mistake{{"--dtype", "w8", "--keep-fp32", "*"}, 5, "no linear layer"}}) {
    const Ran ran = with(m.words);
    CAPTURE(m.part);
    CHECK_MESSAGE(ran.exit == m.exit, ran.err);
    CHECK_MESSAGE(is_one_error_line(ran.err), ran.err);
    CHECK_MESSAGE(ran.err.find(m.part) != std::string::npos, ran.err);
  }
  CHECK(folder.names().empty());
}
