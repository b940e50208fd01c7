// SPDX-License-Identifier: Apache-2.0
#include "tools/weights/overlay/overlay.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "tools/checkpoint/tensors/compare_tensors.h"
#include "tools/weights/overlay/slot.h"
#include "tools/weights/programs/read_weights.h"

namespace ingot::overlay {
namespace {

using checkpoint::ElementType;
using graph::Constant;
using graph::ValueId;

bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kF16 || type == DType::kBF16;
}

bool same_type(DType ours, ElementType theirs) {
  return (ours == DType::kF32 && theirs == ElementType::kF32) ||
         (ours == DType::kF64 && theirs == ElementType::kF64) ||
         (ours == DType::kF16 && theirs == ElementType::kF16) ||
         (ours == DType::kBF16 && theirs == ElementType::kBf16);
}

/// Names under which a checkpoint could have what the architecture reads.
std::set<std::string> wanted_names(const graph::Model& model, const graph::WeightSites& sites) {
  std::set<std::string> names;
  for (const ValueId id : sites.initializers) names.insert(model.values[size_t(id)].name);
  for (const graph::WeightReader& reader : sites.readers)
    if (!reader.module.empty())
      for (const char* leaf : {".weight", ".bias", ".running_var", ".weight_ih_l0"})
        names.insert(reader.module + leaf);
  return names;
}

class Overlay {
 public:
  Overlay(graph::Model& model, const graph::WeightSites& sites, const OverlayOptions& options)
      : model_(model), options_(options), sites_(sites), p_{model, sites_, options, {}, {}, {}, {},
                                                            {},    {},     {},      0,  {}, {}} {}

  OverlayReport run() {
    const checkpoint::Checkpoint file = weights::read_weights(options_.checkpoint);
    p_.selection = select_tensors(file, wanted_names(model_, p_.sites), options_);
    index_candidates(p_);
    for (graph::WeightReader& reader : sites_.readers)
      reader.module = called_module(p_, reader.module);
    make_slots();
    pair_names(p_);
    pair_modules(p_);
    pair_recurrent(p_);
    fold_normalizations(p_);
    pair_last_of_shape(p_);
    pair_ties(p_);
    leave_tied(p_);
    refuse_unpaired(p_);
    refuse_types();
    for (Slot& slot : p_.slots)
      if (slot.filled()) replace(slot);
    say();
    return report_of(p_);
  }

 private:
  void make_slots() {
    std::set<ValueId> listed;
    for (const ValueId id : p_.sites.initializers) {
      const graph::Value& value = model_.values[size_t(id)];
      if (!value.constant || !is_float(value.constant->dtype) || !listed.insert(id).second)
        continue;
      Slot slot;
      slot.id = id;
      slot.name = value.name;
      slot.dims = value.constant->dims;
      slot.dtype = value.constant->dtype;
      slot.zero = p_.sites.zeros.count(id) != 0;
      if (const auto copy = p_.sites.copies.find(id); copy != p_.sites.copies.end())
        slot.copy_of = copy->second;
      p_.slots.push_back(std::move(slot));
    }
    for (Slot& slot : p_.slots) p_.by_id.emplace(slot.id, &slot);
    for (const graph::WeightReader& reader : p_.sites.readers) {
      for (size_t i = 0; i < reader.operands.size(); i++)
        if (Slot* slot = p_.slot(reader.operands[i])) slot->sites.push_back({&reader, i});
    }
  }

  void refuse_types() const {
    for (const Slot& slot : p_.slots) {
      std::vector<const Candidate*> parts = slot.parts;
      if (slot.source) parts.push_back(slot.source);
      for (const Candidate* c : parts) {
        if (c->tensor->quantization)
          graph::fail_unsupported(
              options_.checkpoint,
              "'" + c->original + "' is quantized; overlay needs the weights as floats");
        const bool exact = slot.source && same_type(slot.dtype, c->tensor->type);
        if (!exact && slot.dtype != DType::kF32 && slot.dtype != DType::kF64)
          graph::fail_unsupported(options_.checkpoint,
                                  "'" + c->original + "' is " +
                                      checkpoint::element_name(c->tensor->type) +
                                      " and the architecture keeps it in a half-size type; "
                                      "export the architecture in float32");
      }
    }
  }

