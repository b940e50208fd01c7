// SPDX-License-Identifier: Apache-2.0
// ingot report - everything that is known of a model as one page to look at, and as JSON.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/gpu_cost_report.h"
#include "tools/cli/reports/placement_report.h"
#include "tools/cli/reports/report_html.h"
#include "tools/cli/reports/why_report.h"
#include "tools/files/output_folder.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ReportArguments {
  std::string file, output, seconds = "0.5";
  SessionArguments session;
};

int report(const ReportArguments& a) {
  if (predicted_gpu(a.session.device))
    host::fail(host::Exit::kUsage, "--device: a report is made of times that were measured, and " +
                                       a.session.device + " would be predicted; see: ingot why");
  const SessionSettings settings = a.session.session_settings();
  const double seconds = parse_real("--seconds", a.seconds, 0, 3600);
  host::OutputFolder folder(a.output);
  Engine engine(a.file);
  engine.bind_dims(a.session.bindings());
  engine.assume_rest();
  const Assignment& assignment = engine.assign(settings);
  Json found = {{"shares", shares_of(engine, settings)}};
  found["left_to_cpu"] = left_to_cpu(engine, assignment, engine.default_device(settings));
  engine.create_session(settings);
  const ProgramView view(a.file, engine.bindings());
  found.update(why_report(&engine, view, seconds));
  add_peaks(&found);
  folder.add("index.html", report_html(found, engine, view));
  folder.add("report.json", json_text(found, 1) + "\n");
  folder.commit();
  summary("wrote %s/index.html: %s, %s\n", one_line(a.output).c_str(),
          counted(view.program().instructions.size, "instruction").c_str(),
          short_time(found["instructions_ms"].get<double>()).c_str());
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<ReportArguments>();
  CLI::App* command =
      add_command(app, chosen, "report", "Write a page of all that is known of a model",
                  "  ingot report model.ingot -o report && xdg-open report/index.html\n"
                  "  ingot report ocr.ingot -o report --dim W=320 --threads 1",
                  [a] { return report(*a); });
  takes_plugins(command);
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  command
      ->add_option("-o,--output", a->output,
                   "the folder to write, which must not exist: index.html, report.json")
      ->required()
      ->type_name("DIR");
  command->add_option("--seconds", a->seconds, "how long to time the instructions, in seconds")
      ->type_name("S")
      ->capture_default_str();
  a->session.declare(command, false);
}

}  // namespace ingot::cli
