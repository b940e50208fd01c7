// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/slot.h - a place of the architecture that gets a weight, and what was found
// for it.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/compare_tensors.h"
#include "tools/weights/overlay/names.h"

namespace ingot::overlay {

/// How a tensor of the checkpoint becomes the constant.
// kReshaped: the same elements, with or without dimensions of 1
enum class Form { kAsIs, kTransposed, kReshaped };

struct Site {
  const graph::WeightReader* reader = nullptr;
  size_t operand = 0;
};

struct Slot {
  graph::ValueId id = graph::kAbsent;
  std::string name;
  std::vector<int64_t> dims;
  DType dtype = DType::kF32;
  graph::ValueId copy_of = graph::kAbsent;  // the architecture has one initializer for both
  bool zero = false;                        // a bias that the architecture does not have
  std::vector<Site> sites;

  const Candidate* source = nullptr;
  Form form = Form::kAsIs;
  bool by_name = false;
  std::vector<const Candidate*> parts;        // instead of a source: what it is computed from
  std::function<std::vector<double>()> make;  // row-major
  bool filled() const { return source || make; }
};

/// Both sides, and what was found so far.
struct Pairing {
  const graph::Model& model;
  const graph::WeightSites& sites;
  const OverlayOptions& options;
  Selection selection;
  std::vector<Slot> slots;
  std::map<graph::ValueId, Slot*> by_id;
  std::map<std::string, const Candidate*> by_name;
  std::set<const Candidate*> used;
  std::vector<std::string> said;                  // sentences for the report
  std::map<std::string, std::string> mismatched;  // slot -> why the tensor of its name does not fit
  size_t folds_without_epsilon = 0;
  std::set<const Candidate*> fold_parts;  // of those, and the places that they would fill
  std::set<const Slot*> fold_slots;

  const Candidate* named(const std::string& name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  }
  Slot* slot(graph::ValueId id) const {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : found->second;
  }
  void give(Slot& slot, const Candidate* source, Form form) {
    slot.source = source;
    slot.form = form;
    used.insert(source);
  }
  bool is_free(const Candidate& c) const {
    return !used.count(&c) && checkpoint::is_floating(c.tensor->type);
  }
};

/// Fills by_name. @throws ConversionError(kMismatch) where two tensors have one name.
void index_candidates(Pairing& pairing);
/// How many are NaN or infinite.
size_t strange_values(const std::vector<double>& numbers);

/// By name, by the module that reads it, by shape where only one is left.
void pair_names(Pairing& pairing);
void pair_modules(Pairing& pairing);
void pair_last_of_shape(Pairing& pairing);
/// LSTM, GRU and RNN of torch: gates in another order, both biases in one.
void pair_recurrent(Pairing& pairing);
/// Batch normalizations that the architecture has no more, because they were multiplied into the
/// weights before them.
void fold_normalizations(Pairing& pairing);
/// Weights that the architecture has twice, bit by bit, and the checkpoint once.
void pair_ties(Pairing& pairing);

/// Tensors that are one that has its place, bit by bit, under another name.
void leave_tied(Pairing& pairing);

/// Without the numbers that TorchScript's exporter gives to a module that is called again
/// ("norm_1"), where the checkpoint has no such module.
std::string called_module(const Pairing& pairing, const std::string& module);
/// The module that a tensor belongs to: "a.b" of "a.b.weight".
std::string module_of(const std::string& name);
std::string dims_text(const std::vector<int64_t>& dims);
bool is_product(const Site& site);

/// What was meant and what was used, by the checkpoint's own names.
OverlayReport report_of(const Pairing& pairing);
/// Everything that does not fit, in one error. Returns when all is well.
void refuse_unpaired(const Pairing& pairing);
/// Why a constant that got no tensor may not stay as the architecture has it; "" when it may: what
/// a program states (masks, positions, short decimals, one number in every place) or makes by a
/// formula is no weight.
std::string why_not_kept(const Pairing& pairing, const Slot& slot);
/// Whether a run without it would be a run with a weight of the architecture's own.
bool is_needed(const Slot& slot);

}  // namespace ingot::overlay
