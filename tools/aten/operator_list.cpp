#include "tools/aten/operator_list.h"

#include "tools/aten/schema.h"

namespace ingot::aten {

std::string operators_page() {
  std::string page =
      "# ATen operators\n"
      "Written by `ingot operators --torch`. Each form of an operator that programs of PyTorch may call, with the "
      "arguments that are read; `Any` is accepted and\n"
      "ignored unless the text says otherwise. An operator with `_` at its end is the same, written to its first "
      "argument. What is refused within these\n"
      "forms is said with the argument when it is met (docs/torch.md).\n\n";
  for (const auto& [name, schemas] : operator_table().all())
    for (const Schema& schema : schemas) page += "- `" + schema.text() + "`\n";
  return page;
}

}  // namespace ingot::aten
