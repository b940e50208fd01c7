// SPDX-License-Identifier: Apache-2.0
#include "tools/import/pt2/archive.h"

#include "tools/files/failure.h"

namespace ingot::pt2 {
namespace {

constexpr uint64_t kMaxProgram = 256u << 20;
constexpr const char* kFlat = "serialized_exported_program.json";  // until torch 2.7

/// NAME/models/MODEL.json, since torch 2.8.
bool is_model(const std::string& member) {
  const size_t first = member.find('/');
  if (first == std::string::npos || member.compare(first, 8, "/models/") != 0) return false;
  const size_t begin = first + 8;
  return member.find('/', begin) == std::string::npos && member.size() > begin + 5 &&
         member.compare(member.size() - 5, 5, ".json") == 0;
}
std::vector<std::string> programs_of(const checkpoint::Archive& archive) {
  std::vector<std::string> found;
  for (const std::string& member : archive.names())
    if (member == kFlat || is_model(member)) found.push_back(member);
  return found;
}

}  // namespace

bool is_exported_program(const importer::OpenedFile& file) {
  return file.archive && !programs_of(*file.archive).empty();
}

std::vector<uint8_t> read_program(const importer::OpenedFile& file) {
  const std::string& path = file.path;
  const std::vector<std::string> programs =
      file.archive ? programs_of(*file.archive) : std::vector<std::string>();
  if (programs.empty())
    host::fail(host::Exit::kCorrupt,
               path + ": holds no exported program, expected a file of torch.export.save()");
  if (programs.size() > 1)
    host::fail(host::Exit::kUnsupported, path + ": holds " + std::to_string(programs.size()) +
                                             " programs ('" + programs[0] + "', '" + programs[1] +
                                             "'), expected one; save each in a file of its own");
  return file.archive->read(programs[0], kMaxProgram);
}

}  // namespace ingot::pt2
