// SPDX-License-Identifier: Apache-2.0
// What run --profile and why --html write: the trace event format, and a page that is XML and asks
// nobody for anything.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using Json = nlohmann::json;

namespace {

/// "" when the tags of a page nest and its text holds no bare & or <; else what is wrong.
std::string why_not_xml(const std::string& text) {
  std::vector<std::string> open;
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    if (text.compare(at, 9, "<!DOCTYPE") == 0) {
      at = text.find('>', at);
      continue;
    }
    const size_t end = text.find('>', at);
    if (end == std::string::npos) return "a tag does not end";
    const std::string tag = text.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /\n", 1));
    at = end;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1))
        return "</" + tag.substr(1) + "> closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
      if (name == "script") {
        const size_t begin = text.find("<![CDATA[", at), close = text.find("]]>", at);
        if (begin == std::string::npos || close == std::string::npos) return "a script is no CDATA";
        at = close;
      }
    }
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  for (size_t at = text.find('&'); at != std::string::npos && at < text.find("<script");
       at = text.find('&', at + 1)) {
    bool known = false;
    for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;"})
      known |= text.compare(at, strlen(entity), entity) == 0;
    if (!known) return "a bare & at " + std::to_string(at);
  }
  return "";
}

void check_self_contained(const std::string& text) {
  for (const char* outside :
       {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("}) {
    CAPTURE(outside);
    CHECK(text.find(outside) == std::string::npos);
  }
  CHECK(why_not_xml(text) == "");
}

}  // namespace

TEST_CASE(
    "run: --profile keeps to the trace event format, a lane for each thread, bytes and operations "
    "for each "
    "instruction") {
  const Folder folder;
  const std::string model = converted(folder, "batch");
  ingot::host::Array x;
  x.name = "x";
  x.dtype = ingot::DType::kF32;
  x.dims = {512, 4};
  x.bytes.assign(512 * 16, 0);
  ingot::host::write_npz(folder / "in.npz", {x});
  const Ran ran = run({"run", model, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz",
                       "--threads", "2", "--profile", folder / "trace.json"});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  const Json trace = Json::parse(slurp(folder / "trace.json"), nullptr, false);
  REQUIRE(trace.is_object());
  REQUIRE(trace["traceEvents"].is_array());
  std::map<int, double> free_from;  // by lane: complete events of one lane must not overlap
  std::set<int> named, used;
  bool has_work = false;
  for (const Json& event : trace["traceEvents"]) {
    REQUIRE(event.is_object());
    REQUIRE(event["name"].is_string());
    CHECK(event["pid"] == 1);
    const std::string phase = event["ph"];
    if (phase == "M") {
      CHECK(event["args"].is_object());
      if (event["name"] == "thread_name") named.insert(event["tid"].get<int>());
      continue;
    }
    REQUIRE(phase == "X");
    const int lane = event["tid"];
    const double begin = event["ts"], took = event["dur"];
    CHECK(begin >= free_from[lane] - 1e-3);
    CHECK(took >= 0);
    free_from[lane] = begin + took;
    used.insert(lane);
    if (lane != 2) continue;
    const Json& args = event["args"];
    CHECK(args["threads"].get<int>() >= 1);
    CHECK(args["kernel"].is_string());
    has_work |= args["flops"].get<uint64_t>() == 2ull * 512 * 4 * 3 &&
                args["bytes"].get<uint64_t>() >= 512 * (4 + 3) * 4 && args["source"].size() >= 1;
  }
  CHECK(has_work);
  for (const int lane : used) CHECK(named.count(lane) == 1);
}

TEST_CASE("why: --html is one page with the map of memory, the roofline and every list") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), page = folder / "why.html";
  const Ran ran = run({"why", model, "--seconds", "0", "--html", page});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  const std::string text = slurp(page);
  check_self_contained(text);
  for (const char* part :
       {"id=\"memory\"", "id=\"roofline\"", "Layout changes", "Passes", "linear"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(run({"why", model, "--seconds", "0", "--html", folder / "no/such/page.html"}).exit == 7);
}

TEST_CASE("compare: its page is XML and asks nobody for anything") {
  const Folder folder;
  const std::string page = folder / "page.html";
  REQUIRE(run({"compare", data("stream.onnx"), "--html", page}).exit == 0);
  check_self_contained(slurp(page));
}

TEST_CASE(
    "report: a folder with one page of the graph, memory, time and placement, and with JSON") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), out = folder / "report";
  const Ran ran = run({"report", model, "-o", out, "--seconds", "0", "--threads", "1"});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  const std::string text = slurp(out + "/index.html");
  check_self_contained(text);
  for (const char* part :
       {"id=\"graph\"", "id=\"panel\"", "id=\"memory\"", "id=\"roofline\"", "Types", "Placement",
        "1 thread", "linear", "\"kernel\"", "\"source\""}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  const Json report = Json::parse(slurp(out + "/report.json"));
  CHECK(report["shares"][0]["name"] == "cpu");
  CHECK(report["left_to_cpu"].empty());
  // a node for each instruction, for the input and for the output
  size_t nodes = 0;
  for (size_t at = text.find("<g class=\"node"); at != std::string::npos;
       at = text.find("<g class=\"node", at + 1))
    nodes++;
  CHECK(nodes == report["instructions"].size() + 2);
  CHECK(run({"report", model, "-o", out, "--seconds", "0"}).exit == 1);  // it is there already
  const Ran gpu = run({"report", model, "-o", folder / "gpu", "--device", "cuda:h200"});
  CHECK(gpu.exit == 1);
  CHECK(gpu.err.find("measured") != std::string::npos);
  const Ran source = run({"report", data("linear.onnx"), "-o", folder / "none"});
  CHECK(source.exit == 2);
  CHECK(source.err.find("convert") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "none"));
}
