// SPDX-License-Identifier: Apache-2.0
#include "tools/session/state_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/format/state_file.h"
#include "tools/files/digest_text.h"
#include "tools/files/file_kind.h"
#include "tools/files/input_file.h"
#include "tools/files/output_file.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;
using host::Exit;

constexpr uint64_t kLargest = uint64_t{1} << 34;

std::vector<uint8_t> read_state_file(const std::string& path) {
  const host::FileKind kind = host::file_kind(path);
  if (kind != host::FileKind::kIngotState)
    host::fail(Exit::kCorrupt, path + ": expected the saved state of a session, found " +
                                   host::kind_text(path, kind));
  const uint64_t size = host::file_bytes(path);
  if (size > kLargest) host::fail(Exit::kUnsupported, path + ": is too large for a saved state");
  std::vector<uint8_t> bytes(size);
  host::InputStream file(path);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), std::streamsize(size)))
    host::fail(Exit::kUnavailable, path + ": cannot be read to its end: " + strerror(errno));
  return bytes;
}

}  // namespace

void save_state(Engine* engine, const std::string& path, const std::string& replaced) {
  Result<std::vector<uint8_t>> saved = engine->session().save_state();
  if (!saved.ok()) fail_with(path + ": not written", saved.error());
  host::OutputFile file(path, replaced);
  file.write((*saved).data(), (*saved).size());
  file.commit();
}

void load_state(Engine* engine, const std::string& path) {
  const std::vector<uint8_t> bytes = read_state_file(path);
  const Result<void> done = engine->session().restore_state(bytes.data(), bytes.size());
  if (!done.ok()) fail_with(path, done.error());
}

Json inspect_state(const std::string& path) {
  const std::vector<uint8_t> bytes = read_state_file(path);
  StateFile file;
  ErrorDetail detail;
  const Status status = open_state_file(bytes.data(), bytes.size(), &file, &detail);
  if (!status.ok()) {
    Error error;
    error.code = ingot_code(status.code());
    error.instruction = INGOT_NO_INSTRUCTION;
    error.operand = -1;
    error.need = detail.need, error.have = detail.have, error.offset = detail.offset;
    error.field = detail.field, error.hint = detail.hint;
    fail_with(path, error);
  }
  Json variables = Json::array();
  uint64_t at = kStateHeaderBytes;
  StateRecord record;
  for (uint32_t i = 0; i < file.count && next_state_record(file, &at, &record); i++) {
    Json dims = Json::array();
    for (int d = 0; d < record.type.rank; d++) dims.push_back(int64_t{record.type.dims[d]});
    variables.push_back({{"name", std::string(record.name, record.name_bytes)},
                         {"dtype", dtype_name(record.type.dtype)},
                         {"dims", dims},
                         {"bytes", record.bytes}});
  }
  return {{"file", path},
          {"kind", "state"},
          {"format", std::to_string(file.major) + "." + std::to_string(file.minor)},
          {"file_bytes", bytes.size()},
          {"program_sha256", host::digest_text(file.program_sha256)},
          {"state_variables", variables}};
}

}  // namespace ingot::cli
