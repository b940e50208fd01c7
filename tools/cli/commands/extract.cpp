// SPDX-License-Identifier: Apache-2.0
// ingot extract - the weights of a checkpoint as one safetensors file, names and bits as they were.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/checkpoint/flat/safetensors.h"
#include "tools/cli/options/command.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/output_file.h"
#include "tools/files/suggest.h"
#include "tools/weights/programs/read_weights.h"

namespace ingot::cli {
namespace {

struct ExtractArguments {
  std::string file, output, key;
};

checkpoint::Path split(const std::string& key) {
  checkpoint::Path path;
  size_t at = 0;
  while (!key.empty()) {
    const size_t slash = key.find('/', at);
    path.push_back(key.substr(at, slash == std::string::npos ? std::string::npos : slash - at));
    if (slash == std::string::npos) break;
    at = slash + 1;
  }
  return path;
}

bool begins(const checkpoint::Path& path, const checkpoint::Path& start) {
  return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
}

/// Names below --key; levels that are left join with dots, as state dictionaries have them.
std::vector<checkpoint::NamedTensor> choose(const checkpoint::Checkpoint& c,
                                            const ExtractArguments& a) {
  const checkpoint::Path start = split(a.key);
  std::vector<checkpoint::NamedTensor> chosen;
  std::vector<std::string> tops;
  for (const checkpoint::Tensor& t : c.tensors) {
    if (!t.path.empty()) tops.push_back(t.path[0]);
    if (!begins(t.path, start)) continue;
    std::string name;
    for (size_t i = start.size(); i < t.path.size(); i++)
      name += (name.empty() ? "" : ".") + t.path[i];
    chosen.push_back({name.empty() ? (a.key.empty() ? "tensor" : start.back()) : name, &t});
  }
  if (chosen.empty() && !c.tensors.empty()) {
    const std::string near = host::nearest(start[0], tops);
    host::fail(host::Exit::kMismatch, a.file + ": no tensor lies below '" + a.key + "'" +
                                          (near.empty() ? "; see: ingot inspect " + a.file
                                                        : "; did you mean '" + near + "'?"));
  }
  return chosen;
}

int extract(const ExtractArguments& a) {
  if (host::same_file(a.file, a.output))
    host::fail(host::Exit::kUsage, a.output + ": is the source itself, which is not overwritten");
  const checkpoint::Checkpoint c = weights::read_weights(a.file);
  const std::vector<checkpoint::NamedTensor> chosen = choose(c, a);
  std::map<std::string, std::string> metadata;
  for (const checkpoint::Fact& fact : c.facts)
    if (fact.path.size() == 2 && fact.path[0] == "__metadata__")
      metadata[fact.path[1]] = std::get<std::string>(fact.value);
  for (const std::string& text : c.notes) note(text);
  for (const checkpoint::NamedTensor& t : chosen)
    if (t.tensor->quantization)
      note("'" + t.name + "' is quantized (" + t.tensor->quantization->scheme +
           "): its integers are written, its scales are not");
  checkpoint::write_safetensors(a.output, chosen, metadata);
  uint64_t bytes = 0;
  for (const checkpoint::NamedTensor& t : chosen) bytes += t.tensor->bytes();
  summary("%s: %zu tensors, %s\n", a.output.c_str(), chosen.size(), short_bytes(bytes).c_str());
  return 0;
}

}  // namespace

void add_extract(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<ExtractArguments>();
  CLI::App* command =
      add_command(app, chosen, "extract", "Write the weights of a checkpoint as safetensors",
                  "  ingot extract model.pth -o weights.safetensors\n"
                  "  ingot extract run.ckpt --key state_dict -o weights.safetensors",
                  [a] { return extract(*a); });
  reads_file(
      command
          ->add_option("FILE", a->file,
                       "a checkpoint of any kind that ingot inspect reads, or an .ingot file")
          ->required()
          ->type_name(""));
  writes_file(command->add_option("-o,--output", a->output, "the file to write")
                  ->required()
                  ->type_name("OUT.safetensors"));
  command->add_option("--key", a->key, "only what lies below this key; levels are separated by /")
      ->type_name("KEY");
}

}  // namespace ingot::cli
