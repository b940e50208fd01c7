// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/project.cpp - see project.h.
#include "tools/compile/firmware/project.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

#include "tools/compile/firmware/rows.h"
#include "tools/compile/firmware/sources.h"
#include "tools/files/failure.h"
#include "tools/files/output_folder.h"

namespace ingot::firmware {
namespace {

// The core with the kernels of a quantized network; tests/figures/binary_sizes.py has the figures.
// With those of a language model in f32; with weights in blocks of any type too.
constexpr uint64_t kCodeAllowance = 72 * 1024, kAnswerAllowance = 142 * 1024,
                   kBlocksAllowance = 192 * 1024;
constexpr uint64_t kStaticBytes = 64;  // .data and .bss besides the arena
constexpr char kTemplate[] = "examples/firmware/";
constexpr char kCxxHeaders[] = "examples/firmware/cxx/";
constexpr char kAnswer[] = "examples/firmware/answer.c";
constexpr char kCore[] = "ingot/";
constexpr char kLicense[] = "SPDX-License-Identifier: Apache-2.0";

/// First lines of a file that is written here: `begin` and `end` are its comments'.
std::string head_of(const Project& project, const char* begin, const char* end) {
  return std::string(begin) + kLicense + end + begin + "Written by ingot firmware " +
         project.version + end;
}

/// "kws.tflite, SHA-256 0123...", without what would end a comment.
std::string origin_of(const ProjectModel& model) {
  std::string text;
  for (const char c : model.source)
    text += c == '*' || static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return text + (model.sha256.empty() ? "" : ", SHA-256 " + model.sha256);
}

std::string hex(uint32_t n) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", n);
  return text;
}

/// `section`: of image.ld, with a comma before it; "" for that of other constants.
std::string array_source(const std::string& name, const std::vector<uint8_t>& bytes,
                         const std::string& section = "") {
  static const char kDigits[] = "0123456789abcdef";
  std::string text = "const unsigned char " + name + "[" + std::to_string(bytes.size()) +
                     "] __attribute__((aligned(16)" + section + ")) = {";
  text.reserve(text.size() + 5 * bytes.size() + bytes.size() / 8);
  for (size_t i = 0; i < bytes.size(); i++) {
    text += i % 16 == 0 ? "\n  0x" : "0x";
    text += kDigits[bytes[i] >> 4], text += kDigits[bytes[i] & 15], text += ',';
  }
  return text + "\n};\n";
}

// Debian's compiler for bare RISC-V has no C++ library, not even its headers.
bool lacks_cxx_headers(const Board& board) {
  return std::string(board.toolchain).rfind("riscv", 0) == 0;
}

/// Where each model's part of the arena starts, and at last where the arena ends. Models without
/// state take turns in the first part; behind it each one with state has its own.
std::vector<uint64_t> arena_places(const Project& project) {
  const auto rounded = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  uint64_t end = 0;
  for (const ProjectModel& model : project.models)
    if (!model.keeps_state) end = std::max(end, rounded(model.arena_bytes));
  std::vector<uint64_t> places;
  for (const ProjectModel& model : project.models) {
    places.push_back(model.keeps_state ? end : 0);
    if (model.keeps_state) end += rounded(model.arena_bytes);
  }
  places.push_back(end);
  return places;
}

bool has_answer(const Project& project) {
  return std::any_of(project.models.begin(), project.models.end(),
                     [](const ProjectModel& model) { return model.answer.has_value(); });
}

void check_board(const Project& project) {
  const ProjectNeeds needs = needs_of(project);
  const Board& board = *project.board;
  const auto refuse = [&](const char* memory, uint64_t need, uint64_t have, const char* of,
                          const char* help) {
    host::fail(host::Exit::kUnavailable, "--board " + std::string(board.name) + ": " + memory +
                                             ": expected " + std::to_string(need) + " bytes (" +
                                             of + "), found " + std::to_string(have) + "; " + help +
                                             "choose a larger board or a smaller network");
  };
  const char* const less_ram = has_answer(project) ? "give a smaller --context, or "
                               : project.has_min_ram
                                   ? ""
                                   : "convert with --min-ram, which takes less for more work, or ";
  if (needs.ram_bytes > board.ram_bytes)
    refuse("RAM", needs.ram_bytes, board.ram_bytes, "arena and stack", less_ram);
  if (needs.flash_bytes > board.flash_bytes)
    refuse("flash", needs.flash_bytes, board.flash_bytes,
           needs.model_flash_bytes ? "test data and code" : "models, test data and code",
           project.has_min_ram ? "leave --min-ram out, or " : "");
  if (needs.model_flash_bytes > board.model_flash_bytes)
    refuse("second flash", needs.model_flash_bytes, board.model_flash_bytes, "models", "");
}

uint64_t code_allowance(const Project& project) {
  if (!has_answer(project)) return kCodeAllowance;
  const auto has_blocks = [](const std::string& kernel) {
    return kernel.rfind("block_linear", 0) == 0;
  };
  for (const ProjectModel& model : project.models)
    if (std::any_of(model.kernels.begin(), model.kernels.end(), has_blocks))
      return kBlocksAllowance;
  return kAnswerAllowance;
}

/// "#define KWS_INPUT_0_SCALE 0.0235294122f".
std::string quantization_of(const ProjectModel& model) {
  std::string text, prefix;
  for (const char c : model.name) prefix += char(std::toupper(static_cast<unsigned char>(c)));
  for (const PortQuantization& q : model.quantization) {
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.9g", q.scale);
    std::string number = scale;
    if (number.find_first_of(".e") == std::string::npos) number += ".0";
    const std::string macro = prefix + "_" + q.port, zero = std::to_string(q.zero_point);
    text += "#define " + macro + "_SCALE " + number + "f\n#define " + macro + "_ZERO_POINT " +
            (q.zero_point < 0 ? "(" + zero + ")" : zero) + "\n";
  }
  return text.empty()
             ? text
             : "\n/* " + model.name +
                   ": an integer q of a port stands for SCALE * (q - ZERO_POINT). */\n" + text;
}

void add_models(const Project& project, host::OutputFolder* folder) {
  const std::vector<uint64_t> places = arena_places(project);
  const bool any_answer = has_answer(project);
  std::string header =
      head_of(project, "/* ", " */\n") +
      "/* models.h - the models of this firmware and a case of each. */\n"
      "#ifndef FIRMWARE_MODELS_H\n#define FIRMWARE_MODELS_H\n#include <stddef.h>\n\n"
      "#define FIRMWARE_ARENA_BYTES " +
      std::to_string(places.back()) + "\n#define FIRMWARE_MODEL_COUNT " +
      std::to_string(project.models.size()) + "\n" + (any_answer ? kAnswerDeclarations : "") +
      "\n/* inputs, outputs: of `runs` runs in a row, one behind the other. arena_at, "
      "arena_bytes: its\n"
      "   part of an array of FIRMWARE_ARENA_BYTES; models without state take turns in one. */\n"
      "typedef struct firmware_model {\n  const char* name;\n  const unsigned char* image;\n"
      "  size_t image_bytes;\n  const unsigned char *inputs, *outputs;\n"
      "  size_t runs, arena_at, arena_bytes;\n" +
      (any_answer ? "  const firmware_answer* answer; /* null: none */\n" : "") +
      "} firmware_model;\n";
  for (const ProjectModel& model : project.models) header += quantization_of(model);
  std::string rows;
  for (size_t i = 0; i < project.models.size(); i++) {
    const ProjectModel& model = project.models[i];
    const std::string& n = model.name;
    const std::string head = head_of(project, "/* ", " */\n");
    folder->add("models/" + n + ".c",
                head + "/* " + n +
                    ": an .ingot file as it lies in flash, and a case.\n   Made of " +
                    origin_of(model) + " */\n#include \"models.h\"\n\n" +
                    array_source(n + "_image", model.image, ", section(\".models\")") +
                    (model.answer ? answer_source(n, *model.answer)
                                  : array_source(n + "_inputs", model.inputs) +
                                        array_source(n + "_outputs", model.outputs)));
    if (model.answer && !model.answer->pieces.empty())
      folder->add("models/" + n + "_pieces.c", head + "/* " + n + ": the text of each token. */\n" +
                                                   pieces_source(n, model.answer->pieces));
    header += "extern const unsigned char " + n + "_image[]" +
              (model.answer ? ";\nextern const firmware_answer " + n + "_answer;\n"
                            : ", " + n + "_inputs[], " + n + "_outputs[];\n");
    rows += "    {\"" + n + "\", " + n + "_image, " + std::to_string(model.image.size()) + ", " +
            (model.answer ? "0, 0, " : n + "_inputs, " + n + "_outputs, ") +
            std::to_string(model.runs) + ", " + std::to_string(places[i]) + ", " +
            std::to_string(model.arena_bytes) +
            (model.answer ? ", &" + n + "_answer" : std::string(any_answer ? ", 0" : "")) + "},\n";
  }
  folder->add("models.h", header + "extern const firmware_model firmware_models[];\n#endif\n");
  folder->add("models/list.c", head_of(project, "/* ", " */\n") +
                                   "#include \"models.h\"\n\nconst firmware_model "
                                   "firmware_models[] = {\n" +
                                   rows + "};\n");
}

void add_board(const Project& project, host::OutputFolder* folder) {
  const Board& b = *project.board;
  const bool is_riscv = lacks_cxx_headers(b), is_second = needs_of(project).model_flash_bytes != 0;
  const std::string link = is_riscv ? "" : "--specs=nano.specs";
  const std::string headers = is_riscv ? "-idirafter " : "";
  folder->add("memory.ld",
              head_of(project, "/* ", " */\n") + "/* " + b.name + ": " + b.processor +
                  " */\nMEMORY {\n" + "  FLASH (rx) : ORIGIN = " + hex(b.flash_origin) +
                  ", LENGTH = " + std::to_string(b.flash_bytes) + "\n  RAM (rwx) : ORIGIN = " +
                  hex(b.ram_origin) + ", LENGTH = " + std::to_string(b.ram_bytes) +
                  (is_second ? "\n  MODELS (r) : ORIGIN = " + hex(b.model_flash_origin) +
                                   ", LENGTH = " + std::to_string(b.model_flash_bytes) + "\n}"
                             : "\n}\nREGION_ALIAS(\"MODELS\", FLASH)") +
                  "\n__stack_bytes = " + std::to_string(project.stack_bytes) + ";\n");
  folder->add("board.mk", head_of(project, "# ", "\n") + "# " + b.name + ": " + b.processor +
                              "\nCROSS ?= " + b.toolchain + "\nCPU_FLAGS = " + b.flags +
                              "\nLINK_FLAGS = " + link + "\nLIBRARIES = -lm\nCXX_HEADERS = " +
                              (is_riscv ? headers + "cxx" : "") + "\nQEMU ?= " + b.emulator + "\n");
  folder->add("toolchain.cmake",
              head_of(project, "# ", "\n") + "# " + b.name + ": " + b.processor +
                  "\nset(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_SYSTEM_PROCESSOR " +
                  (is_riscv ? "riscv32" : "arm") + ")\nset(CMAKE_C_COMPILER " + b.toolchain +
                  "gcc)\nset(CMAKE_CXX_COMPILER " + b.toolchain +
                  "g++)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n"
                  "set(CMAKE_C_FLAGS_INIT \"" +
                  b.flags + "\")\nset(CMAKE_CXX_FLAGS_INIT \"" + b.flags +
                  (is_riscv ? " " + headers + "${CMAKE_CURRENT_LIST_DIR}/cxx" : "") +
                  "\")\nset(CMAKE_EXE_LINKER_FLAGS_INIT \"" + link + "\")\n");
}

std::string readme(const Project& project) {
  const ProjectNeeds needs = needs_of(project);
  std::string text =
      "# Firmware for " + std::string(project.board->name) + " (" + project.board->processor +
      ")\nWritten by ingot firmware " + project.version + ". It builds as it is:\n\n```sh\nmake" +
      (*project.board->emulator ? " run" : "    ") +
      "            # or: cmake -S . -B build --toolchain toolchain.cmake && cmake --build "
      "build\n```\nOn Debian the compiler is in " +
      (lacks_cxx_headers(*project.board)
           ? "gcc-riscv64-unknown-elf and picolibc-riscv64-unknown-elf"
           : "gcc-arm-none-eabi, libnewlib-arm-none-eabi and libstdc++-arm-none-eabi-newlib") +
      ", the emulator in qemu-system-" + (lacks_cxx_headers(*project.board) ? "misc" : "arm") +
      ".\n\nA handler of an interrupt is a function of its CMSIS name (SysTick_Handler) for the "
      "processor's own, and\nInterrupt_Handler(number) for the board's. main.c opens each model, "
      "runs it on the inputs in models/, and "
      "compares its outputs with\nthose of the host. ingot/ is the core, unchanged; "
      "kernels.cpp names the kernels of these models\nand no other. A model that is "
      "converted again needs the folder written again.\n\n| model | flash, bytes | "
      "arena, bytes | made of |\n|---|--:|--:|---|\n";
  for (const ProjectModel& model : project.models)
    text += "| " + model.name + " | " + std::to_string(model.image.size()) + " | " +
            std::to_string(model.arena_bytes) + " | " + origin_of(model) + " |\n";
  std::string kept;
  for (const ProjectModel& model : project.models)
    if (model.keeps_state) kept += (kept.empty() ? "" : ", ") + model.name;
  if (!kept.empty())
    text += "\nState is kept from run to run: " + kept +
            ". It lies in a part of the arena that no other\nmodel uses. "
            "ingot_micro_reset_state() starts over.\n";
  return text + "\nRAM: " + std::to_string(needs.ram_bytes) + " of " +
         std::to_string(project.board->ram_bytes) + " bytes, " +
         std::to_string(project.stack_bytes) + " of them stack.\n";
}

}  // namespace