  std::shared_ptr<Constant> of_numbers(const Slot& slot, const std::vector<double>& numbers) {
    if (slot.dtype == DType::kF64)
      return std::make_shared<Constant>(
          graph::make_constant(slot.dtype, slot.dims, numbers.data()));
    const std::vector<float> floats(numbers.begin(), numbers.end());
    return std::make_shared<Constant>(graph::make_constant(slot.dtype, slot.dims, floats.data()));
  }

  std::shared_ptr<const Constant> constant_of(const Slot& slot) {
    if (slot.make) {
      const std::vector<double> numbers = slot.make();
      count_strange(numbers, slot);
      return of_numbers(slot, numbers);
    }
    checkpoint::Tensor view = *slot.source->tensor;
    if (slot.form == Form::kTransposed) {
      std::swap(view.dims[0], view.dims[1]);
      std::swap(view.strides[0], view.strides[1]);
    }
    const std::vector<double> numbers = checkpoint::as_numbers(view);
    count_strange(numbers, slot);
    if (!same_type(slot.dtype, view.type)) {
      converted_[checkpoint::element_name(view.type)]++;
      return of_numbers(slot, numbers);
    }
    const std::vector<uint8_t> bytes = checkpoint::tensor_bytes(view);
    return std::make_shared<Constant>(graph::make_constant(slot.dtype, slot.dims, bytes.data()));
  }

  /// A tensor that goes to several places is one constant.
  void replace(const Slot& slot) {
    std::shared_ptr<const Constant>& place = model_.values[size_t(slot.id)].constant;
    if (slot.make) {
      place = constant_of(slot);
      return;
    }
    auto& known = made_[std::make_tuple(slot.source, slot.form, slot.dtype, slot.dims)];
    if (!known) known = constant_of(slot);
    place = known;
  }

  void count_strange(const std::vector<double>& numbers, const Slot& slot) {
    const size_t strange = strange_values(numbers);
    if (!strange) return;
    strange_values_ += strange;
    if (++strange_tensors_ > 8) return;
    model_.notes.push_back("weights: '" + (slot.source ? slot.source->original : slot.name) +
                           "' holds " + std::to_string(strange) +
                           (strange == 1 ? " value" : " values") + " that " +
                           (strange == 1 ? "is" : "are") + " NaN or infinite");
  }

  void say() {
    size_t named = 0, found = 0, kept = 0, unused = 0;
    std::string examples, own;
    for (const Slot& slot : p_.slots) {
      const Slot* original = p_.slot(slot.copy_of);
      // one weight, read again
      if (original && slot.source && slot.source == original->source) continue;
      if (slot.source && slot.source->name == slot.name) {
        named++;
      } else if (slot.source) {
        if (found++ < 3)
          examples += (examples.empty() ? "" : ", ") + slot.source->original + " for " + slot.name +
                      (slot.form == Form::kTransposed ? " transposed" : "");
      } else if (!slot.make && !slot.zero) {
        if (kept++ < 3) own += (own.empty() ? "'" : ", '") + slot.name + "'";
      }
    }
    for (const Candidate& c : p_.selection.candidates) unused += p_.is_free(c);
    std::string text = "weights: " + std::to_string(named) + " by name";
    if (!p_.selection.key.empty()) text += " below '" + p_.selection.key + "'";
    if (!p_.selection.prefix.empty()) text += " without '" + p_.selection.prefix + "'";
    if (found)
      text += ", " + std::to_string(found) + " by module and shape (" + examples +
              (found > 3 ? ", ...)" : ")");
    if (kept)
      text += ", " + std::to_string(kept) + (kept == 1 ? " constant" : " constants") +
              " kept from the architecture (" + own + (kept > 3 ? ", ...)" : ")");
    model_.notes.push_back(text);
    for (const std::string& sentence : p_.said) model_.notes.push_back("weights: " + sentence);
    for (const auto& [type, count] : converted_)
      model_.notes.push_back("weights: " + std::to_string(count) +
                             (count == 1 ? " tensor of " : " tensors of ") + type +
                             (count == 1 ? " is " : " are ") +
                             (type == "float64" ? "rounded to float32" : "widened, exactly"));
    if (strange_tensors_ > 8)
      model_.notes.push_back("weights: in all " + std::to_string(strange_values_) + " values in " +
                             std::to_string(strange_tensors_) + " tensors are NaN or infinite");
    if (unused)
      model_.notes.push_back("weights: " + std::to_string(unused) +
                             (unused == 1 ? " tensor" : " tensors") +
                             " of the checkpoint not used, as allowed");
    if (p_.selection.outside)
      model_.notes.push_back("weights: " + std::to_string(p_.selection.outside) +
                             " beside those that begin with '" + p_.selection.prefix +
                             "' not used");
    for (const std::string& key : p_.selection.other_keys)
      model_.notes.push_back("weights: '" + key + "' fits as well; choose it with --key " +
                             (key.empty() ? "''" : key));
  }

