// SPDX-License-Identifier: Apache-2.0
// ingot tune: the quickest variant is found, recorded, and taken by later loads on that GPU and by
// no other.
#include <algorithm>

#include "tests/cli/tune_cases.h"

using namespace cli_test;

TEST_CASE(
    "tune: what was quickest is recorded, and taken on that GPU and no other; every bit and every "
    "other part stay") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  const std::string before = slurp(net);
  const Answer untuned = answer(folder, net, "cuda");
  CHECK(untuned.kernels.count("conv2d_narrow") == 0);
  for (const Json& variant : variants(net)) CHECK(variant["source"] == "model");
  cli::FileParts old(net);

  const Json report = tune(net, kNarrowIsQuick);
  CHECK(report["written"] == true);
  CHECK(report["gpu"]["name"] == "emulated GPU 0");
  REQUIRE(report["instructions"].size() == 2);
  const Json& conv = report["instructions"][0];
  CHECK(conv["op"] == "conv2d");
  CHECK(conv["variants"].size() >= 5);
  const Json& chosen = conv["variants"][conv["chosen"].get<size_t>()];
  CHECK(chosen["variant"] == "128x32");
  CHECK(chosen["nanoseconds"].get<double>() == doctest::Approx(200000));
  CHECK(report["tuned_ns"].get<double>() < report["model_ns"].get<double>());
  for (const Json& output : report["outputs"]) CHECK(output["same_bits"] == true);
  CHECK(folder.names() == std::vector<std::string>{"in.npz", "net.ingot", "out.npz", "report"});

  cli::FileParts tuned(net);
  CHECK(old.minor() == 0);
  CHECK(tuned.minor() == kTuningsMinor);
  for (const PartKind kind : {PartKind::kProgram, PartKind::kMetadata, PartKind::kWeights})
    CHECK(tuned.read(kind) == old.read(kind));
  must({"place", net, "--trust", "hashes"});  // of all parts

  for (const Json& variant : variants(net)) CHECK(variant["source"] == "tuned");
  CHECK(variants(net)[0]["variant"] == "128x32");
  const Answer taken = answer(folder, net, "cuda");
  CHECK(taken.outputs == untuned.outputs);
  CHECK(taken.kernels.at("conv2d_narrow") == 2);  // both instructions
  CHECK(answer(folder, net, "cpu").outputs == untuned.outputs);

  const Environment elsewhere = {{"FAKE_CUDA_NAME", "another GPU"}};
  for (const Json& variant : variants(net, elsewhere)) {
    CHECK(variant["source"] == "model");
    CHECK(has(variant["why"], "another GPU"));
  }
  const Answer foreign = answer(folder, net, "cuda", elsewhere);
  CHECK(foreign.outputs == untuned.outputs);
  CHECK(foreign.kernels == untuned.kernels);
  CHECK(before != slurp(net));
}

TEST_CASE(
    "tune: each GPU has a record of its own, replaced by that GPU alone; inspect lists them") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  tune(net, kNarrowIsQuick);
  Environment other = {{"FAKE_CUDA_NAME", "another GPU"},
                       {"FAKE_CUDA_TIMES", "conv2d_large=250000"}};
  tune(net, other);
  REQUIRE(tunings_of(net).size() == 2);
  CHECK(variants(net)[0]["variant"] == "128x32");
  CHECK(variants(net, other)[0]["variant"] == "128x64");
  tune(net, {{"FAKE_CUDA_TIMES", "conv2d_square=250000"}});
  const std::vector<convert::TuningSpec> records = tunings_of(net);
  REQUIRE(records.size() == 2);
  CHECK(records[0].gpu == "emulated GPU 0");
  CHECK(records[0].instructions[0].variant == "64x64");
  CHECK(records[1].gpu == "another GPU");
  CHECK(records[1].instructions[0].variant == "128x64");
  const Json report = Json::parse(must({"inspect", net, "--json"}).out);
  CHECK(report["tunings"].size() == 2);
  CHECK(has(must({"inspect", net}).out,
            "Tuned on: another GPU, 0.0, 4 multiprocessors: 2 instructions"));
  CHECK(
      has(must({"place", net, "--device", "cuda"}).out,
          "2 instructions with several kernel variants: 2 tuned on this GPU, 0 by the cost model"));
  // The same file, converted anew, knows nothing of it.
  CHECK(Json::parse(must({"inspect", make_chain(folder), "--json"}).out)["tunings"].is_null());
}

