// SPDX-License-Identifier: Apache-2.0
// tools/compile/convert/source.h - a source file, opened once: its content says which importer
// reads it. source.cpp has the table of importers.
#pragma once
#include "tools/import/common/description.h"
#include "tools/import/common/opened_file.h"
#include "tools/import/common/options.h"
#include "tools/import/common/program.h"

namespace ingot::convert {

struct Importer {
  const char* name;
  bool (*recognizes)(const importer::OpenedFile&);
  importer::Program (*import)(const importer::OpenedFile&, const importer::ImportOptions&);
  /// What the source says about itself, nothing inferred; null where the importer does not tell.
  importer::SourceDescription (*describe)(const importer::OpenedFile&);
  uint32_t takes;            // options of some sources only: bits of source.cpp
  const char* why_exact_to;  // what follows --exact-to of another one than those in `takes`
  const char* why_weights;   // why --weights is refused; null: it is taken
};

class Source {
 public:
  /// @throws host::Failure kUsage (an .ingot file), kUnsupported (weights without a program),
  /// kCorrupt (no model), kUnavailable.
  static Source open(const std::string& path) { return Source(path); }
  explicit Source(importer::OpenedFile file);

  const std::string& path() const { return file_.path; }
  const char* format() const { return importer_->name; }
  /// With those of the files beside it that hold its tensors; 0 where the system does not tell.
  uint64_t bytes() const;
  /// The file that holds its weights, or names those that do: path(), or one beside a
  /// configuration; "" where there is none.
  std::string weights() const;
  /// @throws graph::ConversionError, also for options that are not for such a source.
  importer::Program import(const importer::ImportOptions& options) const;
  /// Empty where the importer does not tell.
  importer::SourceDescription describe() const;

 private:
  importer::OpenedFile file_;
  const Importer* importer_;
};

}  // namespace ingot::convert
