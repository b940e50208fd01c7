// SPDX-License-Identifier: Apache-2.0
// ingot grammar - a grammar or a JSON schema in the form that a device takes.
#include <memory>

#include "tools/cli/options/command.h"
#include "tools/cli/options/sampling_options.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"

namespace ingot::cli {
namespace {

struct GrammarArguments {
  std::string file, schema, output = "-";
};

int write_grammar(const GrammarArguments& a) {
  const std::vector<uint8_t> form = compile_grammar_option("grammar", a.file, a.schema);
  if (form.empty()) host::fail(host::Exit::kUsage, "grammar: expected a FILE, or --json-schema");
  host::OutputFile out(a.output);
  out.write(form.data(), form.size());
  out.commit();
  return 0;
}

}  // namespace

void add_grammar(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<GrammarArguments>();
  CLI::App* command = add_command(app, chosen, "grammar",
                                  "Compile a grammar or a JSON schema for ingot_constraint_set()",
                                  "  ingot grammar answers.gbnf -o answers.grammar\n"
                                  "  ingot grammar --json-schema schema.json -o answers.grammar",
                                  [a] { return write_grammar(*a); });
  reads_file(command->add_option("FILE", a->file, "a grammar in llama.cpp's GBNF")->type_name(""));
  command->add_option("--json-schema", a->schema, "a schema in place of it: a file, or {...}")
      ->type_name("FILE|TEXT");
  command->add_option("-o,--output", a->output, "the compiled grammar; -: standard output")
      ->type_name("FILE")
      ->capture_default_str();
}

}  // namespace ingot::cli
