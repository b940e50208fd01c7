// tools/compile/emit/kernel_table_source.cpp - see kernel_table_source.h.
#include "tools/compile/emit/kernel_table_source.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "tools/graph/graph.h"

namespace ingot::convert {
namespace {

/// The flags that kernels/cpu/CMakeLists.txt gives to the translation unit of an instruction set.
std::string flags_of(const std::string& isa) {
  if (isa == "scalar" || isa == "neon") return "";
  if (isa == "avx2") return " -mavx2 -mfma -mtune=haswell";
  if (isa == "avx512")
    return " -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mtune=icelake-server";
  graph::fail_conversion(1, "instruction set '" + isa + "': expected scalar, avx2, avx512 or neon");
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
  for (const KernelEntry& entry : kProductKernels)
    if (entry.name && same(entry.name, name)) return entry;
  for (const KernelEntry& entry : kTensorKernels)
    if (entry.name && same(entry.name, name)) return entry;
  return no_row_of_that_name();
}
)";

}  // namespace

std::vector<std::string> needed_kernels(const ProgramDef& program, const BoundProgram& bound,
                                        const KernelTable& table) {
  std::set<const KernelEntry*> needed;
  std::string missing;
  for (size_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    if (is_control(instruction.op)) {  // the session runs it; its row carries the contract
      for (uint32_t e = 0; e < table.entry_count; e++)
        if (table.entries[e].op == instruction.op) needed.insert(&table.entries[e]);
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
    graph::fail_conversion(4,
                           "no " + std::string(table.isa) + " kernel for instructions " + missing);
  std::vector<std::string> names;
  for (const KernelTable* t = &table; t; t = t->fallback)
    for (uint32_t i = 0; i < t->entry_count; i++)
      if (needed.count(&t->entries[i])) names.push_back(t->entries[i].name);
  return names;
}

std::string kernel_table_source(const std::string& model, const std::string& isa,
                                const std::vector<std::string>& kernels) {
  std::string printable;  // a file name may hold anything; a comment may not
  for (const char c : model) printable += c >= ' ' && c <= '~' && c != '\\' ? c : '?';
  std::string source = "// The kernels of " + printable +
                       ", made by `ingot kernels`: hand ingot_model_kernels() to ingot_open.\n";
  source +=
      "// Compile  c++ -std=c++17 -O2 -ffp-contract=off -fno-exceptions -fno-rtti "
      "-ffunction-sections -fdata-sections" +
      flags_of(isa) + " -I INGOT -I INGOT/runtime/include -c THIS\n";
  source += "#include \"kernels/cpu/simd/" + isa + ".h\"\n";
  source +=
      "#include \"kernels/cpu/products.inl\"\n#include \"kernels/cpu/tensors.inl\"\n#include "
      "\"ingot/ingot.h\"\n\n";
  source += "namespace ingot {\nnamespace cpu {\n";
  source += kTail;
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
