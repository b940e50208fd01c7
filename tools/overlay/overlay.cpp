#include "tools/overlay/overlay.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tools/checkpoint/compare_tensors.h"
#include "tools/files/suggest.h"
#include "tools/overlay/names.h"
#include "tools/weights/read_weights.h"

namespace ingot::overlay {
namespace {

using checkpoint::ElementType;
using graph::Constant;
using graph::ValueId;

bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kF16 || type == DType::kBF16;
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); i++) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

struct Slot {
  ValueId id;
  std::string name;
  std::vector<int64_t> dims;
  DType dtype;
  const Candidate* source = nullptr;
  bool transposed = false;
  bool must = true;  // a weight; a small nameless number may stay the architecture's own
};

class Overlay {
 public:
  Overlay(graph::Model& model, const OverlayOptions& options) : model_(model), options_(options) {}

  OverlayReport run(const std::vector<ValueId>& initialisers) {
    const checkpoint::Checkpoint file = weights::read_weights(options_.checkpoint);
    std::set<std::string> names;
    for (const ValueId id : initialisers) {
      const graph::Value& value = model_.values[size_t(id)];
      if (!value.constant || !is_float(value.constant->dtype)) continue;
      slots_.push_back({id, value.name, value.constant->dims, value.constant->dtype});
      slots_.back().must = value.constant->elements() > 4;
      names.insert(value.name);
    }
    selection_ = select_tensors(file, names, options_);
    match_names();
    refuse_mismatches();
    match_shapes();
    refuse_missing();
    for (Slot& slot : slots_)
      if (slot.source) replace(slot);
    say();
    OverlayReport report;
    report.key = selection_.key;
    for (const Candidate& c : selection_.candidates) {
      report.candidates.push_back(c.original);
      if (used_.count(&c)) report.used.push_back(c.original);
    }
    return report;
  }

 private:
  void match_names() {
    std::map<std::string, const Candidate*> by_name;
    for (const Candidate& c : selection_.candidates) by_name.emplace(c.name, &c);
    for (Slot& slot : slots_) {
      const auto found = by_name.find(slot.name);
      if (found == by_name.end()) continue;
      slot.source = found->second;
      used_.insert(found->second);
      named_++;
    }
  }

  void refuse_mismatches() {
    std::string list;
    size_t count = 0;
    for (const Slot& slot : slots_) {
      if (!slot.source || slot.source->tensor->dims == slot.dims) continue;
      if (count++ < 5)
        list += (list.empty() ? "" : "; ") + slot.name + " is " + dims_text(slot.dims) + ", the checkpoint has " +
                dims_text(slot.source->tensor->dims);
    }
    if (count)
      graph::throw_cast_error(5, options_.checkpoint + ": " + std::to_string(count) +
                                     (count == 1 ? " tensor has" : " tensors have") +
                                     " another shape than the architecture: " + list + (count > 5 ? "; ..." : "") +
                                     "; it belongs to another variant of the network");
  }

  static bool is_product_weight(const Slot& slot) {
    return slot.dims.size() == 2 &&
           (slot.name.find("MatMul") != std::string::npos || slot.name.find("Gemm") != std::string::npos);
  }
  static std::vector<int64_t> flipped(const std::vector<int64_t>& dims) { return {dims.rbegin(), dims.rend()}; }

  /// What the exporter renamed: the k-th left over of a shape is the k-th left over of that shape, if there are as many.
  void match_shapes() {
    refuse_folded();
    std::map<std::vector<int64_t>, std::vector<Slot*>> open;
    std::map<std::vector<int64_t>, std::vector<const Candidate*>> left;
    for (Slot& slot : slots_)
      if (!slot.source && slot.must) open[is_product_weight(slot) ? flipped(slot.dims) : slot.dims].push_back(&slot);
    for (const Candidate& c : selection_.candidates)
      if (!used_.count(&c) && checkpoint::is_floating(c.tensor->type)) left[c.tensor->dims].push_back(&c);
    for (auto& [dims, slots] : open) {
      const auto found = left.find(dims);
      if (found == left.end() || found->second.size() != slots.size()) continue;
      if (slots.size() > 1 && named_ == 0) {  // nothing tells that both files keep one order
        guessed_ += slots.size();
        continue;
      }
      for (size_t i = 0; i < slots.size(); i++) {
        slots[i]->source = found->second[i];
        slots[i]->transposed = is_product_weight(*slots[i]);
        used_.insert(found->second[i]);
        ordered_.push_back(slots[i]);
      }
    }
  }

