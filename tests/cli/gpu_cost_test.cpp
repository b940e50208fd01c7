// SPDX-License-Identifier: Apache-2.0
// ingot why --device cuda:NAME: predictions for a GPU that is not here, and how far they are off
// what ingot tune measures.
#include <algorithm>

#include "kernels/cuda/cuda_kernels.h"
#include "tests/cli/tune_cases.h"
#include "tools/diagnose/gpu_cost/loop_instructions.h"
#include "tools/diagnose/gpu_cost/predict.h"

using namespace cli_test;

namespace {

Json predicted(const std::string& net, const std::string& gpu, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"why", net, "--device", "cuda:" + gpu, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return Json::parse(must(words).out);
}

}  // namespace

TEST_CASE("why: a prediction has the launches of a session, and the sum of its instructions") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  const Json report = predicted(net, "sm_90");
  CHECK(report["gpu"]["key"] == "h200");
  CHECK(report["precision"] == "exact");
  CHECK(report["left_to_cpu"] == 0);
  REQUIRE(report["instructions"].size() == 2);
  double ns = 0, bytes = 0, flops = 0;
  for (const Json& i : report["instructions"]) {
    ns += i["ns"].get<double>(), bytes += i["bytes"].get<double>();
    flops += i["flops"].get<double>();
    CHECK(i["launches"] == i["kernels"].size());
    CHECK(i["ns"].get<double>() >= i["start_ns"].get<double>());
  }
  CHECK(report["ns"].get<double>() == doctest::Approx(ns));
  CHECK(report["hidden_ns"].get<double>() == doctest::Approx(0));
  // the second one is there before the first has ended, on an architecture that has that
  const double first = report["instructions"][0]["start_ns"],
               second = report["instructions"][1]["start_ns"];
  CHECK(first - second >= (765 - 270) / 1.83 - 1e-6);  // and it has copied its weights by then
  const Json plain = predicted(net, "a100")["instructions"];
  CHECK(plain[0]["start_ns"] == plain[1]["start_ns"]);
  CHECK(report["bytes"].get<double>() == doctest::Approx(bytes));
  CHECK(report["flops"].get<double>() == doctest::Approx(flops));
  // 36 pixels of 3x3x8 to 16, x, w and y once
  const Json& conv = report["instructions"][0];
  CHECK(conv["flops"] == 2.0 * 36 * 72 * 16);
  CHECK(conv["bytes"] == 4.0 * (36 * 8 + 72 * 16 + 36 * 16));
  CHECK(conv["bound"] == "launch");
  // those of a session: 36 pixels and 6 rows suit four multiprocessors as they do 132
  const Answer ran = answer(folder, net, "cuda");
  for (const Json& i : report["instructions"])
    for (const Json& kernel : i["kernels"])
      CHECK(ran.kernels.count(kernel.get<std::string>().substr(6)) == 1);
}

TEST_CASE(
    "why: more items take a GPU longer, a smaller GPU takes longer, fast files other kernels") {
  const Folder folder;
  const std::string exact = make_network(folder, kExact, true);
  const double few = predicted(exact, "orin-nano", {"--dim", "N=8"})["bytes"],
               many = predicted(exact, "orin-nano", {"--dim", "N=64"})["bytes"];
  CHECK(many - few == doctest::Approx(56 * 4.0 * (512 + 40)));
  const std::string net = make_network(folder, kFast, true);
  CHECK(predicted(net, "orin-nano")["ns"].get<double>() >
        predicted(net, "h100")["ns"].get<double>());
  CHECK(predicted(net, "h100")["instructions"][1]["row"] == "linear_tensorcore");
  CHECK(predicted(net, "xavier")["instructions"][1]["row"] == "linear");
  const std::string text = must({"why", net, "--device", "cuda:t4"}).out;
  CHECK(has(text, "Predicted, not measured: "));
  CHECK(has(text, "assuming N = "));
  CHECK(has(text, "bound by"));
}

TEST_CASE("why: a GPU that no table has is named with those it has; a page is of measured times") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  const Ran unknown = run({"why", net, "--device", "cuda:sm_91"});
  CHECK(unknown.exit == 1);
  CHECK(is_one_error_line(unknown.err));
  CHECK(has(unknown.err, "'sm_91'; it has sm_72 (xavier), sm_75 (t4)"));
  CHECK(has(unknown.err, "sm_120 (rtx5090, rtx5060ti)"));
  const Ran page = run({"why", net, "--device", "cuda:h200", "--html", folder / "why.html"});
  CHECK(page.exit == 1);
  CHECK(is_one_error_line(page.err));
  CHECK(run({"why", net, "--device", "cuda:h200", "--dim", "M=2"}).exit == 5);
  const Ran elsewhere = run({"run", net, "--device", "cuda:h200"});
  CHECK(elsewhere.exit != 0);
  CHECK(is_one_error_line(elsewhere.err));
}

TEST_CASE("tune: what was measured stands beside the prediction, with the error") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  const Json report = tune(net, {{"FAKE_CUDA_TIMES", "conv2d_small=1000000"}});
  const Json& prediction = report["prediction"];
  CHECK(prediction["gpu"] != "");
  double predicted_ns = 0, measured_ns = 0;
  std::vector<double> errors;
  for (const Json& i : report["instructions"]) {
    for (const Json& variant : i["variants"]) CHECK(variant["predicted_ns"].get<double>() > 0);
    const double guess = i["variants"][0]["predicted_ns"], time = i["variants"][0]["nanoseconds"];
    predicted_ns += guess, measured_ns += time;
    errors.push_back(std::abs(guess / time - 1));
  }
  std::sort(errors.begin(), errors.end());
  CHECK(prediction["predicted_ns"].get<double>() == doctest::Approx(predicted_ns));
  CHECK(prediction["measured_ns"].get<double>() == doctest::Approx(measured_ns));
  CHECK(prediction["median_error"].get<double>() == doctest::Approx(errors[errors.size() / 2]));
  CHECK(prediction["within_25_percent"] ==
        std::count_if(errors.begin(), errors.end(), [](double e) { return e <= 0.25; }));
}

TEST_CASE("why: loops of tensor cores have a figure of what they issue, which can be the bound") {
  using namespace ingot;
  const auto is_one_of = [](const std::string& name, std::initializer_list<const char*> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const char* part) { return name.find(part) != std::string::npos; });
  };
  int kernels = 0;
  for (uint32_t i = 0; i < ingot_cuda_kernel_set.kernels.size; i++) {
    const std::string name = ingot_cuda_kernel_set.kernels[i].name;
    const bool multiplies =
        is_one_of(name, {"product_f16", "product_tf32", "attention_f16", "attention_halves",
                         "attention_tf32", "quantized_rows", "quantized_windows", "quantized_bytes",
                         "bottleneck", "weights_f16", "weights_tf32", "block_tiles"});
    CAPTURE(name);
    CHECK((gpu_cost::loop_instructions(name.c_str()) > 1) == multiplies);
    kernels += multiplies;
  }
  CHECK(kernels > 40);
  gpu_cost::LaunchWork work;
  work.unit = gpu_cost::Unit::kTf32, work.threads = 128, work.blocks = 8;
  work.issued = 1e9, work.instructions = 1e7;
  const gpu_cost::GpuModel& orin = *gpu_cost::find_gpu_model("orin-nano");
  CHECK(gpu_cost::cost_of(orin, work, true).bound == gpu_cost::Bound::kIssue);
  work.instructions = 7e6;  // 1e9 / 1024 products, eight cycles each
  CHECK(gpu_cost::cost_of(orin, work, true).bound == gpu_cost::Bound::kArithmetic);
}
