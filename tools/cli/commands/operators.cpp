// SPDX-License-Identifier: Apache-2.0
// ingot operators - which operators of ONNX can be converted, with what.
#include "tools/import/onnx/operators.h"

#include <cstdio>
#include <memory>

#include "tools/cli/options/command.h"
#include "tools/files/suggest.h"
#include "tools/import/aten/operator_list.h"

namespace ingot::cli {
namespace {

struct OperatorsArguments {
  std::vector<std::string> names;
  bool markdown = false, torch = false;
};

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

int operators(const OperatorsArguments& a) {
  if (a.torch) {
    fputs(aten::operators_page().c_str(), stdout);
    return 0;
  }
  if (a.markdown) {
    fputs(onnx::operators_page().c_str(), stdout);
    return 0;
  }
  const std::vector<onnx::OperatorForm> forms = onnx::operator_forms();
  for (const std::string& name : a.names) {
    const onnx::OperatorForm* found = nullptr;
    std::vector<std::string> known;
    for (const onnx::OperatorForm& form : forms) {
      known.push_back(form.name);
      if (form.name == name) found = &form;
    }
    if (!found)
      host::fail(host::Exit::kUnsupported, "'" + name +
                                               "' is no operator of ONNX that can be converted" +
                                               host::did_you_mean(name, known));
    printf("%s\n  attributes  %s\n  limits      %s\n", name.c_str(),
           listed(found->attributes).c_str(),
           found->limits.empty() ? "none" : found->limits.c_str());
  }
  if (a.names.empty())
    for (const onnx::OperatorForm& form : forms) printf("%s\n", form.name.c_str());
  return 0;
}

}  // namespace

void add_operators(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<OperatorsArguments>();
  CLI::App* command = add_command(
      app, chosen, "operators", "List the operators of ONNX, or of PyTorch, that can be converted",
      "  ingot operators\n"
      "  ingot operators Conv STFT\n"
      "  ingot operators --markdown > docs/operators.md\n"
      "  ingot operators --torch > torch-operators.md",
      [a] { return operators(*a); });
  command->add_option("NAME", a->names, "operators to describe")->type_name("");
  command->add_flag("--markdown", a->markdown, "print the page docs/operators.md");
  command->add_flag("--torch", a->torch, "print a page of PyTorch's operators");
}

}  // namespace ingot::cli
