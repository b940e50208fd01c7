// SPDX-License-Identifier: Apache-2.0
// ingot compare - the first node, and the pass or kernel, where a converted file diverges from its
// source.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/cli/conversion/conversion.h"
#include "tools/cli/conversion/convert_options_of.h"
#include "tools/cli/options/session_options.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/compare_report.h"
#include "tools/files/output_file.h"

namespace ingot::cli {
namespace {

struct CompareArguments {
  std::string source, file, golden, html, rtol, atol, threads = "0", run_seconds = "300";
  ConvertArguments conversion;
  bool json = false;
};

/// --dim is a number of the conversion, or of this run where the file leaves that dimension open.
void place_dims(const CompareArguments& a, DivergenceQuestion* q) {
  std::vector<std::string> open;
  if (!a.file.empty()) open = Engine(a.file).symbol_names();
  q->options.dims.clear();
  for (const std::string& text : a.conversion.dims) {
    const std::string name = text.substr(0, text.rfind('='));
    const bool is_bound = text.find("..") != std::string::npos;
    if (!is_bound && std::count(open.begin(), open.end(), name))
      q->dims.merge(parse_dims({text}));
    else
      q->options.dims.push_back(text);
  }
}

int compare_files(const CompareArguments& a) {
  host::refuse_path_overlap({a.html}, {a.source, a.file, a.golden});
  (void)convert::Source::open(a.source);  // before FILE is read
  DivergenceQuestion q;
  q.source = a.source, q.file = a.file, q.golden = a.golden;
  q.options = convert_options_of(a.conversion);
  q.session.threads = parse_threads(a.threads);
  q.session.run_seconds = parse_run_seconds(a.run_seconds);
  q.rtol = parse_tolerance("--rtol", a.rtol);
  q.atol = parse_tolerance("--atol", a.atol);
  place_dims(a, &q);
  DivergenceAnswer answer;
  {
    Progress progress("comparing " + a.source);
    q.options.progress = [&](const std::string& stage, double done) { progress.show(stage, done); };
    answer = find_divergence(q);
  }
  const std::string file = a.file.empty() ? a.source : a.file;
  if (answer.has_golden && answer.import_compared == 0 && answer.cause == DivergenceCause::kNone)
    host::fail(host::Exit::kMismatch,
               a.golden + ": no array of it is an output or a value of " + a.source +
                   ", so nothing was compared with it; name outputs out:NAME");
  if (!a.html.empty()) write_compare_html(answer, a.source, file, a.html);
  if (a.json)
    print_compare_json(answer, a.source, file);
  else
    print_compare_text(answer);
  if (answer.is_equal()) return 0;
  if (answer.cause != DivergenceCause::kNone)
    host::fail(host::Exit::kCheckFailed, file + ": " + answer.headline());
  host::fail(host::Exit::kCheckFailed,
             file + ": nothing on the path of " + answer.uncompared_text() + " was compared with " +
                 a.source + " (" + std::to_string(answer.instructions_known) + " of " +
                 std::to_string(answer.instructions_ran) +
                 " instructions were), so nothing shows that they are equal; was it converted from "
                 "this source? Repeat "
                 "the options of its conversion, or leave FILE out");
}

}  // namespace

void add_compare(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<CompareArguments>();
  CLI::App* command = add_command(
      app, chosen, "compare", "Name the first node where a converted file diverges from its source",
      "  ingot compare model.onnx model.ingot --golden golden.npz\n"
      "  ingot compare model.onnx model.ingot --html divergence.html\n"
      "  ingot compare ocr.onnx ocr.ingot --dim W=320 --io-layout x=nhwc --json",
      [a] { return compare_files(*a); });
  takes_plugins(command);
  reads_file(command->add_option("SOURCE", a->source, "the source of the file")
                 ->required()
                 ->type_name(""));
  command
      ->add_option("FILE", a->file,
                   "the .ingot file; without it the source is converted to a temporary one")
      ->type_name("");
  command
      ->add_option("--golden", a->golden,
                   ".npz with arrays in:NAME, and out:NAME and mid:NAME to check the import by")
      ->type_name("G.npz");
  command->add_option("--html", a->html, "write a page: the graph with the error of every node")
      ->type_name("OUT.html");
  command->add_flag("--json", a->json, "print a report for scripts");
  command->add_option("--rtol", a->rtol, "allow R * max|expected| instead of the tolerance table")
      ->type_name("R");
  command->add_option("--atol", a->atol, "allow A instead of the tolerance table (added to --rtol)")
      ->type_name("A");
  command->add_option("--threads", a->threads, "threads of the run whose outputs are checked")
      ->type_name("N|auto");
  declare_run_seconds(command, &a->run_seconds);
  declare_convert_options(command, &a->conversion,
                          {"--input-shape", "--image", "--dim", "--target", "--io-layout",
                           "--state", "--state-init", "--winograd"},
                          "As FILE was converted with (--dim: also of its dynamic dimensions)");
}

}  // namespace ingot::cli
