// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/operator_list.h"

#include "tools/import/aten/no_effect.h"
#include "tools/import/aten/schema.h"

namespace ingot::aten {

std::string operators_page() {
  std::string page =
      "# ATen operators\n"
      "Written by `ingot operators --torch`. Each form of an operator that programs of PyTorch may "
      "call, with the "
      "arguments that they take. An operator with `_` at\n"
      "its end is the same, written to its first argument. Every argument is read, or stands in "
      "the list at the end of "
      "this page, or is refused where\n"
      "its value is not the default. What else is refused within these forms is listed with the "
      "argument when it is met "
      "(docs/torch.md).\n\n";
  for (const auto& [name, schemas] : operator_table().all())
    for (const Schema& schema : schemas) page += "- `" + schema.text() + "`\n";
  page +=
      "\n## Arguments without effect\n"
      "What they say changes no number of an inference; `*` is every operator, or every "
      "argument.\n\n"
      "| operator | argument | why |\n|---|---|---|\n";
  for (const NoEffect& row : arguments_without_effect())
    page += std::string("| `") + row.op + "` | `" + row.argument + "` | " + row.reason + " |\n";
  return page;
}

}  // namespace ingot::aten
