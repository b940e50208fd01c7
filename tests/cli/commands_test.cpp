// SPDX-License-Identifier: Apache-2.0
// What each command does when all is well, and its own exit codes.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using ingot::host::Array;
using Json = nlohmann::json;

namespace {

Json json_of(const Ran& ran) {
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  const Json parsed = Json::parse(ran.out, nullptr, false);
  REQUIRE(!parsed.is_discarded());
  return parsed;
}

}  // namespace

TEST_CASE("convert: without -o the file lies beside its source and its name is printed") {
  const Folder folder;
  spill(folder / "net.onnx", slurp(data("linear.onnx")));
  const Ran ran = run({"convert", folder / "net.onnx"});
  CHECK(ran.exit == 0);
  CHECK(ran.err.empty());  // quiet in a pipe
  CHECK(ran.out.find(folder / "net.ingot") != std::string::npos);
  CHECK(folder.names() == std::vector<std::string>{"net.ingot", "net.onnx"});
}

TEST_CASE("convert: the same source gives the same bytes") {
  const Folder a, b;
  CHECK(slurp(converted(a, "linear")) == slurp(converted(b, "linear")));
}

TEST_CASE(
    "convert: --dry-run writes nothing, --explain says what was done, --check validates it first") {
  const Folder folder;
  const std::string out = folder / "o.ingot";
  Ran ran = run({"convert", data("linear.onnx"), "-o", out, "--dry-run", "--explain"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("Passes") != std::string::npos);
  CHECK(ran.out.find("linear") != std::string::npos);
  CHECK(folder.names().empty());
  ran = run({"convert", data("linear.onnx"), "-o", out, "--check"});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("ok   y") != std::string::npos);
  CHECK(folder.names() == std::vector<std::string>{"o.ingot"});
}

TEST_CASE(
    "convert: --golden goes into the file, and verify runs it; a golden that differs writes "
    "nothing") {
  const Folder folder;
  const std::string out = folder / "o.ingot";
  Ran ran = run({"convert", data("linear.onnx"), "-o", out, "--golden", data("linear.npz")});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  ran = run({"verify", out});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("1 case, 1 output") != std::string::npos);
  const std::string before = slurp(out);
  ran = run({"convert", data("linear.onnx"), "-o", out, "--golden", data("linear_wrong.npz")});
  CHECK(ran.exit == 6);
  CHECK(is_one_error_line(ran.err));
  CHECK(slurp(out) == before);
  CHECK(folder.names() == std::vector<std::string>{"o.ingot"});
}

TEST_CASE("convert: entries of --metadata are in the file") {
  const Folder folder;
  const std::string out = folder / "o.ingot";
  CHECK(run({"convert", data("linear.onnx"), "-o", out, "--metadata", "licence=MIT", "--metadata",
             "site=a=b"})
            .exit == 0);
  const Json report = json_of(run({"inspect", out, "--json"}));
  CHECK(report["metadata"]["licence"] == "MIT");
  CHECK(report["metadata"]["entries"]["site"] == "a=b");
}

TEST_CASE("inspect: says inputs, outputs, dynamic dimensions and sizes, as text and as JSON") {
  const Folder folder;
  const std::string model = converted(folder, "batch");
  const Json report = json_of(run({"inspect", model, "--json", "--ops", "--tensors", "--plan"}));
  CHECK(report["inputs"][0]["name"] == "x");
  CHECK(report["inputs"][0]["dtype"] == "f32");
  CHECK(report["inputs"][0]["dims"] == Json({-1, 4}));
  CHECK(report["outputs"][0]["dim_names"] == Json({"N", ""}));
  CHECK(report["dims"][0]["name"] == "N");
  CHECK(report["file_bytes"] == slurp(model).size());
  CHECK(report["macs"].is_null());
  CHECK(report["ops"].size() == report["instructions"]);
  CHECK(report["tensors"].size() == report["values"]);
  const Json bound = json_of(run({"inspect", model, "--json", "--plan", "--dim", "N=2"}));
  CHECK(bound["macs"] == 2 * 4 * 3);
  CHECK(bound["plan"]["values"].size() >= 2);
  const Ran text = run({"inspect", model, "--ops", "--tensors", "--plan", "--metadata"});
  CHECK(text.exit == 0);
  for (const char* word :
       {"f32 [N,4]", "Dynamic dimensions", "linear", "Tensors", "make_data", "onnx"}) {
    CAPTURE(word);
    CHECK(text.out.find(word) != std::string::npos);
  }
}

