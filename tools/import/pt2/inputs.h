// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/inputs.h - the inputs of a program: the dims that it declares, and what the user
// says about them.
#pragma once
#include <map>
#include <set>
#include <string>

#include "tools/import/common/options.h"

namespace ingot::pt2 {

class Inputs {
 public:
  Inputs(graph::Model& model, const importer::ImportOptions& options, std::string file)
      : model_(model), options_(options), file_(std::move(file)) {}
  /// Bounds of a symbol as the source states them; 0: none.
  void state_bounds(const std::string& symbol, int64_t low, int64_t high) {
    stated_[symbol] = {low, high};
  }
  /// Adds an input. Symbols become the user's names, numbers or bounds.
  /// @throws graph::ConversionError(kMismatch) where the user and the source contradict each other.
  graph::ValueId declare(const std::string& name, DType dtype, graph::Dims dims);
  /// @throws graph::ConversionError(kMismatch) when an option names no input or symbol.
  void check_options() const;

 private:
  graph::Dim resolved(const std::string& where, const graph::Dim& declared,
                      const graph::Dim* wanted);
  graph::Dim free_symbol(const std::string& where, const std::string& name);
  void bind(const std::string& symbol, const graph::Dim& to, const std::string& where);

  graph::Model& model_;
  const importer::ImportOptions& options_;
  std::string file_;
  std::map<std::string, graph::SymbolBounds> stated_;
  std::map<std::string, graph::Dim> bound_;
  std::set<std::string> inputs_, symbols_;
  size_t substituted_ = 0;  // of the bound symbols, in all inputs
};

}  // namespace ingot::pt2
