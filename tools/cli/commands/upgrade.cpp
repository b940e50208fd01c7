// SPDX-License-Identifier: Apache-2.0
// ingot upgrade - writes a file of an older version as this version writes it; the program and the
// weights keep their bytes.
#include <memory>

#include "tools/cli/options/command.h"
#include "tools/cli/output/terminal.h"
#include "tools/compile/write/program_encoder.h"
#include "tools/files/file_kind.h"
#include "tools/files/input_file.h"
#include "tools/files/output_file.h"
#include "tools/files/standard_streams.h"
#include "tools/session/engine.h"
#include "tools/session/file_parts.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

struct UpgradeArguments {
  std::string file, output;
};

/// What this version writes and the file lacks, one word group each; the parts are changed
/// accordingly.
std::vector<std::string> bring_up_to_date(FileParts* old) {
  std::vector<std::string> changes;
  if (!old->has(PartKind::kMetadata)) {
    convert::MetadataSpec spec;
    spec.producer = std::string("ingot ") + ingot_version() + ", upgraded";
    old->put(PartKind::kMetadata, convert::encode_metadata(spec), 0);
    changes.push_back("metadata added");
  }
  return changes;
}

/// Everything about the file but that this machine can run it.
void validate(const std::string& path) {
  ingot_open_options options = open_options(chosen_kernels());
  host::remember_input(path);
  const Result<Model> opened = Model::open(path.c_str(), options);
  // fails with its line
  if (!opened.ok() && opened.error().code != INGOT_NO_KERNEL) (void)open_model(path);
}

int upgrade(const UpgradeArguments& a) {
  validate(a.file);
  FileParts old(a.file);
  old.check_hashes();
  const std::string version = std::to_string(kFormatMajor) + "." + std::to_string(old.minor());
  if (old.minor() > kFormatMinor)
    fail(Exit::kUnsupported, a.file + ": format " + version + " is newer than this ingot writes (" +
                                 std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor) +
                                 "); there is nothing to upgrade to");
  const std::vector<std::string> changes = bring_up_to_date(&old);
  if (a.output.empty() && host::is_standard_input(a.file))
    fail(Exit::kUsage,
         "upgrade: the file is standard input, which cannot be changed in place; name an output "
         "with -o");
  const std::string output = a.output.empty() ? a.file : a.output;
  if (changes.empty()) {
    if (output != a.file && !host::same_file(a.file, output)) {
      host::OutputFile file(output, a.file);
      old.copy(&file);
      file.commit();
    }
    summary("%s: format %s is the current one, nothing to change%s\n", a.file.c_str(),
            version.c_str(),
            output == a.file ? "" : ("; " + output + " has the same bytes").c_str());
    return 0;
  }
  if (old.has(PartKind::kSignature))
    fail(Exit::kUnsupported,
         a.file +
             ": is signed, and the signature holds for the old bytes only; take the unsigned "
             "file, upgrade it and sign it anew");
  uint64_t bytes = 0;
  {
    host::OutputFile file(output, a.file);
    old.write(&file);
    if (!file.temporary().empty()) validate(file.temporary());
    bytes = file.size();
    file.commit();
  }
  std::string said;
  for (const std::string& change : changes) said += (said.empty() ? "" : ", ") + change;
  summary("%s: %s; %s bytes\n", output.c_str(), said.c_str(), grouped(bytes).c_str());
  return 0;
}

}  // namespace

void add_upgrade(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<UpgradeArguments>();
  CLI::App* command = add_command(
      app, chosen, "upgrade", "Write a file of an older version as this version writes it",
      "  ingot upgrade old.ingot -o new.ingot\n"
      "  ingot upgrade model.ingot            # in place, whole or not at all",
      [a] { return upgrade(*a); });
  takes_plugins(command);
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  writes_file(command->add_option("-o,--output", a->output, "file to write; without it FILE itself")
                  ->type_name("OUT.ingot"));
}

}  // namespace ingot::cli
