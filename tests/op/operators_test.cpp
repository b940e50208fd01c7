// SPDX-License-Identifier: Apache-2.0
// Every operator has all of its parts: contract, oracle, kernels, a case of the conformance suite,
// a lowering. What an operator does not have stands here with its reason, and is no longer true
// when it gets one.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "ingot/cpu.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cuda/cuda_kernels.h"
#include "runtime/op/all_operators.h"
#include "tools/compile/program/lowered_program.h"
#include "tools/graph/functions.h"

using namespace ingot;

namespace {

struct Row {
  OpCode op;
  int number;
  std::string name, text;
  const OpContract* contract;
};
const Row kRows[] = {
#define INGOT_OPERATOR(name, number, text, family) \
  {OpCode::k##name, number, #name, #text, &k##name##Contract},
#include "runtime/op/operators.def"
};

const std::map<std::string, std::string> kNoKernel = {
    {"If", "the session runs it"},
    {"Loop", "the session runs it"},
};
const std::map<std::string, std::string> kNoGpuKernel = {
    {"If", "the session runs it, or a node of the GPU's graph"},
    {"Loop", "the session runs it, or a node of the GPU's graph"},
    {"Custom", "an operator of the application's computes on the CPU"},
    {"Fft", "front ends of sound, before the network: the CPU runs it"},
    {"Random", "a counter and a key: the CPU draws while it waits"},
    {"TreeEnsemble", "a walk that waits for each of its loads is what a CPU does well"},
};
const std::map<std::string, std::string> kNoCase = {
    {"Loop", "tests/session/control_test.cpp"},
    {"Custom", "tests/plugins/plugin_test.cpp"},
};

const std::map<std::string, std::string> kNoPass = {
    {"Chain", "lowering makes it of neighbors"},
    {"QuantizedChain", "lowering makes it of neighbors"},
    {"Copy", "lowering makes it where bytes must move"},
};

// Of the evaluator; what these compute is compared with the oracle, and with what is named here.
const std::map<std::string, std::string> kNoReference = {
    {"Chain", "its instructions are compared apart"},
    {"QuantizedChain", "its instructions are compared apart"},
    {"Copy", "lowering makes it where bytes must move"},
    {"Custom", "the application's own"},
    {"Random", "tests/conformance/random_test.cpp"},
    {"NonMaxSuppression", "tests/frameworks/random_graphs/images.py"},
    {"Unique", "tests/frameworks/random_graphs/draw.py"},
    {"GridSample", "tests/frameworks/random_graphs/images.py"},
    {"RoiAlign", "tests/frameworks/random_graphs/images.py"},
    {"TreeEnsemble", "tests/frameworks/onnxruntime/ml_operators.py"},
};

bool has_row(const KernelTable* table, OpCode op) {
  for (const KernelTable* t = table; t; t = t->fallback)
    for (uint32_t i = 0; i < t->entry_count; i++)
      if (t->entries[i].op == op) return true;
  return false;
}

bool has_gpu_row(OpCode op) {
  for (const Span<const GpuKernelEntry>* family : ingot_cuda_kernel_set.families)
    for (const GpuKernelEntry& row : *family)
      if (row.op == op) return true;
  return false;
}

/// The text of all files below a folder of the sources whose names end so.
std::string text_of(const std::string& folder, const std::string& ending) {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::string(INGOT_SOURCE_DIR) + "/" + folder)) {
    const std::string path = entry.path().string();
    if (path.size() < ending.size() ||
        path.compare(path.size() - ending.size(), ending.size(), ending) != 0)
      continue;
    std::ostringstream bytes;
    bytes << std::ifstream(path).rdbuf();
    text += bytes.str();
  }
  return text;
}

bool names(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!std::isalnum(static_cast<unsigned char>(text[at + word.size()]))) return true;
  return false;
}

/// What a row lacks is listed, and what is listed it lacks.
void check_part(const Row& row, const char* part, bool is_there,
                const std::map<std::string, std::string>& reasons) {
  INFO(row.name, ": ", part, is_there ? " is there, and listed as absent" : " is missing");
  CHECK(is_there != (reasons.count(row.name) != 0));
}

}  // namespace

