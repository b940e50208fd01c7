// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/kernel_table_source.cpp - see kernel_table_source.h.
#include "tools/compile/emit/kernel_table_source.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "tools/graph/graph.h"

namespace ingot::convert {
namespace {

/// How kernels/cpu/CMakeLists.txt and isa/*.cpp build an instruction set.
struct IsaBuild {
  const char* name;
  const char* header;  // of kernels/cpu/simd
  const char* define;  // before it; "" for none
  const char* flags;
};
#define INGOT_AVX512_FLAGS " -mavx512f -mavx512bw -mavx512vl -mavx512dq"
constexpr IsaBuild kIsaBuilds[] = {
    {"scalar", "scalar", "", ""},
    {"sse2", "sse2", "INGOT_UNFUSED", ""},
    {"avx2", "avx2", "", " -mavx2 -mfma -mtune=haswell"},
    {"avxvnni", "avx2", "INGOT_SIMD_VNNI", " -mavx2 -mfma -mavxvnni -mtune=haswell"},
    {"avx512", "avx512", "", INGOT_AVX512_FLAGS " -mavx2 -mfma -mtune=icelake-server"},
    {"avx512vnni", "avx512", "INGOT_SIMD_VNNI",
     INGOT_AVX512_FLAGS " -mavx512vnni -mavx2 -mfma -mtune=icelake-server"},
    // amxbf16 asks the system for its tiles, which a table of rows alone does not
    {"avx512bf16", "avx512", "INGOT_SIMD_VNNI",
     INGOT_AVX512_FLAGS " -mavx512vnni -mavx512bf16 -mavx2 -mfma -mtune=icelake-server"},
    {"neon", "neon", "", ""},
    {"neonfp16", "neon", "", " -march=armv8.2-a+fp16"},
    {"neondot", "neon", "INGOT_SIMD_DOTPROD", " -march=armv8.2-a+dotprod"},
    {"neoni8mm", "neon", "INGOT_SIMD_I8MM", " -march=armv8.2-a+dotprod+i8mm"},
    {"neonbf16", "neon", "INGOT_SIMD_I8MM", " -march=armv8.2-a+dotprod+i8mm+bf16"},
    {"neon32", "neon32", "", " -mfpu=neon-vfpv4"},
    {"rvv", "rvv", "", " -march=rv64gcv -fno-vectorize -fno-slp-vectorize"},
};
#undef INGOT_AVX512_FLAGS

const IsaBuild& build_of(const std::string& isa) {
  std::string names;
  for (const IsaBuild& build : kIsaBuilds) {
    if (isa == build.name) return build;
    names += (names.empty() ? "" : ", ") + std::string(build.name);
  }
  graph::fail_usage("instruction set '" + isa + "': expected one of " + names);
}

const char kTail[] = R"(
KernelEntry no_row_of_that_name();  // never defined, never constant

namespace {

/// The row of that name; a name that the lists do not have is a compile error.
constexpr KernelEntry row(const char* name) {
  const auto same = [](const char* a, const char* b) {
    for (; *a != 0 && *a == *b; a++, b++) {}
    return *a == *b;
  };
  const KernelEntry* found = nullptr;  // one return: as GCC 10.2 takes it
  for (const KernelEntry& entry : kProductKernels)
    if (!found && entry.name && same(entry.name, name)) found = &entry;
HALF_ROWS  for (const KernelEntry& entry : kTensorKernels)
    if (!found && entry.name && same(entry.name, name)) found = &entry;
  for (const KernelEntry& entry : kPlainKernels)
    if (!found && entry.name && same(entry.name, name)) found = &entry;
  return found ? with_decoder(*found) : no_row_of_that_name();
}
)";

/// Products of halves: rows of a list of their own.
struct HalfRows {
  const char* suffix;  // of their names
  const char* feature;
  const char* header;  // of kernels/cpu
  const char* rows;
};
constexpr HalfRows kHalfRows[] = {
    {"_f16", "fp16", "f16_products", "kF16Kernels"},
    {"_bf16", "bf16", "bf16_products", "kBf16Kernels"},
};

std::vector<HalfRows> halves_of(const std::vector<std::string>& kernels) {
  std::vector<HalfRows> needed;
  for (const HalfRows& rows : kHalfRows)
    if (std::any_of(kernels.begin(), kernels.end(), [&](const std::string& kernel) {
          return kernel.size() > strlen(rows.suffix) &&
                 kernel.substr(kernel.size() - strlen(rows.suffix)) == rows.suffix;
        }))
      needed.push_back(rows);
  return needed;
}

std::string tail_of(const std::vector<HalfRows>& halves) {
  std::string tail = kTail, rows;
  for (const HalfRows& half : halves)
    rows += std::string("  for (const KernelEntry& entry : ") + half.rows +
            ")\n    if (!found && entry.name && same(entry.name, name)) found = &entry;\n";
  const std::string mark = "HALF_ROWS";
  return tail.replace(tail.find(mark), mark.size(), rows);
}

}  // namespace

std::vector<std::string> needed_kernels(const ProgramDef& program, const BoundProgram& bound,
                                        const KernelTable& table) {
  std::set<const KernelEntry*> needed;
  std::string missing;
  for (size_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    if (is_control(instruction.op)) {  // the session runs it; its row carries the contract
      for (const KernelTable* t = &table; t; t = t->fallback)
        for (uint32_t e = 0; e < t->entry_count; e++)
          if (t->entries[e].op == instruction.op) needed.insert(&t->entries[e]);
      continue;
    }
    std::vector<TensorView> inputs(instruction.input_count), outputs(instruction.output_count);
    for (size_t k = 0; k < inputs.size(); k++)
      static_cast<TensorType&>(inputs[k]) = value_type(program, bound, instruction.inputs[k]);
    for (size_t k = 0; k < outputs.size(); k++)
      static_cast<TensorType&>(outputs[k]) = value_type(program, bound, instruction.outputs[k]);
    OpArguments arguments;
    arguments.attributes = bound.attributes[i];
    arguments.inputs = inputs.data(), arguments.input_count = instruction.input_count;
    arguments.outputs = outputs.data(), arguments.output_count = instruction.output_count;
    if (const KernelEntry* entry = find_kernel(table, instruction.op, arguments))
      needed.insert(entry);
    else
      missing += (missing.empty() ? "" : ", ") + std::to_string(i) + " " + op_name(instruction.op);
  }
  if (!missing.empty())
    graph::fail_unsupported("no " + std::string(table.isa) + " kernel for instructions " + missing);
  std::vector<std::string> names;
  for (const KernelTable* t = &table; t; t = t->fallback)
    for (uint32_t i = 0; i < t->entry_count; i++)
      if (needed.count(&t->entries[i])) names.push_back(t->entries[i].name);
  return names;
}

std::string kernel_table_source(const std::string& model, const std::string& isa,
                                const std::vector<std::string>& kernels) {
  const IsaBuild& build = build_of(isa);
  const std::vector<HalfRows> halves = halves_of(kernels);
  std::string flags = build.flags;
  for (const HalfRows& half : halves)
    if (flags.find(half.feature) == std::string::npos) flags += std::string("+") + half.feature;
  std::string printable;  // a file name may hold anything; a comment may not
  for (const char c : model) printable += c >= ' ' && c <= '~' && c != '\\' ? c : '?';
  std::string source = "// The kernels of " + printable +
                       ", made by `ingot kernels`: hand ingot_model_kernels() to ingot_open.\n";
  source +=
      "// Compile  c++ -std=c++17 -O2 -ffp-contract=off -fno-exceptions -fno-rtti "
      "-ffunction-sections -fdata-sections" +
      flags + " -I INGOT -I INGOT/runtime/include -c THIS\n";
  if (*build.define) source += "#define " + std::string(build.define) + " 1\n";
  source += "#include \"kernels/cpu/simd/" + std::string(build.header) + ".h\"\n";
  source +=
      "#include \"kernels/cpu/scalar_kernels.inl\"\n#include \"kernels/cpu/products.inl\"\n"
      "#include \"kernels/cpu/vector_kernels.inl\"\n#include \"runtime/op/decoders.h\"\n";
  for (const HalfRows& half : halves)
    source += "#include \"kernels/cpu/" + std::string(half.header) + ".inl\"\n";
  source += "#include \"ingot/ingot.h\"\n\n";
  source += "namespace ingot {\nnamespace cpu {\n";
  source += tail_of(halves);
  source += "\nconstexpr KernelEntry kRows[] = {\n";
  for (const std::string& name : kernels) source += "    row(\"" + name + "\"),\n";
  if (kernels.empty()) source += "    {},\n";
  source += "};\n\n}  // namespace\n}  // namespace cpu\n\n";
  source += "extern const KernelTable kModelKernels;\n";
  source += "const KernelTable kModelKernels = {\"" + isa + "\", cpu::kRows, " +
            std::to_string(kernels.size()) + ", nullptr};\n\n";
  source += "}  // namespace ingot\n\n";
  source += "extern \"C\" const ingot_kernel_table* ingot_model_kernels(void);\n";
  source += "extern \"C\" const ingot_kernel_table* ingot_model_kernels(void) {\n";
  source += "  return reinterpret_cast<const ingot_kernel_table*>(&ingot::kModelKernels);\n}\n";
  return source;
}

}  // namespace ingot::convert
