// SPDX-License-Identifier: Apache-2.0
// tests/import/decoder/gguf_import.h - a GGUF file made in a test as a program, and refusals.
#pragma once
#include <doctest/doctest.h>

#include <fstream>
#include <functional>

#include "tests/import/decoder/gguf_source.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/work_budget.h"
#include "tools/import/decoder/import.h"

namespace ingot::test::gguf {

inline importer::Program import(const std::string& bytes,
                                const importer::ImportOptions& options = {}) {
  const host::TemporaryPath file(".gguf");
  std::ofstream(file.path(), std::ios::binary) << bytes;
  const host::WorkBudget budget(file.path(), bytes.size());
  return decoder::import_gguf(importer::OpenedFile(file.path()), options);
}
/// Exit code and line of a refusal.
inline std::string refusal(const Source& source, const importer::ImportOptions& options = {}) {
  try {
    (void)import(source.bytes(), options);
  } catch (const graph::ConversionError& error) {
    return std::to_string(error.exit_code) + " " + error.message;
  } catch (const host::Failure& failure) {
    return std::to_string(failure.exit()) + " " + failure.message();
  }
  return "imported";
}

inline const graph::Value& named(const graph::Model& model, const std::string& name) {
  for (const graph::Value& value : model.values)
    if (value.name == name) return value;
  throw std::runtime_error("no value " + name);
}

using Change = std::function<void(Source&)>;
inline Change says(const std::string& key, const std::string& value) {
  return [=](Source& s) { s.metadata[key] = value; };
}
inline Change holds(const std::string& tensor, const std::vector<uint64_t>& dims) {
  return [=](Source& s) { s.tensors[tensor] = dims; };
}
inline Change lacks(const std::string& name) {
  return [=](Source& s) { s.metadata.erase(name), s.tensors.erase(name); };
}
/// A file that does not fit, and the words of its refusal, which begins with the first.
struct Case {
  const char* name;
  Change change;
  std::vector<const char*> words;
};
inline void check_refusals(const Source& fits, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Source source = fits;
    c.change(source);
    const std::string said = refusal(source);
    CAPTURE(said);
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.find(c.words[0]) == 0);
    for (const char* part : c.words) CHECK(said.find(part) != std::string::npos);
  }
}

inline int count(const graph::Model& model, graph::Operator op) {
  int all = 0;
  for (const graph::Node& node : model.graph.nodes) all += node.op == op && !node.dead;
  return all;
}

inline void check_hostile(Source source) {
  const std::string whole_file = source.bytes();
  const size_t head =
      std::min(whole_file.find("blk.0.ffn_gate.weight"), whole_file.find("blk.0.ssm_in.weight"));
  REQUIRE(head < whole_file.size());
  for (size_t cut = 0; cut < head; cut += 7) {
    try {
      (void)import(whole_file.substr(0, cut));
    } catch (const graph::ConversionError& error) {
      CHECK(error.exit_code != host::Exit::kInternal);
    } catch (const host::Failure& failure) {
      CHECK(failure.exit() != host::Exit::kInternal);
    }
  }
  for (size_t at = 8; at < head; at++)
    for (const char change : {'\x01', '\x80'}) {
      std::string mutant = whole_file;
      mutant[at] = char(mutant[at] ^ change);
      try {
        (void)import(mutant);
      } catch (const graph::ConversionError& error) {
        CHECK(error.exit_code != host::Exit::kInternal);
      } catch (const host::Failure& failure) {
        CHECK(failure.exit() != host::Exit::kInternal);
      }
    }
}

}  // namespace ingot::test::gguf