TEST_CASE(
    "inspect: a source that can be converted, and one that cannot with all that stands in the "
    "way") {
  const Json yes = json_of(run({"inspect", data("batch.onnx"), "--json"}));
  CHECK(yes["convertible"] == true);
  CHECK(yes["op_counts"]["Gemm"] == 1);
  const Json no = json_of(run({"inspect", data("unsupported.onnx"), "--json"}));
  CHECK(no["convertible"] == false);
  CHECK(no["obstacles"].size() == 2);
  CHECK(no["inputs"].size() == 1);  // as the file states them
  CHECK(no["inputs"][0]["dtype"] == "f32");
  CHECK(no["outputs"].size() == 1);
  CHECK(no["op_counts"]["com.acme.Frobnicate"] == 1);
  CHECK(run({"inspect", data("unsupported.onnx")}).out.find("Frobnicate") != std::string::npos);
}

TEST_CASE("inspect: a number of a checkpoint comes back to the bit") {
  const Folder folder;
  // torch.save({"loss": 2.327927350997925}) in the older format: five pickles, one after the other
  const std::string magic("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 15),
      version("\x80\x02M\xe9\x03.", 6), system("\x80\x02}.", 4),
      object("\x80\x02}U\x04lossG\x40\x02\x9f\x98\x60\0\0\0s.", 20), keys("\x80\x02].", 4);
  spill(folder / "loss.pth", magic + version + system + object + keys);
  const Json report = json_of(run({"inspect", folder / "loss.pth", "--json"}));
  CHECK(report["facts"][0]["value"].get<double>() == 2.327927350997925);
}

TEST_CASE("run: an answer comes back as numpy would read it, on any threads and kernels") {
  const Folder folder;
  const std::string model = converted(folder, "batch");
  const auto golden = ingot::host::read_npz(data("batch.npz"));
  std::string first;
  for (const char* isa : {"", "scalar"}) {
    for (const char* threads : {"1", "2", "auto"}) {
      const std::string out = folder / "out.npz";
      const Ran ran = run({"run", model, "--inputs", data("batch.npz"), "--outputs", out,
                           "--threads", threads, "--trust", "hashes", "--map", "copy"},
                          {{{"INGOT_CPU_ISA", isa}}, nullptr});
      INFO(ran.err);
      REQUIRE(ran.exit == 0);
      CHECK(ran.out.empty());
      const auto arrays = ingot::host::read_npz(out);
      REQUIRE(arrays.size() == 1);
      CHECK(arrays[0].name == "y");
      CHECK(ingot::check::compare("y", *find_array(golden, "out:y"), arrays[0], {}).passed);
      if (first.empty()) first = slurp(out);
      CHECK(slurp(out) == first);  // the same bits, the same file
    }
  }
}

TEST_CASE(
    "run: --dump writes tensors of the source as the source has them, and check compares them") {
  const Folder folder;
  const std::string model = converted(folder, "image"), inputs = data("image.npz"),
                    out = folder / "out.npz";
  const auto golden = ingot::host::read_npz(inputs);
  const auto dumped = [&](const std::string& which) {
    const Ran ran = run({"run", model, "--inputs", inputs, "--outputs", out, "--dump", which});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    return ingot::host::read_npz(out);
  };
  const auto all = dumped("all"), one = dumped("p");
  for (const char* name : {"mid:c", "mid:p"}) {
    CAPTURE(name);
    const Array *want = find_array(golden, name), *found = find_array(all, name);
    REQUIRE(found);
    CHECK(found->dims == want->dims);  // channels first, and the program has them last
    CHECK(found->bytes == want->bytes);
  }
  REQUIRE(find_array(one, "mid:p"));
  CHECK(find_array(one, "mid:p")->bytes == find_array(golden, "mid:p")->bytes);
  CHECK(!find_array(one, "mid:c"));
  bool is_permuted_inside = false;
  for (const Array& array : all)
    is_permuted_inside |= array.dims == std::vector<int64_t>{1, 6, 4, 5};
  CHECK(!is_permuted_inside);  // the same value is not written twice
  const Ran checked = run({"check", model, "--golden", inputs, "--json"});
  REQUIRE(checked.exit == 0);
  CHECK(json_of(checked)["outputs"].size() == 4);
}

TEST_CASE("run: --profile writes a trace with every instruction, --dump the values in between") {
  const Folder folder;
  const std::string model = converted(folder, "stream");
  const Ran ran =
      run({"run", model, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz"});
  CHECK(ran.exit == 7);
  std::vector<Array> inputs;
  for (const char* name : {"x", "s"}) {
    Array array;
    array.name = name;
    array.dtype = ingot::DType::kF32;
    array.dims = {1, 2};
    array.bytes.assign(8, 0);
    array.as<float>()[0] = 3;
    inputs.push_back(array);
  }
  write_npz(folder / "in.npz", inputs);
  const Ran traced = run({"run", model, "--inputs", folder / "in.npz", "--outputs",
                          folder / "out.npz", "--profile", folder / "t.json", "--dump", "all"});
  INFO(traced.err);
  REQUIRE(traced.exit == 0);
  const Json trace = Json::parse(slurp(folder / "t.json"), nullptr, false);
  REQUIRE(trace.is_object());
  size_t instructions = 0;
  for (const Json& event : trace["traceEvents"])
    instructions += event.value("tid", 0) == 2 && event.value("ph", "") == "X";
  CHECK(instructions == json_of(run({"inspect", model, "--json"}))["instructions"]);
  const auto arrays = ingot::host::read_npz(folder / "out.npz");
  REQUIRE(find_array(arrays, "y"));
  CHECK(find_array(arrays, "y")->as<float>()[0] == 12);
  CHECK(find_array(arrays, "mid:sn"));
  const Ran unknown = run({"run", model, "--inputs", folder / "in.npz", "--outputs",
                           folder / "o2.npz", "--dump", "ss"});
  CHECK(unknown.exit == 5);
  CHECK(is_one_error_line(unknown.err));
  CHECK(folder.names() == std::vector<std::string>{"in.npz", "out.npz", "stream.ingot", "t.json"});
}

TEST_CASE("run: too small an arena is refused with what it needs and what it got") {
  const Folder folder;
  const std::string model = converted(folder, "batch");
  const Ran small = run({"run", model, "--inputs", data("batch.npz"), "--outputs", folder / "o.npz",
                         "--arena-bytes", "100"});
  CHECK(small.exit == 7);
  CHECK(is_one_error_line(small.err));
  CHECK(small.err.find("100") != std::string::npos);
  CHECK(folder.names() == std::vector<std::string>{"batch.ingot"});
  CHECK(run({"run", model, "--inputs", data("batch.npz"), "--outputs", folder / "o.npz",
             "--arena-bytes", "1M"})
            .exit == 0);
}

TEST_CASE("bench: makes valid inputs and prints every key that scripts rely on") {
  const Folder folder;
  struct Case {
    const char* name;
    std::vector<std::string> more;
  };
  for (const Case& c : {Case{"linear", {}},
                        {"embed", {}},
                        {"batch", {"--dim", "N=3"}},
                        {"stream", {"--threads", "1"}}}) {
    CAPTURE(c.name);
    std::vector<std::string> arguments = {"bench", converted(folder, c.name), "--seconds", "0.02",
                                          "--json"};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    const Json report = json_of(run(arguments));
    for (const char* key : {"load_ms", "first_ms", "median_ms", "p90_ms", "p99_ms", "runs",
                            "threads", "rss_mb", "rss_start_mb", "rss_peak_mb", "arena_bytes",
                            "weights_bytes", "file_bytes", "page_faults"}) {
      CAPTURE(key);
      CHECK(report[key].is_number());
    }
    CHECK(report["device"] == "cpu");
    CHECK(report["isa"].is_string());
    CHECK(report["runs"] >= 5);
    CHECK(report["median_ms"] <= report["p99_ms"]);
    CHECK(run(arguments).err.empty());
  }
  CHECK(run({"bench", folder / "linear.ingot", "--seconds", "0"}).out.find("median") !=
        std::string::npos);
  const std::string text = run({"bench", folder / "linear.ingot", "--seconds", "0", "--json"}).out;
  for (size_t at = 0, digits = 0; at < text.size(); at++) {  // as 13.904887500000001
    digits = text[at] >= '0' && text[at] <= '9' ? digits + 1 : 0;
    CHECK(digits < 16);
  }
  for (const char* key : {"spread", "other_work", "stolen"})
    CHECK(Json::parse(text)[key].get<double>() >= 0);
  const Json touched =
      json_of(run({"bench", folder / "linear.ingot", "--seconds", "0", "--json", "--prefault"}));
  CHECK(touched["prefault"] == true);
}

TEST_CASE(
    "check: a golden that fits is exit 0, one that differs is exit 6, and both print the largest "
    "error") {
  const Folder folder;
  const std::string model = converted(folder, "linear");
  for (const std::string& subject : {model, data("linear.onnx")}) {
    CAPTURE(subject);
    Ran ran = run({"check", subject, "--golden", data("linear.npz")});
    INFO(ran.err);
    CHECK(ran.exit == 0);
    CHECK(ran.out.rfind("ok   y: largest error", 0) == 0);
    ran = run({"check", subject, "--golden", data("linear_wrong.npz")});
    CHECK(ran.exit == 6);
    CHECK(is_one_error_line(ran.err));
    CHECK(ran.out.rfind("FAIL y: largest error 0.5", 0) == 0);
    CHECK(run({"check", subject, "--golden", data("linear_wrong.npz"), "--atol", "0.6"}).exit == 0);
  }
  CHECK(folder.names() == std::vector<std::string>{"linear.ingot"});
}

TEST_CASE("check: steps with fed-back state, thinned outputs, and the naive kernels") {
  const Folder folder;
  for (const char* isa : {"", "oracle", "scalar"}) {
    CAPTURE(isa);
    const RunOptions options = {{{"INGOT_CPU_ISA", isa}}, nullptr};
    const Json stream = json_of(run(
        {"check", converted(folder, "stream"), "--golden", data("stream.npz"), "--json"}, options));
    CHECK(stream["passed"] == true);
    CHECK(stream["steps"] == 5);
    CHECK(stream["outputs"].size() == 2);
    CHECK(json_of(run(
              {"check", converted(folder, "batch"), "--golden", data("batch_thin.npz"), "--json"},
              options))["passed"] == true);
    if (*isa) CHECK(stream["isa"] == isa);
  }
}

TEST_CASE("verify: says what it checked; one flipped byte of weights is exit 2") {
  const Folder folder;
  const std::string model = converted(folder, "linear");
  const Json report = json_of(run({"verify", model, "--json"}));
  CHECK(report["passed"] == true);
  CHECK(report["golden"] == false);
  CHECK(report["checks"].size() >= 4);
  std::string bytes = slurp(model);
  bytes[bytes.size() - 1] ^= 1;
  spill(model, bytes);
  const Ran broken = run({"verify", model});
  CHECK(broken.exit == 2);
  CHECK(is_one_error_line(broken.err));
}

TEST_CASE("why: names the peak, the time of each instruction and the passes") {
  const Folder folder;
  const std::string model = converted(folder, "batch");
  const Json report = json_of(run({"why", model, "--dim", "N=4", "--seconds", "0.01", "--json"}));
  CHECK(report["memory"]["live"].size() >= 1);
  CHECK(report["memory"]["ratio"] >= 1.0);
  CHECK(report["instructions"].size() >= 1);
  CHECK(report["passes"].is_array());
  const Ran text = run({"why", model, "--dim", "N=4", "--seconds", "0.01"});
  CHECK(text.exit == 0);
  for (const char* word : {"Memory: arena of", "lower bound", "GFLOP/s", "Passes"})
    CHECK(text.out.find(word) != std::string::npos);
  CHECK(text.out.find("nothing to do for") == std::string::npos);
  CHECK(text.out.find("\nActivations: ") != std::string::npos);
  REQUIRE(run({"report", model, "-o", folder / "page", "--dim", "N=4", "--seconds", "0.01"}).exit ==
          0);
  CHECK(slurp(folder / "page/index.html").find("\"head\":\"output\"") != std::string::npos);
}

TEST_CASE("kernels: writes source that names the kernels of this model") {
  const Folder folder;
  const std::string model = converted(folder, "linear");
  const Ran ran = run({"kernels", model, "-o", folder / "k.cpp"});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(slurp(folder / "k.cpp").find("ingot_model_kernels") != std::string::npos);
  CHECK(run({"kernels", model}).out == slurp(folder / "k.cpp"));
}

TEST_CASE("operators: the page is what the importer takes today") {
  const Ran page = run({"operators", "--markdown"});
  CHECK(page.exit == 0);
  CHECK_MESSAGE(page.out == slurp(std::string(INGOT_DOCS) + "/operators.md"),
                "docs/operators.md is old: ingot operators --markdown > docs/operators.md");
  const Ran one = run({"operators", "Gather"});
  CHECK(one.out == "Gather\n  attributes  axis\n  limits      none\n");
  const Ran unknown = run({"operators", "Gathr"});
  CHECK(unknown.exit == 4);
  CHECK(unknown.err.find("did you mean 'Gather'?") != std::string::npos);
}

TEST_CASE("inspect: a folder of models is a table, with what stands in the way counted") {
  const Folder folder;
  spill(folder / "a.onnx", slurp(data("linear.onnx")));
  spill(folder / "notes.txt", "no model");
  REQUIRE(std::filesystem::create_directory(folder / "below"));
  spill(folder / "below/b.onnx", slurp(data("linear.onnx")));
  const std::string whole = slurp(data("linear.onnx"));
  spill(folder / "cut.onnx", whole.substr(0, whole.size() / 2));
  const Json report = json_of(run({"inspect", folder / "", "--json"}));
  CHECK(report["kind"] == "folder");
  REQUIRE(report["models"].size() == 3);
  CHECK(report["models"][0]["file"] == "a.onnx");
  CHECK(report["models"][0]["verdict"] == "convertible");
  CHECK(report["models"][1]["file"] == "below/b.onnx");
  CHECK(report["models"][2]["verdict"] == "damaged");
  CHECK(report["convertible"] == 2);
  CHECK(report["damaged"] == 1);
  CHECK(report["other_files"] == 1);
  CHECK(report["operators"][0]["models"] == 2);
  CHECK(report["reasons"].size() == 1);
  const Ran text = run({"inspect", folder / ""});
  CHECK(text.exit == 0);
  CHECK(text.out.find("3 models: 2 can be converted, 0 refused, 0 ask for options, 1 damaged; 1 "
                      "other files") != std::string::npos);
  CHECK(run({"inspect", folder / "", "--ops"}).exit == 1);
}
