// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/bounds_search.h - a model under the bounds of its dimensions that its nodes ask
// for. Of import.cpp alone.
#pragma once
#include <algorithm>

#include "tools/graph/infer/infer_shapes.h"
#include "tools/import/onnx/open_dims.h"
#include "tools/import/onnx/translator.h"

namespace ingot::onnx {

/// From what was translated to the normal form; everything unsupported so far and from here on is
/// reported at once. With something in `forced` the model is half done.
std::optional<graph::Undecided> infer_translated(graph::Model& model, const Graph& source,
                                                 const std::string& name,
                                                 std::vector<graph::Unsupported>* unsupported,
                                                 const std::vector<graph::BranchGuard>& guards,
                                                 std::vector<graph::ForcedEqual>* forced);

/// Imports under bounds, and where an If asks for others, under those. What stands in the way with
/// the bounds that were tried first is what is reported.
class BoundsSearch {
 public:
  /// `may_be_empty`: dynamic dimensions that are not at least 1; `may_part`: what shares a name may be
  /// of several extents.
  BoundsSearch(const Model& source, const std::string& name, const std::string& folder,
               const std::set<std::string>& may_be_empty, bool may_part)
      : source_(source),
        name_(name),
        folder_(folder),
        may_be_empty_(may_be_empty),
        may_part_(may_part) {}
  bool has_parted() const { return !apart_.empty(); }

  graph::Model run(const ImportOptions& options,
                   const std::vector<graph::BranchGuard>& guards = {}) {
    attempts_++;
    std::vector<std::string> notes;
    const ImportOptions asked = part_dims(source_.graph, apart_, options, &notes);
    Translator translator(source_, name_, folder_, asked);
    translator.take_equal(bindings());
    graph::Model model = translator.run();
    for (const std::string& symbol : may_be_empty_)
      if (!equal_.count(symbol)) model.symbols[symbol] = {0, 0};
    std::vector<graph::Unsupported> unsupported = std::move(translator.unsupported);
    std::vector<graph::ForcedEqual> forced;
    const auto undecided = infer_translated(model, source_.graph, name_, &unsupported, guards,
                                            forces_ ? &forced : nullptr);
    if (!forced.empty()) {
      forces_ = take_forced(options, forced);
      return run(options, guards);
    }
    if (!undecided) translator.check_dims(model);
    if (!undecided) {
      notes.insert(notes.end(), equal_notes_.begin(), equal_notes_.end());
      model.notes.insert(model.notes.end(), notes.begin(), notes.end());
      return model;
    }
    return decide(options, guards, expected_extents(model, options), *undecided);
  }

 private:
  static constexpr int kMaxAttempts = 24;

  /// By symbol: what it is equal to, or the same symbol with other bounds.
  std::map<std::string, graph::Dim> bindings() const {
    std::map<std::string, graph::Dim> empty, all = equal_;
    for (const std::string& symbol : may_be_empty_)
      empty[symbol] = graph::Dim::symbol(symbol, 0, 0);
    for (auto& [symbol, dim] : all) dim = dim.substitute(empty);
    all.insert(empty.begin(), empty.end());
    return all;
  }

  /// Whether any of `forced` is new. Bounds that the caller gave a symbol stay.
  bool take_forced(const ImportOptions& options, const std::vector<graph::ForcedEqual>& forced) {
    bool any = false;
    for (const graph::ForcedEqual& each : forced) {
      if (attempts_ >= kMaxAttempts || options.dims.count(each.symbol)) continue;
      const std::vector<std::string> inside = each.to.symbols();
      if (std::find(inside.begin(), inside.end(), each.symbol) != inside.end()) {  // it differs
        any = (may_part_ && apart_.insert(each.symbol).second) || any;
        continue;
      }
      const graph::Dim to = each.to.substitute(equal_);
      const std::map<std::string, graph::Dim> one{{each.symbol, to}};
      if (to == graph::Dim::symbol(each.symbol) || !equal_.emplace(each.symbol, to).second)
        continue;
      for (auto& [symbol, dim] : equal_) dim = dim.substitute(one);
      const std::string what = to.is_static()
                                   ? " '" + each.symbol + "' is " + to.text()
                                   : "s '" + each.symbol + "' and '" + to.text() + "' are equal";
      equal_notes_.push_back("dimension" + what + ": " + each.node + " takes nothing else");
      any = true;
    }
    return any;
  }

  static std::map<std::string, int64_t> expected_extents(const graph::Model& model,
                                                         const ImportOptions& options) {
    std::map<std::string, int64_t> extents;
    for (const ValueId id : model.graph.inputs) {
      const graph::Value& input = model.values[size_t(id)];
      const auto given = options.expected_inputs.find(input.name);
      if (given == options.expected_inputs.end() || given->second.size() < input.dims.size())
        continue;
      const size_t skipped = given->second.size() - input.dims.size();
      for (size_t i = 0; i < input.dims.size(); i++)
        if (!input.dims[i].is_static()) extents[input.dims[i].text()] = given->second[skipped + i];
    }
    return extents;
  }

