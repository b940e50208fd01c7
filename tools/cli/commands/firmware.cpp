// ingot firmware - a project for a microcontroller that runs some models and nothing else.
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <set>

#include "ingot/micro.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tools/cli/conversion/conversion.h"
#include "tools/cli/options/session_options.h"
#include "tools/compile/emit/kernel_table_source.h"
#include "tools/compile/firmware/flash_image.h"
#include "tools/compile/firmware/project.h"
#include "tools/compile/firmware/rows.h"
#include "tools/files/input_file.h"
#include "tools/session/make_inputs.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

struct FirmwareArguments {
  std::vector<std::string> files, dims;
  std::string output, board = "mps2-an386", stack = "6144";
};

/// A C identifier that no other model has.
std::string array_name(const std::string& path, std::set<std::string>* taken) {
  std::string name;
  for (const char c : std::filesystem::path(path).stem().string())
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "model_" + name;
  const std::string base = name;
  for (int n = 2; !taken->insert(name).second; n++) name = base + "_" + std::to_string(n);
  return name;
}

std::vector<uint8_t> read_all(const std::string& path) {
  host::InputStream in(path);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
}

/// Bytes at an address that is a multiple of 64.
struct AlignedBlock {
  explicit AlignedBlock(size_t bytes) : at(::operator new(bytes, std::align_val_t(64))) {}
  ~AlignedBlock() { ::operator delete(at, std::align_val_t(64)); }
  AlignedBlock(const AlignedBlock&) = delete;
  AlignedBlock& operator=(const AlignedBlock&) = delete;
  void* at;
};

/// What the device will say when it opens the image, asked here.
uint32_t measure_arena(const std::string& path, const std::vector<uint8_t>& image) {
  constexpr size_t kAmple = size_t{1} << 28;
  const AlignedBlock arena(kAmple), copy(image.size());
  std::copy(image.begin(), image.end(), static_cast<uint8_t*>(copy.at));
  ingot_micro model;
  ingot_micro_error error;
  const auto* rows = reinterpret_cast<const ingot_micro_kernels*>(&firmware::scalar_rows());
  if (ingot_micro_open(&model, copy.at, image.size(), rows, arena.at, kAmple, 0, &error) != 0)
    host::fail(host::Exit::kUnsupported,
               path + ": a microcontroller's core cannot run it: " + error.what +
                   (error.index >= 0 ? " (" + std::to_string(error.index) + ")" : "") +
                   ", expected " + std::to_string(error.need) + ", found " +
                   std::to_string(error.have) + "; docs/firmware.md says what it runs");
  return ingot_micro_arena_bytes(&model);
}

/// The case that the file carries, else inputs that were made, and the outputs of this machine.
void make_case(const std::string& path, firmware::ProjectModel* model) {
  Engine engine(path);
  SessionSettings settings;
  settings.device = "cpu", settings.threads = 1;
  engine.create_session(settings);
  ingot_golden* golden = nullptr;
  Error error;
  if (engine.summary().golden_bytes != 0 &&
      ingot_golden_open(engine.model().get(), &golden, &error) != INGOT_OK)
    fail_with(path + ": embedded golden", error);
  const std::unique_ptr<ingot_golden, void (*)(ingot_golden*)> closed(golden, ingot_golden_close);
  for (uint32_t i = 0; i < engine.summary().input_count; i++) {
    const ingot_value_type type = engine.input(i);
    const char* name = nullptr;
    ingot_tensor given = {};
    bool found = false;
    for (uint32_t k = 0; golden && !found; k++) {
      if (ingot_golden_input(golden, 0, k, &name, &given) != INGOT_OK) break;
      found = std::string(name) == type.name;
    }
    const host::Array array = found ? copy_out(given, type.name)
                                    : make_input(engine, i, engine.session().input(i).value());
    engine.set_input(i, array, path);
    model->inputs.insert(model->inputs.end(), array.bytes.begin(), array.bytes.end());
  }
  engine.run();
  for (const host::Array& array : engine.take_outputs())
    model->outputs.insert(model->outputs.end(), array.bytes.begin(), array.bytes.end());
}

firmware::ProjectModel make_model(const std::string& source, const FirmwareArguments& a,
                                  std::set<std::string>* names) {
  convert::ConvertOptions options;
  options.targets = {"mcu"}, options.dims = a.dims;
  const ConvertedFile file(source, options);
  firmware::ProjectModel model;
  model.name = array_name(source, names);
  const ProgramView view(file.path(), {});
  if (!view.bound()) {
    std::string missing;
    for (const std::string& dim : view.open_dims()) missing += " --dim " + dim + "=NUMBER";
    host::fail(host::Exit::kMismatch, source +
                                          ": a firmware's dimensions are numbers; convert it with"
                                          " --target mcu" +
                                          missing);
  }
  model.kernels =
      convert::needed_kernels(view.program(), view.bound_program(), *cpu_kernels("scalar"));
  model.image = firmware::flash_image(read_all(file.path()), source);
  model.arena_bytes = measure_arena(source, model.image);
  make_case(file.path(), &model);
  return model;
}

int write_firmware(const FirmwareArguments& a) {
  firmware::Project project;
  project.board = &firmware::board_named(a.board);
  project.stack_bytes = uint32_t(parse_bytes("--stack", a.stack)) / 8 * 8;
  std::set<std::string> names;
  for (const std::string& file : a.files) project.models.push_back(make_model(file, a, &names));
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
                  "  ingot firmware kws.tflite vww.tflite --dim N=1 -o both && make -C both run",
                  [a] { return write_firmware(*a); });
  reads_file(
      command->add_option("MODEL", a->files, "files of ingot convert --target mcu, or sources")
          ->required()
          ->type_name(""));
  command->add_option("-o,--output", a->output, "the folder to write, which must not be there")
      ->required()
      ->type_name("DIR");
  std::string boards;
  for (const firmware::Board& board : firmware::boards())
    boards += (boards.empty() ? "" : ", ") + std::string(board.name);
  command->add_option("--board", a->board, "one of " + boards)
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--stack", a->stack, "bytes kept for the stack")
      ->type_name("BYTES")
      ->capture_default_str();
  command->add_option("--dim", a->dims, "of a source: value of an open dimension (repeatable)")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
}

}  // namespace ingot::cli