  /// Exporters fold a batch normalisation into the convolution before it, and its epsilon is in neither file.
  void refuse_folded() const {
    size_t folded = 0;
    for (const Slot& slot : slots_)
      folded += !slot.source && slot.dims.size() >= 3 && slot.name.find("Conv") != std::string::npos;
    bool statistics = false;
    for (const Candidate& c : selection_.candidates) {
      const std::string end = ".running_var";
      statistics |= !used_.count(&c) && c.name.size() > end.size() &&
                    c.name.compare(c.name.size() - end.size(), end.size(), end) == 0;
    }
    if (folded && statistics)
      graph::throw_cast_error(4, options_.checkpoint + ": the architecture has batch normalisations folded into " +
                                     std::to_string(folded) +
                                     " convolutions, and the checkpoint has them apart; export the architecture with "
                                     "training=TrainingMode.PRESERVE and "
                                     "do_constant_folding=False, so that the weights keep their names");
  }

  void refuse_missing() const {
    std::vector<std::string> names;
    for (const Candidate& c : selection_.candidates)
      if (!used_.count(&c)) names.push_back(c.name);
    std::string list;
    size_t missing = 0;
    for (const Slot& slot : slots_) {
      if (slot.source || !slot.must) continue;
      if (missing++ >= 5) continue;
      const std::string near = host::nearest(slot.name, names);
      list += (list.empty() ? "'" : ", '") + slot.name + "' " + dims_text(slot.dims) +
              (near.empty() ? "" : " (nearest: '" + near + "')");
    }
    if (!missing) return;
    std::string text = options_.checkpoint + ": " + std::to_string(missing) + " of " + std::to_string(slots_.size()) +
                       " weights of the architecture are not in it: " + list + (missing > 5 ? ", ..." : "");
    if (guessed_)
      text += "; " + std::to_string(guessed_) +
              " share a shape with others, and without one common name their order would be a guess";
    if (!names.empty())
      text += "; it has " + std::to_string(names.size()) + " that the architecture lacks, '" + names[0] + "' first";
    graph::throw_cast_error(5, text + "; say how names differ with --strip-prefix, --key or --map-key 'OLD.*=NEW.*'");
  }

  void replace(Slot& slot) {
    const checkpoint::Tensor& tensor = *slot.source->tensor;
    checkpoint::Tensor view = tensor;
    if (slot.transposed) {
      std::swap(view.dims[0], view.dims[1]);
      std::swap(view.strides[0], view.strides[1]);
    }
    if (tensor.quantization)
      graph::throw_cast_error(4, options_.checkpoint + ": '" + slot.source->original +
                                     "' is quantised; overlay needs the weights as floats");
    const bool as_is = (slot.dtype == DType::kF32 && view.type == ElementType::kF32) ||
                       (slot.dtype == DType::kF64 && view.type == ElementType::kF64) ||
                       (slot.dtype == DType::kF16 && view.type == ElementType::kF16) ||
                       (slot.dtype == DType::kBF16 && view.type == ElementType::kBf16);
    if (as_is) {
      const std::vector<uint8_t> bytes = checkpoint::tensor_bytes(view);
      count_strange(checkpoint::as_numbers(view), slot);
      model_.values[size_t(slot.id)].constant =
          std::make_shared<Constant>(graph::make_constant(slot.dtype, slot.dims, bytes.data()));
      return;
    }
    if (slot.dtype != DType::kF32 && slot.dtype != DType::kF64)
      graph::throw_cast_error(
          4, options_.checkpoint + ": '" + slot.source->original + "' is " + checkpoint::element_name(view.type) +
                 " and the architecture keeps it in a half-size type; export the architecture in float32");
    converted_[checkpoint::element_name(view.type)]++;
    const std::vector<double> numbers = checkpoint::as_numbers(view);
    count_strange(numbers, slot);
    if (slot.dtype == DType::kF64) {
      model_.values[size_t(slot.id)].constant =
          std::make_shared<Constant>(graph::make_constant(slot.dtype, slot.dims, numbers.data()));
      return;
    }
    const std::vector<float> floats(numbers.begin(), numbers.end());
    model_.values[size_t(slot.id)].constant =
        std::make_shared<Constant>(graph::make_constant(slot.dtype, slot.dims, floats.data()));
  }

