// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/board.cpp - see board.h. Memory is that of the boards' manuals, as far as
// QEMU has it.
#include "tools/compile/firmware/board.h"

#include <cstdlib>

#include "tools/files/failure.h"

namespace ingot::firmware {
namespace {

constexpr uint32_t kKiB = 1024, kMiB = 1024 * 1024;
#define INGOT_QEMU_ARM(machine) \
  "qemu-system-arm -M " machine \
  " -nographic -monitor none -serial none -semihosting-config enable=on,target=native"
constexpr char kArm[] = "arm-none-eabi-";

constexpr Board kBoards[] = {
    {"microbit", "Cortex-M0 (nRF51822)", "-mcpu=cortex-m0 -mthumb", kArm,
     INGOT_QEMU_ARM("microbit"), 0, 256 * kKiB, 0x20000000, 16 * kKiB},
    {"mps2-an385-m0plus", "Cortex-M3, with code for Cortex-M0+", "-mcpu=cortex-m0plus -mthumb",
     kArm, INGOT_QEMU_ARM("mps2-an385"), 0, 4 * kMiB, 0x20000000, 4 * kMiB},
    {"mps2-an385", "Cortex-M3", "-mcpu=cortex-m3 -mthumb", kArm, INGOT_QEMU_ARM("mps2-an385"), 0,
     4 * kMiB, 0x20000000, 4 * kMiB},
    {"mps2-an386", "Cortex-M4", "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard", kArm,
     INGOT_QEMU_ARM("mps2-an386"), 0, 4 * kMiB, 0x20000000, 4 * kMiB},
    {"netduinoplus2", "Cortex-M4 (STM32F405)",
     "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard", kArm,
     INGOT_QEMU_ARM("netduinoplus2"), 0x08000000, 1 * kMiB, 0x20000000, 128 * kKiB},
    {"mps2-an500", "Cortex-M7", "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard", kArm,
     INGOT_QEMU_ARM("mps2-an500"), 0, 4 * kMiB, 0x20000000, 4 * kMiB},
    {"mps2-an505", "Cortex-M33", "-mcpu=cortex-m33 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard",
     kArm, INGOT_QEMU_ARM("mps2-an505"), 0x10000000, 4 * kMiB, 0x38000000, 2 * kMiB},
    {"mps3-an547", "Cortex-M55", "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", kArm,
     INGOT_QEMU_ARM("mps3-an547"), 0, 512 * kKiB, 0x20000000, 512 * kKiB,
     // QSPI, as the secure state sees it
     0x38000000, 8 * kMiB},
    {"riscv32-virt", "RV32IMAC",
     "-march=rv32imac -mabi=ilp32 -mcmodel=medany --specs=picolibc.specs", "riscv64-unknown-elf-",
     "qemu-system-riscv32 -M virt -bios none -nographic -monitor none -serial none "
     "-semihosting-config enable=on,target=native",
     0x80000000, 4 * kMiB, 0x80400000, 4 * kMiB},
};
#undef INGOT_QEMU_ARM

struct Processor {
  const char* name;
  const char* flags;
  const char* toolchain;
};
constexpr char kRiscv[] = "riscv64-unknown-elf-";
constexpr Processor kProcessors[] = {
    {"cortex-m0", "-mcpu=cortex-m0 -mthumb", kArm},
    {"cortex-m0plus", "-mcpu=cortex-m0plus -mthumb", kArm},
    {"cortex-m3", "-mcpu=cortex-m3 -mthumb", kArm},
    {"cortex-m4", "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard", kArm},
    {"cortex-m7", "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard", kArm},
    {"cortex-m33", "-mcpu=cortex-m33 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard", kArm},
    {"cortex-m55", "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", kArm},
    {"rv32imac", "-march=rv32imac -mabi=ilp32 -mcmodel=medany --specs=picolibc.specs", kRiscv},
};

uint32_t number_of(const char* option, const std::string& text, const std::string& given) {
  char* end = nullptr;
  const unsigned long long number = strtoull(text.c_str(), &end, 0);
  unsigned long long unit = 1;
  if (*end == 'K' || *end == 'k') unit = kKiB, end++;
  if (*end == 'M' || *end == 'm') unit = kMiB, end++;
  if (text.empty() || text[0] == '-' || *end || number > UINT32_MAX / unit)
    host::fail(host::Exit::kUsage, std::string(option) + ": expected BYTES or BYTES@ADDRESS, as " +
                                       "512K@0x08000000, found '" + given + "'");
  return uint32_t(number * unit);
}

void read_memory(const char* option, const std::string& given, uint32_t* origin, uint32_t* bytes) {
  const size_t at = given.find('@');
  *bytes = number_of(option, given.substr(0, at), given);
  if (at != std::string::npos) *origin = number_of(option, given.substr(at + 1), given);
}

}  // namespace

std::string processor_names() {
  std::string names;
  for (const Processor& each : kProcessors)
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

Board custom_board(const std::string& cpu, const std::string& flash, const std::string& ram) {
  for (const Processor& each : kProcessors) {
    if (cpu != each.name) continue;
    Board board = {"custom", each.name,  each.flags, each.toolchain, "", 0x08000000,
                   0,        0x20000000, 0};
    read_memory("--flash", flash, &board.flash_origin, &board.flash_bytes);
    read_memory("--ram", ram, &board.ram_origin, &board.ram_bytes);
    return board;
  }
  host::fail(host::Exit::kUsage,
             "--cpu: '" + cpu + "' is not known; expected one of " + processor_names());
}

Span<const Board> boards() { return {kBoards, sizeof kBoards / sizeof kBoards[0]}; }

const Board& board_named(const std::string& name) {
  std::string names;
  for (const Board& board : kBoards) {
    if (name == board.name) return board;
    names += (names.empty() ? "" : ", ") + std::string(board.name);
  }
  host::fail(host::Exit::kUsage, "--board: '" + name + "' is not known; expected one of " + names);
}

}  // namespace ingot::firmware