ProjectNeeds needs_of(const Project& project) {
  ProjectNeeds needs;
  needs.ram_bytes = arena_places(project).back() + project.stack_bytes + kStaticBytes;
  needs.flash_bytes = code_allowance(project);
  uint64_t images = 0;
  for (const ProjectModel& model : project.models) {
    images += model.image.size();
    needs.flash_bytes += model.inputs.size() + model.outputs.size() +
                         (model.answer ? answer_bytes(*model.answer) : 0);
  }
  const Board& board = *project.board;
  const bool is_second = board.model_flash_bytes && needs.flash_bytes + images > board.flash_bytes;
  (is_second ? needs.model_flash_bytes : needs.flash_bytes) += images;
  return needs;
}

size_t write_project(const Project& project, const std::string& path) {
  check_board(project);
  std::set<std::string> kernels;
  bool keeps_state = false;
  for (const ProjectModel& model : project.models) {
    kernels.insert(model.kernels.begin(), model.kernels.end());
    keeps_state = keeps_state || model.keeps_state;
  }
  const std::string table = micro_table_source({kernels.begin(), kernels.end()}, keeps_state);
  host::OutputFolder folder(path);
  folder.add("kernels.cpp", head_of(project, "// ", "\n") + table);
  std::vector<std::string> roots = {"runtime/base/sha256_x86.cpp"};  // no header has its name
  for (const SourceFile& file : source_files()) {
    const std::string source = file.path;
    if (source.rfind(kTemplate, 0) == 0 && (source != kAnswer || has_answer(project)) &&
        (source.rfind(kCxxHeaders, 0) != 0 || lacks_cxx_headers(*project.board)))
      folder.add(source.substr(sizeof kTemplate - 1), file.text());
    const std::string kMicro = "runtime/micro/";
    if (source.rfind(kMicro, 0) == 0) roots.push_back(source);
  }
  for (const SourceFile* file : needed_sources(table, roots))
    folder.add(kCore + std::string(file->path), file->text());
  folder.add("LICENSE", find_source("LICENSE")->text());
  folder.add("README.md", readme(project));
  add_models(project, &folder);
  add_board(project, &folder);
  return folder.commit();
}

}  // namespace ingot::firmware