TEST_CASE(
    "tune: sums may be cut otherwise in a fast file, once and for all, within the tolerance") {
  const Folder folder;
  const std::string net = make_network(folder, kFast);
  const Answer untuned = answer(folder, net, "cuda");
  CHECK(untuned.kernels.count("add_splits") == 0);  // the last block of a tile adds its parts
  const Json report = tune(net, {});
  const Json& linear = report["instructions"][1];
  CHECK(linear["variants"][0]["parts"] > 1);
  CHECK(report["outputs"].size() == 2);
  // A record of one part for each sum: other bits than the model's parts, the same in each run.
  std::vector<convert::TuningSpec> records = tunings_of(net);
  records[0].instructions[1].parts = 1;
  rewrite(net, convert::encode_tunings(records));
  CHECK(variants(net)[1]["parts"] == 1);
  const Answer first = answer(folder, net, "cuda"), second = answer(folder, net, "cuda");
  CHECK(first.outputs == second.outputs);
  CHECK(first.outputs != untuned.outputs);
  // More parts than the model's need more scratch: the session has it.
  uint32_t most = 0;
  for (const Json& variant : linear["variants"])
    if (variant["variant"] == "64x64") most = std::max(most, variant["parts"].get<uint32_t>());
  REQUIRE(most > 1);
  records[0].instructions[1].variant = "64x64", records[0].instructions[1].parts = most;
  rewrite(net, convert::encode_tunings(records));
  CHECK(variants(net)[1]["parts"] == most);
  const Answer deeper = answer(folder, net, "cuda");
  CHECK(deeper.kernels.count("product_tf32_rows_64x64") == 1);
}

TEST_CASE("tune: a record holds for the dimensions that were bound") {
  const Folder folder;
  const std::string net = make_network(folder, kFast, true);
  const Environment quick = {
      {"FAKE_CUDA_TIMES", "product_tf32_rows_32x128=60000,add_splits=90000000"}};
  tune(net, quick, {"--dim", "N=6"});
  CHECK(variants(net, {}, {"--dim", "N=6"})[1]["source"] == "tuned");
  CHECK(variants(net, {}, {"--dim", "N=7"})[1]["source"] == "model");
  tune(net, quick, {"--dim", "N=7"});
  CHECK(tunings_of(net).size() == 2);
  CHECK(variants(net, {}, {"--dim", "N=6"})[1]["source"] == "tuned");
  CHECK(variants(net, {}, {"--dim", "N=7"})[1]["source"] == "tuned");
  const Answer six = answer(folder, net, "cuda");
  CHECK(six.kernels.count("product_tf32_rows_32x128") == 1);
}

TEST_CASE(
    "tune: what a clock does now and then does not choose; nothing near the model's time does "
    "either") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  Environment noisy = kNarrowIsQuick;
  noisy.push_back({"FAKE_CUDA_NOISE", "5"});
  const Json report = tune(net, noisy);
  CHECK(report["instructions"][0]["variants"][report["instructions"][0]["chosen"].get<size_t>()]
              ["variant"] == "128x32");
  // Every kernel takes as long as every other, but for a block's nanosecond: the model's stays, and
  // is recorded.
  const Json level = tune(net);
  for (const Json& instruction : level["instructions"]) CHECK(instruction["chosen"] == 0);
  CHECK(tunings_of(net)[0].instructions.size() == 2);
}

TEST_CASE("tune: a dry run writes nothing; -o leaves the source as it is") {
  const Folder folder;
  const std::string net = make_network(folder, kExact), before = slurp(net);
  const Json dry = tune(net, kNarrowIsQuick, {"--dry-run"});
  CHECK(dry["written"] == false);
  CHECK(dry["instructions"].size() == 2);
  CHECK(folder.names() == std::vector<std::string>{"net.ingot"});
  tune(net, kNarrowIsQuick, {"-o", folder / "tuned.ingot"});
  CHECK(slurp(net) == before);
  CHECK(tunings_of(folder / "tuned.ingot").size() == 1);
  CHECK(has(must({"tune", net, "--dry-run", "--time", "1ms"}, kNarrowIsQuick).out,
            "nothing is written"));
}

TEST_CASE(
    "tune: variants are those of the weights that the GPU holds, packed f16 weights in fp16") {
  const Folder folder;
  const std::string net = folder / "digits.ingot";
  // Its first convolution has one channel: one variant with weights of f32, several with f16.
  must({"convert", std::string(INGOT_MODELS) + "/../../examples/digits/digits.onnx", "--dim", "n=1",
        "--precision", "fp16", "-o", net});
  const Json report = tune(net);
  CHECK(report["written"] == true);
  CHECK(report["instructions"][0]["op"] == "conv2d");
  CHECK(variants(net)[0]["source"] == "tuned");
}

TEST_CASE("tune: help has examples, completion knows the command") {
  const Ran help = run({"tune", "--help"});
  CHECK(help.exit == 0);
  for (const char* part : {"--device", "--time", "--dry-run", "--json", "--output",
                           "ingot tune model.ingot --device cuda"})
    CHECK(has(help.out, part));
  CHECK(has(run({"completion", "bash"}).out, "tune) options='"));
}