TEST_CASE("operators: every row has its parts") {
  const std::string cases = text_of("tests/conformance", "_test.cpp");
  const std::string lowered = text_of("tools/compile", ".cpp"),
                    made = text_of("tools/compile/passes", ".cpp");
  const std::string plain = text_of("runtime/op", "attributes.def"),
                    evaluated = text_of("tools/diagnose/reference", ".cpp");
  const auto* scalar = reinterpret_cast<const KernelTable*>(ingot_cpu_kernels("scalar"));
  REQUIRE(scalar != nullptr);
  std::set<std::string> texts;
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    CHECK(int(row.op) == row.number);
    CHECK(op_name(row.op) == row.text);
    CHECK(texts.insert(row.text).second);
    CHECK(row.contract->op == row.op);
    CHECK(convert::contract_of(row.op) == row.contract);
    CHECK(is_control(row.op) == (kNoKernel.count(row.name) != 0));
    check_part(row, "an oracle (kernels/cpu/oracle/oracle_table.cpp)",
               has_row(oracle_kernels(), row.op) && !is_control(row.op), kNoKernel);
    check_part(row,
               "a CPU kernel (kernels/cpu/products.inl, vector_kernels.inl or scalar_kernels.inl)",
               has_row(scalar, row.op) && !is_control(row.op), kNoKernel);
    check_part(row, "a CUDA kernel (kernels/cuda/<family>/<family>_plan.cpp)", has_gpu_row(row.op),
               kNoGpuKernel);
    check_part(row, "a case in tests/conformance", names(cases, "OpCode::k" + row.name), kNoCase);
    check_part(row, "a lowering in tools/compile",
               names(lowered, "OpCode::k" + row.name) || names(lowered, row.name + "Attributes") ||
                   names(plain, "INGOT_ATTRIBUTES(" + row.name),
               {});
    check_part(row, "an evaluation in tools/diagnose/reference/evaluate_<family>.cpp",
               names(evaluated, "op::" + row.name), kNoReference);
    const auto form = graph::row_of(graph::find_operator(row.name)).form;
    check_part(row, "a pass that makes it, or the form Both in tools/graph/operators.def",
               names(made, "op::" + row.name) || form == graph::OperatorForm::kBoth, kNoPass);
  }
}

/// "GeluTanh" as the schema writes it: "gelu_tanh".
std::string schema_spelling(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !text.empty()) text += '_';
    text += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// A file holds the number, and nothing that compiles reads its name.
TEST_CASE("functions: the schema has every number under its name, and no other") {
  const std::string schema = text_of("schema", "schema/ingot.fbs");
  const size_t begin = schema.find("enum ElementwiseOp");
  REQUIRE(begin != std::string::npos);
  const std::string numbers = schema.substr(begin, schema.find('}', begin) - begin);
  size_t rows = 0;
  for (const char* const row : {
#define INGOT_FUNCTION(name, number, operands, domain, library, result, node, source) \
#name " " #number,
#include "runtime/op/functions.def"
       }) {
    rows++;
    const std::string text = row;
    const std::string name = text.substr(0, text.find(' '));
    const std::string entry = " " + schema_spelling(name) + " = " + text.substr(text.find(' ') + 1);
    INFO(name, ": schema/ingot.fbs lacks", entry, " in ElementwiseOp");
    CHECK((numbers.find(entry + ",") != std::string::npos ||
           numbers.find(entry + "\n") != std::string::npos ||
           numbers.find(entry + " ") != std::string::npos));
  }
  CHECK(size_t(std::count(numbers.begin(), numbers.end(), '=')) == rows);
}

TEST_CASE("functions: a node of a graph is one function") {
  std::set<std::string> nodes;
  for (const graph::Function& row : graph::kFunctions) {
    if (row.node == graph::Operator::kNone) continue;
    CAPTURE(text(row.node));
    CHECK(nodes.insert(text(row.node)).second);
    CHECK(graph::find_function(row.node) == &row);
    CHECK(elementwise_arity(row.op) == row.operands);
  }
  CHECK(graph::find_function(graph::Operator::kNone) == nullptr);
  CHECK(graph::find_function(op::Conv) == nullptr);
}
