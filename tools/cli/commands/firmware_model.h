// SPDX-License-Identifier: Apache-2.0
// tools/cli/commands/firmware_model.h - a model as a microcontroller's core takes it, for the
// commands that write or plan a firmware.
#pragma once
#include <new>
#include <set>
#include <string>
#include <vector>

#include "tools/cli/commands/firmware_answer.h"
#include "tools/cli/options/convert_options.h"
#include "tools/compile/firmware/project.h"

namespace ingot::cli {

/// Bytes at an address that is a multiple of 64.
struct AlignedBlock {
  explicit AlignedBlock(size_t bytes) : at(::operator new(bytes, std::align_val_t(64))) {}
  ~AlignedBlock() { ::operator delete(at, std::align_val_t(64)); }
  AlignedBlock(const AlignedBlock&) = delete;
  AlignedBlock& operator=(const AlignedBlock&) = delete;
  void* at;
};

/// How a source is converted for it; of a file that was converted nothing of it is used. @pre `to`
/// outlives the command
void declare_firmware_conversion(CLI::App* command, ConvertArguments* to);

/// Its case is that of the file, else made, or the answer where one is asked for; the outputs are
/// this machine's. `names`: of the arrays so far. @throws Failure: kMismatch where an extent is
/// open, kUnsupported where the core cannot run it; those of make_answer().
firmware::ProjectModel firmware_model(const std::string& source, const ConvertArguments& conversion,
                                      std::set<std::string>* names,
                                      const AnswerArguments& answer = {});

}  // namespace ingot::cli