  void count_strange(const std::vector<double>& numbers, const Slot& slot) {
    const size_t strange =
        size_t(std::count_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); }));
    if (strange)
      model_.notes.push_back("weights: '" + slot.name + "' holds " + std::to_string(strange) +
                             " values that are NaN or infinite");
  }

  void say() {
    std::string text = "weights: " + std::to_string(named_) + " by name";
    if (!selection_.key.empty()) text += " below '" + selection_.key + "'";
    if (!selection_.prefix.empty()) text += " without '" + selection_.prefix + "'";
    if (!ordered_.empty()) {
      text += ", " + std::to_string(ordered_.size()) + " by shape and order (";
      for (size_t i = 0; i < ordered_.size() && i < 3; i++)
        text += (i ? ", " : "") + ordered_[i]->source->original + " for " + ordered_[i]->name +
                (ordered_[i]->transposed ? " transposed" : "");
      text += ordered_.size() > 3 ? ", ...)" : ")";
    }
    size_t kept = 0, unused = 0;
    for (const Slot& slot : slots_) kept += !slot.source;
    for (const Candidate& c : selection_.candidates)
      unused += !used_.count(&c) && checkpoint::is_floating(c.tensor->type);
    if (kept) text += ", " + std::to_string(kept) + " small constants kept from the architecture";
    model_.notes.push_back(text);
    for (const auto& [type, count] : converted_)
      model_.notes.push_back("weights: " + std::to_string(count) + " tensors of " + type + " are widened, exactly");
    if (unused)
      model_.notes.push_back("weights: " + std::to_string(unused) + " tensors of the checkpoint are not used");
    for (const std::string& key : selection_.other_keys)
      model_.notes.push_back("weights: '" + key + "' fits as well; choose it with --key " + (key.empty() ? "''" : key));
  }

  graph::Model& model_;
  const OverlayOptions& options_;
  Selection selection_;
  std::vector<Slot> slots_;
  std::set<const Candidate*> used_;
  std::vector<const Slot*> ordered_;
  std::map<std::string, size_t> converted_;
  size_t named_ = 0, guessed_ = 0;
};

}  // namespace

void add_rename(OverlayOptions& options, const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0)
    graph::throw_cast_error(1, "--map-key " + argument + ": expected OLD=NEW, each with at most one *");
  const std::string from = argument.substr(0, equals), to = argument.substr(equals + 1);
  const auto stars = [](const std::string& text) { return std::count(text.begin(), text.end(), '*'); };
  if (stars(from) > 1 || stars(to) > stars(from))
    graph::throw_cast_error(
        1, "--map-key " + argument + ": expected at most one * on each side, and none on the right alone");
  options.renames.emplace_back(from, to);
}

OverlayReport overlay_weights(graph::Model& model, const std::vector<graph::ValueId>& initialisers,
                              const OverlayOptions& options) {
  return Overlay(model, options).run(initialisers);
}

}  // namespace ingot::overlay
