// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/open_dims.h - dynamic dimensions that only share a name.
#pragma once
#include <map>
#include <set>

#include "tools/import/onnx/import.h"
#include "tools/import/onnx/wire.h"

namespace ingot::onnx {

/// No name, or what exporters without names write: twice it is not the same twice.
inline bool is_anonymous(std::string_view symbol) {
  return symbol.empty() || symbol == "?" || symbol == "None";
}

/// The options with dimensions of `apart` named for themselves in all inputs but the first that
/// declares them; `notes` says which.
inline ImportOptions part_dims(const Graph& source, const std::set<std::string>& apart,
                               ImportOptions options, std::vector<std::string>* notes) {
  std::map<std::string, std::string> first;
  for (const ValueInfo& info : source.inputs) {
    const std::string input(info.name);
    graph::Dims dims;
    bool differs = false;
    for (size_t i = 0; i < info.dims.size(); i++) {
      const Dimension& d = info.dims[i];
      const std::string symbol(d.symbol);
      if (d.has_value && d.value >= 0 && symbol.empty()) {
        dims.push_back(graph::Dim(d.value));
      } else if (is_anonymous(symbol)) {
        dims.push_back(graph::Dim::symbol(input + "_dim" + std::to_string(i)));
      } else if (apart.count(symbol) && first.emplace(symbol, input).first->second != input) {
        const std::string own = input + "_" + symbol;
        dims.push_back(graph::Dim::symbol(own));
        differs = true;
        notes->push_back("inputs '" + first[symbol] + "' and '" + input + "' name a dimension '" +
                         symbol + "' that differs; that of '" + input + "' is '" + own +
                         "' (--input-shape gives dimensions names, equal ones to tie them)");
      } else {
        dims.push_back(graph::Dim::symbol(symbol));
      }
    }
    if (differs && !options.input_shapes.count(input)) options.input_shapes[input] = dims;
  }
  return options;
}

}  // namespace ingot::onnx
