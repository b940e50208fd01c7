// SPDX-License-Identifier: Apache-2.0
// ingot diff - what two sets of weights have in common, and where they part.
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/checkpoint/tensors/compare_tensors.h"
#include "tools/cli/options/command.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/weights/programs/read_weights.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::Checkpoint;

struct DiffArguments {
  std::string a, b;
  bool json = false, all = false;
};

std::map<std::string, const checkpoint::Tensor*> by_name(const Checkpoint& c) {
  std::map<std::string, const checkpoint::Tensor*> out;
  for (const checkpoint::Tensor& t : c.tensors) out[checkpoint::path_text(t.path)] = &t;
  return out;
}

std::string type_text(const checkpoint::Tensor& t) {
  std::string text = std::string(checkpoint::element_name(t.type)) + " [";
  for (size_t i = 0; i < t.dims.size(); i++) text += (i ? "," : "") + std::to_string(t.dims[i]);
  return text + "]";
}

std::string fact_text(const checkpoint::FactValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "none";
        else if constexpr (std::is_same_v<T, bool>)
          return v ? "true" : "false";
        else if constexpr (std::is_same_v<T, std::string>)
          return v;
        else if constexpr (std::is_same_v<T, double>)
          return Json(v).dump();
        else
          return std::to_string(v);
      },
      value);
}

/// One row for each key that is not equal in both.
struct Comparison {
  Json rows = Json::array();
  uint64_t equal = 0, only_a = 0, only_b = 0, shapes = 0, types = 0, values = 0, facts = 0;
  bool same() const { return rows.empty(); }
};

void compare_pair(const std::string& name, const checkpoint::Tensor& a, const checkpoint::Tensor& b,
                  Comparison* out) {
  if (a.dims != b.dims) {
    out->shapes++;
    out->rows.push_back(
        {{"name", name}, {"what", "shape"}, {"a", type_text(a)}, {"b", type_text(b)}});
    return;
  }
  const checkpoint::Distance d = checkpoint::distance(a, b);
  if (d.same_bits) {
    out->equal++;
    return;
  }
  const bool type_only = d.differing == 0 && a.type != b.type;
  (type_only ? out->types : out->values)++;
  Json row = {{"name", name},
              {"what", type_only ? "type" : "values"},
              {"a", type_text(a)},
              {"b", type_text(b)}};
  row["largest"] = d.largest;
  row["largest_relative"] = d.largest_relative;
  row["mean_relative"] = d.mean_relative;
  row["differing"] = d.differing;
  row["non_finite"] = d.non_finite;
  out->rows.push_back(std::move(row));
}

Comparison compare(const Checkpoint& a, const Checkpoint& b) {
  Comparison out;
  const auto left = by_name(a), right = by_name(b);
  for (const auto& [name, tensor] : left) {
    const auto found = right.find(name);
    if (found != right.end()) {
      compare_pair(name, *tensor, *found->second, &out);
      continue;
    }
    out.only_a++;
    out.rows.push_back(
        {{"name", name}, {"what", "only in A"}, {"a", type_text(*tensor)}, {"b", ""}});
  }
  for (const auto& [name, tensor] : right) {
    if (left.count(name)) continue;
    out.only_b++;
    out.rows.push_back(
        {{"name", name}, {"what", "only in B"}, {"a", ""}, {"b", type_text(*tensor)}});
  }
  std::map<std::string, std::pair<std::string, std::string>> facts;
  for (const checkpoint::Fact& f : a.facts)
    facts[checkpoint::path_text(f.path)].first = fact_text(f.value);
  for (const checkpoint::Fact& f : b.facts)
    facts[checkpoint::path_text(f.path)].second = fact_text(f.value);
  for (const auto& [name, values] : facts) {
    if (values.first == values.second) continue;
    out.facts++;
    out.rows.push_back(
        {{"name", name}, {"what", "fact"}, {"a", values.first}, {"b", values.second}});
  }
  return out;
}

