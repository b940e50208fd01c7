// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/rows.cpp - see rows.h.
#include "tools/compile/firmware/rows.h"

#include <set>

#include "kernels/cpu/cpu_kernels.h"

namespace ingot::firmware {
namespace {

micro::ReadAttributes reader_of_operator(OpCode op) {
  switch (op) {
#define INGOT_ATTRIBUTES(name, fields) \
  case OpCode::k##name:                \
    return micro::read_##name##_attributes;
#include "runtime/micro/attributes.def"
#define INGOT_WRITTEN(name) \
  case OpCode::k##name: return micro::read_##name##_attributes;
    INGOT_WRITTEN_READERS(INGOT_WRITTEN)
#undef INGOT_WRITTEN
    default: return nullptr;
  }
}

std::vector<micro::MicroKernel> make_rows() {
  std::vector<micro::MicroKernel> rows;
  for (const KernelTable* table = cpu_kernels("scalar"); table; table = table->fallback)
    for (uint32_t i = 0; i < table->entry_count; i++)
      if (const auto read = reader_of_operator(table->entries[i].op))
        rows.push_back({table->entries[i], read});
  return rows;
}

/// Whether kernels/cpu/quantized has the row, so that the other kernels need not be compiled.
bool is_quantized_row(const KernelEntry& entry) {
  return (entry.op >= OpCode::kQuantize && entry.op <= OpCode::kQuantizedChain) ||
         std::string(entry.name) == "elementwise_bytes";
}

const char kHead[] =
    R"(// kernels.cpp - the kernels of this firmware's models and no other; by `ingot firmware`.
#include "ingot/micro.h"
#include "runtime/micro/model.h"

#include "kernels/cpu/simd/scalar.h"
)";

const char kOpen[] = R"(
namespace ingot {
namespace cpu {

KernelEntry no_row_of_that_name();  // never defined, never constant

namespace {
)";

const char kRow[] = R"(
/// The row of that name; a name that the lists do not have is a compile error.
constexpr KernelEntry row(const char* name) {
  const auto same = [](const char* a, const char* b) {
    for (; *a != 0 && *a == *b; a++, b++) {}
    return *a == *b;
  };
)";

}  // namespace

const char* reader_name(OpCode op) {
  // clang-format off
#define INGOT_ATTRIBUTES(name, fields) if (op == OpCode::k##name) return #name;
#include "runtime/micro/attributes.def"
#define INGOT_WRITTEN(name) if (op == OpCode::k##name) return #name;
  INGOT_WRITTEN_READERS(INGOT_WRITTEN)
#undef INGOT_WRITTEN
  // clang-format on
  return nullptr;
}

const micro::MicroKernelTable& scalar_rows() {
  static const std::vector<micro::MicroKernel> rows = make_rows();
  static const micro::MicroKernelTable table = {rows.data(), uint32_t(rows.size()),
                                                micro::start_states};
  return table;
}

std::string micro_table_source(const std::vector<std::string>& kernels, bool keeps_state) {
  const std::set<std::string> names(kernels.begin(), kernels.end());
  const micro::MicroKernelTable& all = scalar_rows();
  bool only_quantized = true;
  std::string rows;
  for (uint32_t i = 0; i < all.count; i++) {
    const KernelEntry& entry = all.rows[i].entry;
    if (!names.count(entry.name)) continue;
    only_quantized = only_quantized && is_quantized_row(entry);
    rows += "    {row(\"" + std::string(entry.name) + "\"), micro::read_" + reader_name(entry.op) +
            "_attributes},\n";
  }
  const std::vector<std::string> lists =
      only_quantized
          ? std::vector<std::string>{"kQuantizedKernels"}
          : std::vector<std::string>{"kProductKernels", "kTensorKernels", "kPlainKernels"};
  std::string source = kHead;
  if (only_quantized)
    source +=
        "#include \"kernels/cpu/cortex_m/products.inl\"\n"
        "#include \"kernels/cpu/quantized/vector_kernels.inl\"\n" +
        std::string(kOpen) +
        "\nconstexpr KernelEntry kQuantizedKernels[] = {INGOT_QUANTIZED_PRODUCTS, "
        "INGOT_FLIP_BYTES,\n"
        "                                             INGOT_QUANTIZED_TENSORS};\n";
  else
    source +=
        "#include \"kernels/cpu/cortex_m/products.inl\"\n#include "
        "\"kernels/cpu/scalar_kernels.inl\"\n"
        "#include \"kernels/cpu/products.inl\"\n#include \"kernels/cpu/vector_kernels.inl\"\n" +
        std::string(kOpen);
  source += kRow;
  // One return: GCC 10.2 takes none behind a loop that calls what is no constant.
  source += "  const KernelEntry* found = nullptr;\n";
  for (const std::string& list : lists)
    source += "  for (const KernelEntry& entry : " + list +
              ")\n    if (!found && entry.name && same(entry.name, name)) found = &entry;\n";
  source +=
      "  return found ? *found : no_row_of_that_name();\n}\n\n"
      "constexpr micro::MicroKernel kRows[] = {\n" +
      rows +
      "};\nconstexpr micro::MicroKernelTable kTable = {kRows, sizeof kRows / sizeof kRows[0]" +
      (keeps_state ? ", micro::start_states" : "") +
      "};\n\n"
      "}  // namespace\n}  // namespace cpu\n}  // namespace ingot\n\n"
      "extern \"C\" const ingot_micro_kernels* ingot_micro_table(void);\n"
      "extern \"C\" const ingot_micro_kernels* ingot_micro_table(void) {\n"
      "  return reinterpret_cast<const ingot_micro_kernels*>(&ingot::cpu::kTable);\n}\n";
  return source;
}

}  // namespace ingot::firmware
