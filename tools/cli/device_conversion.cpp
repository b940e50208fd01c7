// SPDX-License-Identifier: Apache-2.0
// In place of conversion.cpp, inspect_source.cpp, inspect_folder.cpp and inspect_checkpoint.cpp, in
// the command line of a device: it runs .ingot files and has no importers.
#include "tools/cli/conversion/conversion.h"
#include "tools/cli/inspect/inspect.h"
#include "tools/files/file_kind.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::cli {
namespace {

[[noreturn]] void refuse(const std::string& path, host::FileKind kind) {
  host::fail(
      host::Exit::kUnsupported,
      path + ": is " + host::kind_text(path, kind) +
          ", and this command line runs .ingot files alone; convert it on a host: ingot convert " +
          path);
}

}  // namespace

ConvertedFile::ConvertedFile(const std::string& path, const convert::ConvertOptions&)
    : path_(path) {
  if (const host::FileKind kind = host::file_kind(path); kind != host::FileKind::kIngot)
    refuse(path, kind);
}

bool is_checkpoint(const InspectArguments&, host::FileKind) { return false; }
nlohmann::ordered_json inspect_source(const InspectArguments& a) {
  refuse(a.file, host::file_kind(a.file));
}
bool is_archive_of_models(const std::string&) { return false; }
nlohmann::ordered_json inspect_folder(const InspectArguments& a) {
  host::fail(host::Exit::kUsage,
             a.file + ": is a folder; this command line reads .ingot files alone");
}
nlohmann::ordered_json inspect_archive(const InspectArguments& a) { return inspect_folder(a); }
void print_folder(const nlohmann::ordered_json&) {}
nlohmann::ordered_json inspect_checkpoint(const InspectArguments& a) {
  refuse(a.file, host::file_kind(a.file));
}
void print_checkpoint(const nlohmann::ordered_json&, const InspectArguments&) {}

}  // namespace ingot::cli

namespace ingot::vocabulary {
LoadedTokenizer LoadedTokenizer::from_source(const std::string& path) {
  cli::refuse(path, host::file_kind(path));
}
}  // namespace ingot::vocabulary