  graph::Model& model_;
  const OverlayOptions& options_;
  graph::WeightSites sites_;
  Pairing p_;
  std::map<std::tuple<const Candidate*, Form, DType, std::vector<int64_t>>,
           std::shared_ptr<const Constant>>
      made_;
  std::map<std::string, size_t> converted_;
  size_t strange_tensors_ = 0, strange_values_ = 0;
};

}  // namespace

void add_rename(OverlayOptions& options, const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0)
    graph::fail_usage("--map-key " + argument + ": expected OLD=NEW, each with at most one *");
  const std::string from = argument.substr(0, equals), to = argument.substr(equals + 1);
  const auto stars = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '*');
  };
  if (stars(from) > 1 || stars(to) > stars(from))
    graph::fail_usage("--map-key " + argument +
                      ": expected at most one * on each side, and none on the right alone");
  options.renames.emplace_back(from, to);
}

void add_allowed(std::vector<std::string>& patterns, const std::string& flag,
                 const std::string& argument) {
  if (argument.empty() || std::count(argument.begin(), argument.end(), '*') > 1)
    graph::fail_usage(flag + " " + argument + ": expected a name with at most one *");
  patterns.push_back(argument);
}

void set_batch_norm_epsilon(OverlayOptions& options, const std::string& argument) {
  char* end = nullptr;
  const double value = std::strtod(argument.c_str(), &end);
  if (argument.empty() || *end || !std::isfinite(value) || value < 0)
    graph::fail_usage("--bn-eps " + argument + ": expected a number such as 1e-5");
  options.batch_norm_epsilon = value;
}

size_t strange_values(const std::vector<double>& numbers) {
  return size_t(
      std::count_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); }));
}

void index_candidates(Pairing& p) {
  for (const Candidate& c : p.selection.candidates) {
    const auto [found, added] = p.by_name.emplace(c.name, &c);
    if (!added)
      graph::fail_mismatch(p.options.checkpoint,
                           "'" + found->second->original + "' and '" + c.original +
                               "' are both called '" + c.name +
                               "' once prefix and names are mapped; choose with "
                               "--strip-prefix, --key or --map-key");
  }
}

OverlayReport report_of(const Pairing& p) {
  OverlayReport report;
  report.key = p.selection.key;
  for (const Candidate& c : p.selection.candidates) {
    report.candidates.push_back(c.original);
    if (p.used.count(&c)) report.used.push_back(c.original);
  }
  for (const std::string& counter : p.selection.counters) {
    report.candidates.push_back(counter);
    report.used.push_back(counter);
  }
  return report;
}

OverlayReport overlay_weights(graph::Model& model, const graph::WeightSites& sites,
                              const OverlayOptions& options) {
  return Overlay(model, sites, options).run();
}

}  // namespace ingot::overlay
