// SPDX-License-Identifier: Apache-2.0
// The command line: parses, runs the one command that was named, turns failures into one line and
// an exit code.
#include <build_identity.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "tools/cli/options/command.h"
#include "tools/cli/options/help.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/input_file.h"
#include "tools/files/npz/npz.h"
#include "tools/files/output_file.h"
#include "tools/files/standard_streams.h"
#include "tools/files/suggest.h"
#include "tools/graph/graph.h"
#include "tools/session/arguments.h"
#include "tools/session/engine.h"

namespace ingot::cli {
namespace {

using host::Exit;

int complain(Exit exit, const std::string& message) {
  fprintf(stderr, "ingot: %s\n", one_line(host::with_stream_names(message)).c_str());
  return int(exit);
}

/// The line that sums it up: of one thing all there is to say.
std::string summary_of(const graph::ConversionError& error) {
  const bool lacks_hint = error.says == graph::Says::kWhy && !error.unsupported[0].hint.empty();
  return error.message + (lacks_hint ? "; " + error.unsupported[0].hint : "");
}

std::string place_of(const graph::Unsupported& u) {
  return (u.node.empty() ? "" : " in node '" + u.node + "'") +
         (u.output.empty() ? "" : " (output '" + u.output + "')");
}

/// What stands in the way of conversion, under that line: the same fault of many nodes once.
void list_unsupported(const graph::ConversionError& error) {
  if (error.says != graph::Says::kNothing) return;
  constexpr size_t kListed = 3, kFaults = 200;  // nodes of one fault; faults
  using Text = const std::string&;
  std::map<std::tuple<Text, Text, Text, Text>, size_t> places;  // in `kinds`
  std::vector<std::vector<const graph::Unsupported*>> kinds;
  for (const graph::Unsupported& u : error.unsupported) {
    const auto [known, is_new] =
        places.emplace(std::tie(u.op, u.attribute, u.why, u.hint), kinds.size());
    if (is_new) kinds.emplace_back();
    kinds[known->second].push_back(&u);
  }
  for (size_t k = 0; k < std::min(kinds.size(), kFaults); k++) {
    const auto& kind = kinds[k];
    const graph::Unsupported& u = *kind[0];
    const std::string op = "  " + u.op + (u.attribute.empty() ? "" : "." + u.attribute);
    const std::string why = ": " + u.why + (u.hint.empty() ? "" : "; " + u.hint);
    for (size_t i = 0; i < std::min(kind.size(), kListed); i++)
      fprintf(stderr, "%s\n", one_line(op + place_of(*kind[i]) + why).c_str());
    if (kind.size() > kListed)
      fprintf(stderr, "%s\n",
              one_line(op + " in " + counted(kind.size() - kListed, "more node") + ": the same")
                  .c_str());
  }
  if (kinds.size() > kFaults)
    fprintf(stderr, "  and %s\n",
            (counted(kinds.size() - kFaults, "more kind") + " of faults").c_str());
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The first word that CLI11 left over. The first "--" is among them: behind it all are files.
struct Leftover {
  std::string word;
  bool is_file = false;
};
std::optional<Leftover> leftover(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  const auto end = std::find(extras.begin(), extras.end(), "--");
  if (end != extras.begin()) return Leftover{extras.front(), extras.front().rfind("-", 0) != 0};
  if (end == extras.end() || end + 1 == extras.end()) return std::nullopt;
  return Leftover{end[1], true};
}

/// Words that nothing took, as one usage error.
void refuse_extras(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    const std::optional<Leftover> left = leftover(*command);
    if (!left) continue;
    const std::string owner = command->get_name() + ": ";
    const std::string see = "; see: ingot " + command->get_name() + " --help";
    if (left->is_file && left->word.rfind("-", 0) == 0)
      host::fail(Exit::kUsage, owner + "'" + left->word +
                                   "' stands behind '--', where every word is a file: "
                                   "options come before it" +
                                   see);
    if (left->is_file)
      host::fail(Exit::kUsage, owner + "'" + left->word + "' is one argument too many" + see);
    const std::string name = left->word.substr(0, left->word.find('='));
    const std::string near = host::nearest(name, option_names(*command));
    host::fail(Exit::kUsage, owner + "option '" + name + "' is unknown" +
                                 (near.empty() ? see : "; did you mean '" + near + "'?"));
  }
  const std::optional<Leftover> left = leftover(app);
  if (!left) return;
  std::vector<std::string> names = option_names(app);
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string near = host::nearest(left->word, names);
  host::fail(Exit::kUsage,
             std::string(left->is_file ? "command '" : "option '") + left->word + "' is unknown" +
                 (near.empty() ? "; see: ingot --help" : "; did you mean '" + near + "'?"));
}

/// Of commands that make sessions or convert. The environment is where the libraries look.
void add_memory_limit(CLI::App* command) {
  command
      ->add_option_function<std::string>(
          "--memory-limit",
          [](const std::string& text) {
            setenv("INGOT_MEMORY_LIMIT",
                   std::to_string(parse_bytes("--memory-limit", text)).c_str(), 1);
          },
          "memory that may be used, instead of what the system has free; 0: no limit (as "
          "INGOT_MEMORY_LIMIT)")
      ->type_name("BYTES|512M");
}

struct Command {
  const char* name;
  void (*add)(CLI::App& app, Action* chosen);
  const char* group;
};
constexpr char kFiles[] = "Make and look into files", kRun[] = "Run", kCheck[] = "Check",
               kHelp[] = "Help";
constexpr Command kCommands[] = {
#ifndef INGOT_DEVICE_CLI  // what runs .ingot files; the CMake target ingot_device
    {"convert", add_convert, kFiles},
#endif
    {"inspect", add_inspect, kFiles},
    {"run", add_run, kRun},
    {"bench", add_bench, kRun},
    {"check", add_check, kCheck},
    {"verify", add_verify, kCheck},
#ifndef INGOT_DEVICE_CLI
    {"compare", add_compare, kCheck},
    {"upgrade", add_upgrade, kFiles},
    {"why", add_why, kCheck},
    {"report", add_report, kCheck},
    {"place", add_place, kRun},
    {"tune", add_tune, kRun},
    {"kernels", add_kernels, kRun},
    {"firmware", add_firmware, kRun},
    {"plan", add_plan, kRun},
    {"diff", add_diff, kFiles},
    {"operators", add_operators, kHelp},
    {"extract", add_extract, kFiles},
#endif
    {"tokenize", add_tokenize, kRun},
    {"generate", add_generate, kRun},
    {"chat", add_chat, kRun},
    {"embed", add_embed, kRun},
#ifndef INGOT_DEVICE_CLI
    {"grammar", add_grammar, kRun},
    {"perplexity", add_perplexity, kCheck},
    {"registry", add_registry, kFiles},
    {"serve", add_serve, kRun},
#endif
    {"doctor", add_doctor, kCheck},
    {"completion", add_completion, kHelp}};

/// The command that `word` names, alone: the options of all take longer than small networks run.
/// All of them where it names none, or lists their options.
void add_commands(CLI::App& app, Action* chosen, const std::string& word) {
  const auto named = std::find_if(std::begin(kCommands), std::end(kCommands),
                                  [&](const Command& command) { return command.name == word; });
  const bool all = named == std::end(kCommands) || named->add == add_completion;
  for (const Command& command : kCommands) {
    if (!all && &command != named) continue;
    command.add(app, chosen);
    CLI::App* added = app.get_subcommand(command.name);
    added->group(command.group);
    for (const char* name : {"convert", "run", "bench", "check", "verify", "compare", "tune"})
      if (added->get_name() == name) add_memory_limit(added);
    added->add_flag_callback("-q,--quiet", be_quiet,
                             "print errors and what was asked for, no notes or progress");
  }
  add_help(app);
  app.get_subcommand("help")->group(kHelp);
}

/// `exit`, unless what was printed did not reach standard output.
int printed(int exit) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return exit;
  return complain(Exit::kUnavailable,
                  "standard output: cannot be written: " + std::string(strerror(errno)));
}

/// Variables that nothing can read are refused and not passed over.
void check_environment() {
  if (const char* text = getenv("INGOT_WORK_LIMIT")) parse_real("INGOT_WORK_LIMIT", text, 0, 1e6);
  if (const char* text = getenv("INGOT_MEMORY_LIMIT")) parse_bytes("INGOT_MEMORY_LIMIT", text);
}

/// Spellings of the version before are accepted for one minor version: --picture is --image.
std::vector<std::string> in_new_words(int argc, char** argv) {
  const std::string old = "--picture";
  std::vector<std::string> words(argv, argv + argc);
  for (std::string& word : words) {
    if (word == "--") break;
    if (word == old || word.rfind(old + "=", 0) == 0) word = "--image" + word.substr(old.size());
  }
  return words;
}

int parse_and_act(int argc, char** argv, bool all_options) {
  CLI::App app("Ingot converts a trained network once into one file and runs it from one arena.",
               "ingot");
  app.formatter(help_formatter(all_options));
  app.set_version_flag("-V,--version", version_text(), "Print the version and what this build has");
  app.allow_extras();
  app.footer(
      "Examples:\n  ingot convert model.onnx --check\n  ingot run model.ingot --inputs in.npz "
      "--outputs out.npz\n"
      "  ingot bench model.ingot --threads 1\n\n"
      "Exit codes: 0 ok, 1 usage, 2 corrupt file, 3 unsafe file, 4 unsupported,\n"
      "5 key, name or shape mismatch, 6 check failed, 7 device, memory, disk or file\n"
      "unavailable, 8 an internal error: please report it.\n"
      "INGOT_CPU_ISA names the kernels to use (see ingot --version), or oracle.");
  Action chosen;
  add_commands(app, &chosen, argc > 1 ? argv[1] : "");
  if (asks_for_help(argc, argv)) {
    fputs(help_text(app, argc, argv).c_str(), stdout);
    return printed(Exit::kOk);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    if (app.get_subcommands().empty()) refuse_extras(app);
    std::ostringstream text;
    const int exit = app.exit(success, text, text);
    fputs(text.str().c_str(), stdout);
    return printed(exit);
  } catch (const CLI::ParseError& error) {
    refuse_extras(app);
    std::string where;
    for (const CLI::App* command : app.get_subcommands()) where = command->get_name() + ": ";
    return complain(Exit::kUsage, where + error.what() + "; see: ingot " +
                                      where.substr(0, where.find(':')) +
                                      (where.empty() ? "" : " ") + "--help");
  }
  refuse_extras(app);
  if (!chosen) {
    if (argc > 1) return complain(Exit::kUsage, "no command; see: ingot --help");
    fputs(app.help().c_str(), stdout);
    return int(Exit::kUsage);
  }
  check_environment();
  return printed(chosen());
}

}  // namespace

