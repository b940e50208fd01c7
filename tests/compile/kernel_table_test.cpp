// SPDX-License-Identifier: Apache-2.0
// The generated table of one model: it has just its kernels, and they run it.
#include <doctest/doctest.h>

#include <set>

#include "ingot/ingot.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/compile/firmware_model.h"
#include "tests/compile/interpreter.h"

extern "C" const ingot_kernel_table* ingot_model_kernels(void);

namespace ingot::convert {

TEST_CASE(
    "ingot kernels: the table has the kernels of the model and no other, and gives the same "
    "answer") {
  const auto& table = *reinterpret_cast<const KernelTable*>(ingot_model_kernels());
  std::set<std::string> names;
  for (uint32_t i = 0; i < table.entry_count; i++) names.insert(table.entries[i].name);
  CHECK(names == std::set<std::string>{"conv2d_direct_f32", "conv2d_depthwise_f32", "linear_f32"});
  CHECK(table.fallback == nullptr);
  std::vector<uint8_t> x(8 * 8 * 3 * 4);
  for (size_t i = 0; i < x.size(); i += 4) x[i + 3] = 0x3e, x[i + 1] = uint8_t(i);
  const std::vector<uint8_t> file = firmware_model();
  const FileRun own = run_file(file, {}, {{"x", x}}, table),
                all = run_file(file, {}, {{"x", x}}, *cpu_kernels("scalar"));
  REQUIRE(own.error == "");
  REQUIRE(own.outputs.size() == 1);
  CHECK(own.outputs == all.outputs);
}

}  // namespace ingot::convert
