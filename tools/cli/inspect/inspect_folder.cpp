// SPDX-License-Identifier: Apache-2.0
// A folder or an archive of models: which can be converted, and what stands in the way of the
// others, counted over all of them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/cli/conversion/conversion.h"
#include "tools/cli/inspect/inspect.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/file_kind.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 100000;

/// Null for what no importer reads.
std::optional<convert::Source> opened(const std::string& path) {
  try {
    return convert::Source::open(path);
  } catch (const host::Failure&) {
    return std::nullopt;
  }
}
bool is_named_as_model(const std::string& name) {
  const std::string end = fs::path(name).extension().string();
  return end == ".onnx" || end == ".tflite" || end == ".pt2" || end == ".pt" || end == ".keras" ||
         end == ".h5" || end == ".jit" || end == ".bson" || end == ".ort";
}

/// How often each operator and each reason was met, and in how many models.
struct Tally {
  struct Count {
    int models = 0, nodes = 0;
  };
  std::map<std::string, Count> operators;
  std::map<std::vector<std::string>, Count> reasons;  // operator, attribute, why, hint
  int convertible = 0, refused = 0, incomplete = 0, damaged = 0;
};

/// A reason without the names of one model, so that the same of two is counted together.
std::string without_names(const std::string& why) {
  return std::regex_replace(why, std::regex("'[^']*'"), "NAME");
}
Json counts_of_source(const convert::Source& source) {
  try {
    return source.describe().op_counts;
  } catch (const graph::ConversionError&) {
    // what is refused is reported whether or not its nodes can be counted
  }
  return Json::object();
}

/// What cannot be read: why, which is counted.
Json damaged_row(const std::string& name, uint64_t bytes, const std::string& why, Tally* tally) {
  tally->damaged++;
  Tally::Count& count = tally->reasons[{"", "", without_names(why), ""}];
  count.nodes++;
  count.models++;
  return {{"file", name}, {"file_bytes", bytes},         {"verdict", "damaged"},
          {"why", why},   {"op_counts", Json::object()}, {"obstacles", Json::array()}};
}

/// One row. `name` is what the source is called.
Json examine(const convert::Source& source, const std::string& name,
             const std::vector<std::string>& dims, Tally* tally) {
  const std::string& path = source.path();
  Json row = {{"file", name}, {"file_bytes", host::file_bytes(path)}};
  Json counts = Json::object(), obstacles = Json::array();
  std::string why;
  const auto stripped = [&](std::string text) {
    if (text.rfind(path + ": ", 0) == 0) text = text.substr(path.size() + 2);
    return text;
  };
  try {
    convert::ConvertOptions options;
    options.dims = dims;
    const convert::ConversionResult result = convert::convert_source(source, options);
    row["format"] = result.file.metadata.source_format;
    for (const convert::SourceNodeSpec& node : result.file.metadata.source_nodes)
      counts[node.op] = counts.value(node.op, 0) + 1;
    row["verdict"] = "convertible";
    tally->convertible++;
  } catch (const graph::ConversionError& error) {
    const bool refused = error.exit_code == host::Exit::kUnsupported;
    const bool damaged = error.exit_code == host::Exit::kCorrupt;
    row["verdict"] = refused ? "refused" : damaged ? "damaged" : "incomplete";
    (refused ? tally->refused : damaged ? tally->damaged : tally->incomplete)++;
    why = stripped(error.message);
    if (refused) counts = counts_of_source(source);
    std::set<std::vector<std::string>> met;
    for (const graph::Unsupported& u : error.unsupported) {
      obstacles.push_back({{"op", u.op},
                           {"attribute", u.attribute},
                           {"node", u.node},
                           {"why", u.why},
                           {"hint", u.hint}});
      const std::vector<std::string> key = {u.op, u.attribute, without_names(u.why), u.hint};
      Tally::Count& count = tally->reasons[key];
      count.nodes++;
      count.models += met.insert(key).second;
    }
    if (error.unsupported.empty()) {
      Tally::Count& count = tally->reasons[{"", "", without_names(why), ""}];
      count.nodes++;
      count.models++;
    }
  } catch (const host::Failure& failure) {
    return damaged_row(name, host::file_bytes(path), stripped(failure.what()), tally);
  }
  for (const auto& [op, number] : counts.items()) {
    tally->operators[op].nodes += number.get<int>();
    tally->operators[op].models++;
  }
  row["why"] = why;
  row["op_counts"] = counts;
  row["obstacles"] = obstacles;
  return row;
}