/// The names differ by what stands before them: say so, it is what people trip over.
std::string prefix_hint(const Checkpoint& a, const Checkpoint& b) {
  if (a.tensors.empty() || b.tensors.empty()) return "";
  const std::string x = checkpoint::path_text(a.tensors[0].path),
                    y = checkpoint::path_text(b.tensors[0].path);
  const auto ends = [](const std::string& text, const std::string& end) {
    return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  };
  if (ends(x, y)) return "A's names begin with '" + x.substr(0, x.size() - y.size()) + "'";
  if (ends(y, x)) return "B's names begin with '" + y.substr(0, y.size() - x.size()) + "'";
  return "";
}

void print(const Comparison& c, const DiffArguments& a, const std::string& hint) {
  constexpr size_t kShort = 40;
  Table table({"", "", "", "", ">"});
  size_t shown = 0;
  for (const Json& row : c.rows) {
    if (!a.all && shown++ == kShort) break;
    std::string apart;
    if (row["what"] == "values") {
      apart = "largest " + number(row["largest"].get<double>(), 3) + ", relative " +
              number(row["largest_relative"].get<double>(), 3);
      if (row["non_finite"].get<uint64_t>())
        apart += ", " + row["non_finite"].dump() + " NaN or infinite";
    }
    const auto cut = [](std::string text) {
      return text.size() > 60 ? text.substr(0, 57) + "..." : text;
    };
    table.row({row["name"].get<std::string>(), row["what"].get<std::string>(),
               cut(row["a"].get<std::string>()), cut(row["b"].get<std::string>()), apart});
  }
  fputs(table.text().c_str(), stdout);
  if (!a.all && c.rows.size() > kShort)
    printf("  ... %zu more; --all lists all\n", c.rows.size() - kShort);
  printf(
      "%llu tensors equal, %llu of other values, %llu of another type, %llu of another shape, %llu "
      "only in A, %llu "
      "only in B; %llu facts differ\n",
      (unsigned long long)c.equal, (unsigned long long)c.values, (unsigned long long)c.types,
      (unsigned long long)c.shapes, (unsigned long long)c.only_a, (unsigned long long)c.only_b,
      (unsigned long long)c.facts);
  if (!hint.empty() && c.equal == 0) printf("note: %s\n", hint.c_str());
}

int diff(const DiffArguments& a) {
  const Checkpoint left = weights::read_weights(a.a), right = weights::read_weights(a.b);
  if (left.tensors.empty() && right.tensors.empty())
    host::fail(host::Exit::kCheckFailed,
               a.a + " and " + a.b +
                   ": neither has a tensor, so nothing was compared; see: ingot inspect " + a.a);
  const Comparison c = compare(left, right);
  if (a.json) {
    const Json report = {{"a", a.a},           {"b", a.b},           {"equal", c.equal},
                         {"values", c.values}, {"types", c.types},   {"shapes", c.shapes},
                         {"only_a", c.only_a}, {"only_b", c.only_b}, {"facts", c.facts},
                         {"rows", c.rows}};
    printf("%s\n", json_text(report).c_str());
  } else {
    print(c, a, prefix_hint(left, right));
  }
  return c.same() ? 0 : int(host::Exit::kCheckFailed);
}

}  // namespace

void add_diff(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<DiffArguments>();
  CLI::App* command = add_command(app, chosen, "diff", "Compare the weights of two checkpoints",
                                  "  ingot diff before.pth after.safetensors\n"
                                  "  ingot diff a.ckpt b.ckpt --json | jq .rows",
                                  [a] { return diff(*a); });
  reads_file(command->add_option("A", a->a, "a checkpoint of any kind that ingot inspect reads")
                 ->required()
                 ->type_name(""));
  reads_file(command->add_option("B", a->b, "another")->required()->type_name(""));
  command->add_flag("--json", a->json, "print a report for scripts");
  command->add_flag("--all", a->all, "list every difference");
}

}  // namespace ingot::cli
