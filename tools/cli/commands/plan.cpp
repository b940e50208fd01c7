// SPDX-License-Identifier: Apache-2.0
// ingot plan - the memory of models that share a microcontroller, before it is written for.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ingot/micro.h"
#include "tools/cli/commands/firmware_model.h"
#include "tools/cli/options/command.h"
#include "tools/cli/output/terminal.h"
#include "tools/compile/firmware/rows.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

struct PlanArguments {
  std::vector<std::string> files;
  ConvertArguments conversion;
  bool shared_arena = false;
};

void check(int32_t code, const ingot_micro_error& error, const std::string& path) {
  if (code == 0) return;
  fail(Exit::kCheckFailed, path + ": in the shared arena: " + error.what + ", expected " +
                               std::to_string(error.need) + ", found " +
                               std::to_string(error.have) + "; please report it");
}

/// One turn of a model in an arena that others have used since its last: the runs of its case, and
/// again after a reset.
void take_turn(const firmware::ProjectModel& model, const std::string& path,
               const AlignedBlock& arena, size_t arena_bytes) {
  const AlignedBlock image(model.image.size());
  std::copy(model.image.begin(), model.image.end(), static_cast<uint8_t*>(image.at));
  ingot_micro opened;
  ingot_micro_error error = {};
  const auto* rows = reinterpret_cast<const ingot_micro_kernels*>(&firmware::scalar_rows());
  check(ingot_micro_open(&opened, image.at, model.image.size(), rows, arena.at, arena_bytes, 0,
                         &error),
        error, path);
  ingot_micro_tensor tensor;
  size_t input = 0, output = 0;
  for (uint32_t run = 0; run < 2 * model.runs; run++) {
    if (run % model.runs == 0) {
      check(ingot_micro_reset_state(&opened, &error), error, path);
      input = output = 0;
    }
    for (uint32_t i = 0; ingot_micro_input(&opened, i, &tensor) == 0; input += tensor.bytes, i++)
      std::memcpy(tensor.data, model.inputs.data() + input, tensor.bytes);
    check(ingot_micro_run(&opened, nullptr, nullptr, &error), error, path);
    for (uint32_t i = 0; ingot_micro_output(&opened, i, &tensor) == 0; output += tensor.bytes, i++)
      if (std::memcmp(tensor.data, model.outputs.data() + output, tensor.bytes) != 0)
        fail(Exit::kCheckFailed, path + ": output " + std::to_string(i) + " of run " +
                                     std::to_string(run % model.runs) +
                                     " is another in the shared arena; please report it");
  }
}

/// A turn ends what lies in the arena, state too.
void refuse_states(const PlanArguments& a, const std::vector<firmware::ProjectModel>& models) {
  for (size_t i = 0; i < models.size() && models.size() > 1; i++)
    if (models[i].keeps_state)
      fail(Exit::kUnsupported, a.files[i] +
                                   ": keeps state, which other models in the same arena would end; "
                                   "leave it or --shared-arena out");
}

int plan(const PlanArguments& a) {
  std::set<std::string> names;
  std::vector<firmware::ProjectModel> models;
  for (const std::string& file : a.files)
    models.push_back(firmware_model(file, a.conversion, &names));
  uint64_t sum = 0, most = 0, flash = 0;
  Table table({"model", ">arena, bytes", ">flash, bytes"});
  for (size_t i = 0; i < models.size(); i++) {
    const firmware::ProjectModel& model = models[i];
    sum += model.arena_bytes, flash += model.image.size();
    most = std::max<uint64_t>(most, model.arena_bytes);
    table.row({a.files[i], grouped(model.arena_bytes), grouped(model.image.size())});
  }
  table.row({"sum", grouped(sum), grouped(flash)});
  if (a.shared_arena) {
    refuse_states(a, models);
    const AlignedBlock arena(most);
    for (int turn = 0; turn < 2; turn++)
      for (size_t i = 0; i < models.size(); i++) take_turn(models[i], a.files[i], arena, most);
    table.row({"shared arena", grouped(most), ""});
    table.row({"saved", grouped(sum - most), ""});
  }
  printf("%s", table.text().c_str());
  if (a.shared_arena)
    printf("run in turn in it, twice over: %zu models, the outputs of each alone\n", models.size());
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<PlanArguments>();
  CLI::App* command =
      add_command(app, chosen, "plan", "Show what models take of a microcontroller's memory",
                  "  ingot plan kws.ingot vww.ingot --shared-arena\n"
                  "  ingot plan kws.tflite vww.tflite --dim N=1 --shared-arena\n"
                  "  ingot plan vww.tflite --dim N=1 --min-ram --max-work 1.5",
                  [a] { return plan(*a); });
  reads_file(
      command->add_option("MODEL", a->files, "files of ingot convert --target mcu, or sources")
          ->required()
          ->type_name(""));
  command->add_flag("--shared-arena", a->shared_arena,
                    "one arena in turns, as large as the largest takes; all are run in it");
  declare_firmware_conversion(command, &a->conversion);
}

}  // namespace ingot::cli