  graph::Model decide(const ImportOptions& options, const std::vector<graph::BranchGuard>& guards,
                      const std::map<std::string, int64_t>& expected,
                      const graph::Undecided& undecided) {
    std::vector<graph::DecidingBounds> all = graph::deciding_bounds(undecided.condition);
    for (const graph::DecidingBounds& each : all)
      if (auto guarded = guard(options, guards, expected, undecided, each))
        return std::move(*guarded);
    // The extents at hand come first.
    std::stable_partition(all.begin(), all.end(), [&](const graph::DecidingBounds& each) {
      const auto extent = expected.find(each.symbol);
      return extent != expected.end() && contains(each.bounds, extent->second);
    });
    std::optional<graph::ConversionError> first;
    for (const graph::DecidingBounds& each : all) {
      if (attempts_ >= kMaxAttempts) break;
      if (kills_branch(guards, each.symbol, each.bounds.low)) continue;
      ImportOptions bounded = options;
      bounded.dims[each.symbol] = each.bounds;
      try {
        graph::Model model = run(bounded, guards);
        model.notes.push_back(note(undecided, each));
        return model;
      } catch (const graph::ConversionError& error) {
        if (!first) first = error;
      }
    }
    if (first) throw *first;
    const std::string why =
        "chooses between branches of different shapes by whether " + undecided.condition.text();
    throw graph::refusal(
        name_, {{"If", "", undecided.node, "", why, "bind its dimensions with --dim NAME=VALUE"}});
  }

  /// In a branch that data decides, that branch alone gets the bounds from above: the model runs
  /// with more, and ends with an error where a run takes the branch then. Nothing where that is no
  /// way.
  std::optional<graph::Model> guard(const ImportOptions& options,
                                    std::vector<graph::BranchGuard> guards,
                                    const std::map<std::string, int64_t>& expected,
                                    const graph::Undecided& undecided,
                                    const graph::DecidingBounds& each) {
    if (!undecided.inside || each.bounds.high == 0 || attempts_ >= kMaxAttempts)
      return std::nullopt;
    const auto is_here = [&](const graph::BranchGuard& other, bool of_then) {
      return other.place.source == undecided.inside->source && other.place.of_then == of_then;
    };
    for (const graph::BranchGuard& other : guards)
      if (is_here(other, undecided.inside->of_then)) return std::nullopt;
    guards.push_back({*undecided.inside, each});
    ImportOptions bounded = options;
    graph::SymbolBounds& whole = bounded.dims[each.symbol];
    whole.low = std::max(whole.low, each.bounds.low);
    if (kills_branch(guards, each.symbol, whole.low)) return std::nullopt;
    for (const graph::BranchGuard& other : guards) {
      if (!is_here(other, !undecided.inside->of_then) || other.bounds.symbol != each.symbol)
        continue;
      // Neither branch runs beyond the larger bound, which is the model's, and needs no guard.
      const int64_t most = std::max(other.bounds.bounds.high, each.bounds.high);
      whole.high = whole.high ? std::min(whole.high, most) : most;
      std::erase_if(guards, [&](const graph::BranchGuard& any) {
        return any.place.source == undecided.inside->source && any.bounds.symbol == each.symbol &&
               any.bounds.bounds.high >= most;
      });
      break;
    }
    const auto extent = expected.find(each.symbol);
    if (extent != expected.end() && !contains(whole, extent->second)) return std::nullopt;
    try {
      graph::Model model = run(bounded, guards);
      const auto found = model.symbols.find(each.symbol);
      const graph::SymbolBounds made = found == model.symbols.end() ? whole : found->second;
      if (made.high != 0 && made.high <= each.bounds.high)
        model.notes.push_back(note(undecided, {each.symbol, made, each.holds}));
      else
        model.notes.push_back(
            "dimension '" + each.symbol + "' is converted from " + std::to_string(made.low) +
            " on; above " + each.symbol + " = " + std::to_string(each.bounds.high) +
            " a run that takes the branch with " + undecided.node + " ends with an error");
      return model;
    } catch (const graph::ConversionError&) {  // then the whole model gets these bounds, or others
      return std::nullopt;
    }
  }

  /// Whether a branch could never run: its extents end below those of the model.
  static bool kills_branch(const std::vector<graph::BranchGuard>& guards, const std::string& symbol,
                           int64_t low) {
    return std::any_of(guards.begin(), guards.end(), [&](const graph::BranchGuard& guard) {
      return guard.bounds.symbol == symbol && guard.bounds.bounds.high < low;
    });
  }

  static bool contains(const graph::SymbolBounds& bounds, int64_t extent) {
    return extent >= bounds.low && (bounds.high == 0 || extent <= bounds.high);
  }
  static std::string note(const graph::Undecided& undecided, const graph::DecidingBounds& chosen) {
    const std::string high = chosen.bounds.high ? std::to_string(chosen.bounds.high) : "";
    return "dimension '" + chosen.symbol + "' is converted for " +
           std::to_string(chosen.bounds.low) + ".." + high + ": " + undecided.node + " takes its " +
           (chosen.holds ? "then" : "else") + "-branch only there; others: --dim " + chosen.symbol +
           "=VALUE";
  }

  const Model& source_;
  const std::string& name_;
  const std::string& folder_;
  const std::set<std::string>& may_be_empty_;
  const bool may_part_;
  std::set<std::string> apart_;  // symbols whose name only is shared
  int attempts_ = 0;
  bool forces_ = true;                       // false: what is forced is the caller's
  std::map<std::string, graph::Dim> equal_;  // symbols that the nodes force
  std::vector<std::string> equal_notes_;
};

}  // namespace ingot::onnx