std::string version_text() {
  std::string text =
      "ingot " INGOT_VERSION_TEXT "\ncommit: " INGOT_COMMIT "\nbuilt with: " INGOT_BUILD
      "\ndevice code: " INGOT_DEVICE_CODE "\ninstruction sets:";
  for (const std::string& isa : runnable_isas()) text += " " + isa;
  text += "\ndevices: cpu\n.npz archives: ";
  return text + (host::has_npz_reader()
                     ? "read and written"
                     : "read and written, no packed ones (built without libzip)");
}

}  // namespace ingot::cli

int main(int argc, char** argv) {
  using namespace ingot;
  host::install_interrupt_cleanup();
  host::protect_inputs();
  cli::guard_standard_output();
  try {
    std::vector<std::string> words = cli::in_new_words(argc, argv);
    const bool all_options = cli::takes_all_options(&words);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return cli::parse_and_act(int(words.size()), pointers.data(), all_options);
  } catch (const host::Failure& failure) {
    return cli::complain(failure.exit(), failure.message());
  } catch (const graph::ConversionError& error) {
    const int exit = cli::complain(error.exit_code, cli::summary_of(error));
    cli::list_unsupported(error);
    return exit;
  } catch (const std::bad_alloc&) {
    return cli::complain(host::Exit::kUnavailable,
                         "out of memory; close other programs or use a smaller input");
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return cli::complain(host::Exit::kUnavailable,
                           "no thread can be started: memory or the limit of processes is reached");
    return cli::complain(host::Exit::kInternal,
                         std::string("internal error: ") + error.what() + "; please report it");
  } catch (const std::exception& error) {
    return cli::complain(host::Exit::kInternal,
                         std::string("internal error: ") + error.what() + "; please report it");
  }
}
