// SPDX-License-Identifier: Apache-2.0
// ingot kernels - the kernel table of a firmware that links one model and nothing else.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/cli/options/session_options.h"
#include "tools/compile/emit/kernel_table_source.h"
#include "tools/files/output_file.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

struct KernelsArguments {
  std::string file, isa = "scalar", output;
  std::vector<std::string> dims;
};

int kernels(const KernelsArguments& a) {
  std::vector<std::string> names;
  for (const char* name : built_isas()) names.push_back(name);
  // Cortex-M and other targets take the scalar templates; what this machine cannot run cannot be
  // asked here either.
  parse_choice("--isa", a.isa, names);
  const KernelTable* table = cpu_kernels(a.isa.c_str());
  if (!table)
    host::fail(host::Exit::kUsage,
               "--isa: this processor cannot run '" + a.isa + "'; write the table on one that can");
  const ProgramView view(a.file, parse_dims(a.dims));
  if (!view.bound()) {
    std::string missing;
    for (const std::string& dim : view.open_dims()) missing += " --dim " + dim + "=NUMBER";
    host::fail(host::Exit::kMismatch,
               a.file + ": the kernels depend on dynamic dimensions; set them:" + missing);
  }
  const std::string source = convert::kernel_table_source(
      std::filesystem::path(a.file).filename().string(), a.isa,
      convert::needed_kernels(view.program(), view.bound_program(), *table));
  if (a.output.empty()) {
    fputs(source.c_str(), stdout);
    return 0;
  }
  if (host::same_file(a.file, a.output))
    host::fail(host::Exit::kUsage, a.output + ": is the model itself, which is not overwritten");
  host::OutputFile file(a.output);
  file.write(source.data(), source.size());
  file.commit();
  return 0;
}

}  // namespace

void add_kernels(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<KernelsArguments>();
  CLI::App* command = add_command(app, chosen, "kernels",
                                  "Write the kernel table of a firmware that runs one model",
                                  "  ingot kernels kws.ingot -o kws_kernels.cpp\n"
                                  "  ingot kernels kws.ingot --isa avx2 > kws_kernels.cpp",
                                  [a] { return kernels(*a); });
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  command->add_option("--isa", a->isa, "kernels to name: scalar, or one of ingot --version")
      ->type_name("ISA")
      ->capture_default_str();
  writes_file(
      command->add_option("-o,--output", a->output, "file to write instead of standard output")
          ->type_name("FILE.cpp"));
  takes_dims(command, &a->dims);
}

}  // namespace ingot::cli