Json finished(const std::string& kind, const std::string& path, Json models, size_t others,
              const Tally& tally) {
  Json operators = Json::array(), reasons = Json::array();
  for (const auto& [op, count] : tally.operators)
    operators.push_back({{"op", op}, {"models", count.models}, {"nodes", count.nodes}});
  for (const auto& [key, count] : tally.reasons)
    reasons.push_back({{"op", key[0]},
                       {"attribute", key[1]},
                       {"why", key[2]},
                       {"hint", key[3]},
                       {"models", count.models},
                       {"nodes", count.nodes}});
  const auto most_first = [](const Json& a, const Json& b) {
    return std::pair(a["models"].get<int>(), a["nodes"].get<int>()) >
           std::pair(b["models"].get<int>(), b["nodes"].get<int>());
  };
  std::stable_sort(operators.begin(), operators.end(), most_first);
  std::stable_sort(reasons.begin(), reasons.end(), most_first);
  return {{"file", path},
          {"kind", kind},
          {"models", models},
          {"convertible", tally.convertible},
          {"refused", tally.refused},
          {"incomplete", tally.incomplete},
          {"damaged", tally.damaged},
          {"other_files", others},
          {"reasons", reasons},
          {"operators", operators}};
}

}  // namespace

bool is_archive_of_models(const std::string& path) {
  if (opened(path)) return false;
  const auto archive = checkpoint::Archive::open(path);
  return std::any_of(archive->names().begin(), archive->names().end(), is_named_as_model);
}

Json inspect_folder(const InspectArguments& a) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator at(a.file, fs::directory_options::skip_permission_denied, error);
  if (error)
    host::fail(host::Exit::kUnavailable, a.file + ": cannot be listed: " + error.message());
  for (; at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (error) break;
    if (!at->is_regular_file(error) || at->is_symlink(error)) continue;
    if (paths.size() >= kMaxFiles)
      host::fail(host::Exit::kUnsupported, a.file + ": has more than " + std::to_string(kMaxFiles) +
                                               " files; inspect its folders one by one");
    paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  Json models = Json::array();
  Tally tally;
  size_t others = 0;
  for (const std::string& path : paths) {
    if (const auto source = opened(path))
      models.push_back(examine(*source, fs::relative(path, a.file).string(), a.dims, &tally));
    else
      others++;
  }
  return finished("folder", a.file, models, others, tally);
}

Json inspect_archive(const InspectArguments& a) {
  const auto archive = checkpoint::Archive::open(a.file);
  Json models = Json::array();
  Tally tally;
  size_t others = 0;
  for (const std::string& name : archive->names()) {
    if (!is_named_as_model(name)) {
      others++;
      continue;
    }
    try {
      const auto file = unpack(*archive, a.file, name);
      if (const auto source = opened(file->path()))
        models.push_back(examine(*source, name, a.dims, &tally));
      else
        others++;
    } catch (const host::Failure& failure) {
      models.push_back(damaged_row(name, archive->size(name), failure.what(), &tally));
    }
  }
  return finished("archive", a.file, models, others, tally);
}

void print_folder(const Json& r) {
  const auto text = [](const Json& value) {
    return one_line(value.is_string() ? value.get<std::string>() : value.dump());
  };
  const auto reason_of = [&](const Json& row) {
    std::set<std::string> ops;
    for (const Json& each : row["obstacles"]) ops.insert(text(each["op"]));
    std::string names;
    for (const std::string& op : ops) names += (names.empty() ? "" : ", ") + op;
    return ops.empty() ? text(row["why"]) : names;
  };
  Table models({"model", "format", ">bytes", ">nodes", "can be converted"});
  for (const Json& row : r["models"]) {
    int nodes = 0;
    for (const auto& [op, count] : row["op_counts"].items()) nodes += count.get<int>();
    const bool good = row["verdict"] == "convertible";
    models.row({text(row["file"]), row.contains("format") ? text(row["format"]) : "",
                grouped(row["file_bytes"].get<uint64_t>()), nodes ? grouped(uint64_t(nodes)) : "",
                good ? "yes" : "no, " + text(row["verdict"]) + ": " + reason_of(row)});
  }
  fputs(models.text().c_str(), stdout);
  printf(
      "%s models: %s can be converted, %s refused, %s ask for options, %s damaged; %s other "
      "files\n",
      grouped(r["models"].size()).c_str(), text(r["convertible"]).c_str(),
      text(r["refused"]).c_str(), text(r["incomplete"]).c_str(), text(r["damaged"]).c_str(),
      text(r["other_files"]).c_str());
  Table reasons({">models", ">nodes", "in the way", "why"});
  for (const Json& row : r["reasons"]) {
    std::string name = text(row["op"]);
    if (!text(row["attribute"]).empty()) name += " " + text(row["attribute"]);
    const std::string hint = text(row["hint"]);
    reasons.row({text(row["models"]), text(row["nodes"]), name,
                 text(row["why"]) + (hint.empty() ? "" : "; " + hint)});
  }
  if (!reasons.empty()) printf("In the way\n%s", reasons.text().c_str());
  Table operators({">models", ">nodes", "operator"});
  for (const Json& row : r["operators"])
    operators.row({text(row["models"]), text(row["nodes"]), text(row["op"])});
  if (!operators.empty()) printf("Operators\n%s", operators.text().c_str());
}

}  // namespace ingot::cli
