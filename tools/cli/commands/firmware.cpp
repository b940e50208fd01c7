// SPDX-License-Identifier: Apache-2.0
// ingot firmware - a project for a microcontroller that runs some models and nothing else.
#include <cstdio>
#include <memory>
#include <set>

#include "tools/cli/commands/firmware_model.h"
#include "tools/cli/options/command.h"
#include "tools/cli/options/session_options.h"

namespace ingot::cli {
namespace {

/// Opening a model takes 1,912 to 2,512 bytes of it, whatever the model (docs/firmware.md), and
/// main.c some more.
constexpr uint64_t kLeastStackBytes = 2560;

struct FirmwareArguments {
  std::vector<std::string> files;
  ConvertArguments conversion;
  AnswerArguments answer;
  std::string output, board = "mps2-an386", stack = "6144", cpu, flash, ram;
};

uint32_t stack_bytes(const FirmwareArguments& a) {
  const uint64_t bytes = parse_bytes("--stack", a.stack);
  if (bytes < kLeastStackBytes || bytes > UINT32_MAX)
    host::fail(host::Exit::kUsage,
               "--stack: expected at least " + std::to_string(kLeastStackBytes) + " and at most " +
                   std::to_string(UINT32_MAX) + " bytes, found '" + a.stack +
                   "'; opening a model takes that many, running it more: docs/firmware.md");
  return uint32_t(bytes) / 8 * 8;
}

int write_firmware(const FirmwareArguments& a) {
  firmware::Project project;
  a.answer.check();
  if (a.answer.is_asked() && a.files.size() != 1)
    host::fail(host::Exit::kUsage, "--generate: expected one model, found " +
                                       std::to_string(a.files.size()) +
                                       "; write a project of each");
  const bool is_custom = !a.cpu.empty() || !a.flash.empty() || !a.ram.empty();
  if (is_custom && (a.cpu.empty() || a.flash.empty() || a.ram.empty()))
    host::fail(host::Exit::kUsage, "--cpu, --flash and --ram: expected all three, or --board");
  const firmware::Board board =
      is_custom ? firmware::custom_board(a.cpu, a.flash, a.ram) : firmware::board_named(a.board);
  project.board = &board;
  project.version = ingot_version();
  project.has_min_ram = a.conversion.min_ram;
  project.stack_bytes = stack_bytes(a);
  std::set<std::string> names;
  for (const std::string& file : a.files)
    project.models.push_back(firmware_model(file, a.conversion, &names, a.answer));
  const size_t files = firmware::write_project(project, a.output);
  const firmware::ProjectNeeds needs = firmware::needs_of(project);
  std::printf("%s: %zu files for %s; RAM %llu of %u bytes (arena and stack)\n", a.output.c_str(),
              files, project.board->name, static_cast<unsigned long long>(needs.ram_bytes),
              project.board->ram_bytes);
  return 0;
}

}  // namespace

void add_firmware(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<FirmwareArguments>();
  CLI::App* command =
      add_command(app, chosen, "firmware", "Write a project for a microcontroller that runs models",
                  "  ingot firmware kws.ingot -o kws_m4 --board mps2-an386\n"
                  "  ingot firmware kws.tflite vww.tflite -o both && make -C both run\n"
                  "  ingot firmware vww.tflite -o small --board netduinoplus2 --min-ram\n"
                  "  ingot firmware kws.tflite -o mine --cpu cortex-m4 --flash 512K --ram 96K\n"
                  "  ingot firmware stories260K.bin -o story --board mps2-an500 "
                  "--generate 50 --prompt 'Once'",
                  [a] { return write_firmware(*a); });
  reads_file(
      command->add_option("MODEL", a->files, "files of ingot convert --target mcu, or sources")
          ->required()
          ->type_name(""));
  command->add_option("-o,--output", a->output, "the folder to write, which must not exist")
      ->required()
      ->type_name("DIR");
  std::string boards;
  for (const firmware::Board& board : firmware::boards())
    boards += (boards.empty() ? "" : ", ") + std::string(board.name);
  command->add_option("--board", a->board, "one of " + boards)
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option(
          "--cpu", a->cpu,
          "with --flash and --ram: a board of your own; one of " + firmware::processor_names())
      ->type_name("CPU");
  command->add_option("--flash", a->flash, "of a board of your own, as 512K or 512K@0x08000000")
      ->type_name("BYTES[@ADDRESS]");
  command->add_option("--ram", a->ram, "the same, as 128K or 128K@0x20000000")
      ->type_name("BYTES[@ADDRESS]");
  command->add_option("--stack", a->stack, "bytes kept for the stack")
      ->type_name("BYTES")
      ->capture_default_str();
  command
      ->add_option(
          "--generate", a->answer.tokens,
          "a language model answers with N tokens at most; they are compared with those of "
          "this machine")
      ->type_name("N");
  command->add_option("--prompt", a->answer.prompt, "with --generate: the text before the answer")
      ->type_name("TEXT");
  command
      ->add_option("--prompt-ids", a->answer.prompt_ids,
                   "with --generate: the tokens before the answer")
      ->type_name("ID,..");
  declare_firmware_conversion(command, &a->conversion);
}

}  // namespace ingot::cli
