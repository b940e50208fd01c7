// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/refuse.cpp - what has no partner, all of it at once, with the flag that
// would give it one.
#include <algorithm>

#include "tools/files/suggest.h"
#include "tools/weights/overlay/slot.h"

namespace ingot::overlay {
namespace {

constexpr size_t kMaxRows = 24;  // of each kind

std::string counted(size_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// --map-key for two names that differ, with a pattern where only what stands before or behind
/// differs.
std::string rename_flag(const std::string& from, const std::string& to) {
  size_t tail = 0;
  while (tail < from.size() && tail < to.size() &&
         from[from.size() - 1 - tail] == to[to.size() - 1 - tail])
    tail++;
  while (tail > 0 && from[from.size() - tail] != '.') tail--;  // whole parts of a name
  const std::string a = from.substr(0, from.size() - tail), b = to.substr(0, to.size() - tail);
  const bool pattern = tail > 1 && !a.empty() && !b.empty();
  return "--map-key '" + (pattern ? a + ".*=" + b + ".*" : from + "=" + to) + "'";
}

std::string allow_pattern(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? name : name.substr(0, dot) + ".*";
}

class Table {
 public:
  explicit Table(std::vector<graph::Unsupported>* rows) : rows_(rows) {}
  void add(const std::string& kind, const std::string& name, std::string why, std::string hint) {
    if (++counts_[kind] > kMaxRows) return;
    graph::Unsupported row;
    row.op = kind + " '" + name + "'";
    row.why = std::move(why);
    row.hint = std::move(hint);
    rows_->push_back(std::move(row));
  }
  size_t count(const std::string& kind) { return counts_[kind]; }
  void close() {
    for (const auto& [kind, count] : counts_)
      if (count > kMaxRows) {
        graph::Unsupported row;
        row.op = kind;
        row.why = "and " + std::to_string(count - kMaxRows) + " more";
        rows_->push_back(std::move(row));
      }
  }

 private:
  std::vector<graph::Unsupported>* rows_;
  std::map<std::string, size_t> counts_;
};

/// Its constants were learned.
bool is_layer(graph::Operator op) {
  const graph::OperatorClass kind = class_of(op);
  return kind == graph::OperatorClass::kProduct || kind == graph::OperatorClass::kWindow ||
         kind == graph::OperatorClass::kNormalization || kind == graph::OperatorClass::kRecurrent ||
         op == op::PRelu;
}

/// What stands in the architecture's names for it: a tensor's nearest free name of the same shape,
/// else of any.
std::string nearest_free(const Pairing& p, const Slot& slot,
                         const std::vector<std::string>& free_names) {
  std::vector<std::string> fitting;
  for (const Candidate& c : p.selection.candidates)
    if (p.is_free(c) && c.tensor->dims == slot.dims) fitting.push_back(c.name);
  if (fitting.size() == 1) return fitting[0];
  const std::string near = host::nearest(slot.name, fitting);
  return near.empty() ? host::nearest(slot.name, free_names) : near;
}

}  // namespace

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); i++) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

bool is_needed(const Slot& slot) {
  int64_t elements = 1;
  for (const int64_t d : slot.dims) elements *= d;
  const bool of_exporter =
      slot.name.find("::") != std::string::npos || slot.name.compare(0, 1, "/") == 0;
  if (slot.zero) return false;
  if (!of_exporter && slot.name.find('.') != std::string::npos) return true;
  if (slot.sites.empty()) return elements > 4;
  for (const Site& site : slot.sites) {
    const graph::Operator op = site.reader->op;
    if (is_layer(op) && site.operand <= 4 && elements > (op == op::MatMul ? 4 : 0)) return true;
    if (op == op::Gather && site.operand == 0 && slot.dims.size() == 2 && elements > 4) return true;
  }
  return false;
}

void refuse_unpaired(const Pairing& p) {
  graph::ConversionError error;
  Table table(&error.unsupported);
  std::vector<std::string> free_names, open_names;  // what could be meant by each other
  std::map<std::vector<int64_t>, size_t> open_shapes;
  for (const Candidate& c : p.selection.candidates)
    if (p.is_free(c)) free_names.push_back(c.name);
  for (const Slot& slot : p.slots)
    if (!slot.filled() && is_needed(slot)) {
      if (!p.mismatched.count(slot.name)) open_names.push_back(slot.name);
      open_shapes[slot.dims]++;
    }
  const bool nothing_named =
      std::none_of(p.slots.begin(), p.slots.end(), [](const Slot& s) { return s.by_name; });
  for (const Slot& slot : p.slots) {
    if (slot.filled() || slot.zero || p.fold_slots.count(&slot)) continue;
    if (matches_any(p.options.allow_missing, slot.name)) continue;
    // is stated of that one
    if (const Slot* original = p.slot(slot.copy_of); original && !original->filled()) continue;
    const auto wrong = p.mismatched.find(slot.name);
    if (wrong == p.mismatched.end() && p.options.partial) continue;
    if (wrong == p.mismatched.end() && !is_needed(slot)) {
      const std::string why = why_not_kept(p, slot);
      if (!why.empty())
        table.add("kept", slot.name, dims_text(slot.dims) + " " + why,
                  "export without folding (torch.export, or torch.onnx.export with dynamo=False, "
                  "do_constant_folding=False); if no training "
                  "changes it, keep it: --allow-missing '" +
                      slot.name + "'");
      continue;
    }
    if (wrong != p.mismatched.end()) {
      table.add(
          "mismatched", slot.name, dims_text(slot.dims) + " in the architecture, " + wrong->second,
          "another variant of the network, or keep the architecture's own: --allow-missing '" +
              slot.name + "'");
      continue;
    }
    const std::string near = nearest_free(p, slot, free_names);
    const Candidate* c = p.named(near);
    std::string why = dims_text(slot.dims) + " is not in the checkpoint";
    if (open_shapes[slot.dims] > 1 && !slot.by_name)
      why += " by that name, and others share its shape";
    table.add("missing", slot.name, why,
              c ? "nearest is '" + near + "' " + dims_text(c->tensor->dims) + ": " +
                      rename_flag(near, slot.name)
              : nothing_named ? std::string()
                              : "keep the architecture's own: --allow-missing '" + slot.name + "'");
  }
  for (const Candidate& c : p.selection.candidates) {
    if (!p.is_free(c) || p.mismatched.count(c.name) || p.options.partial ||
        matches_any(p.options.allow_unused, c.name))
      continue;
    if (p.folds_without_epsilon && p.fold_parts.count(&c)) continue;
    const std::string near = host::nearest(c.name, open_names);
    table.add("unexpected", c.name, dims_text(c.tensor->dims) + " has no place in the architecture",
              (near.empty() ? "" : "nearest is '" + near + "'; ") +
                  "leave it out: --allow-unused '" + allow_pattern(c.name) + "'");
  }
  const size_t missing = table.count("missing"), unexpected = table.count("unexpected"),
               mismatched = table.count("mismatched"), kept = table.count("kept");
  const bool found_none =
      std::none_of(p.slots.begin(), p.slots.end(), [](const Slot& s) { return s.filled(); });
  if (p.options.partial && mismatched == 0 && found_none && !p.slots.empty())
    graph::fail_mismatch(p.options.checkpoint,
                         "not one of its tensors has a place in the architecture, so "
                         "--partial would convert the architecture as it is; map "
                         "the names with --strip-prefix, --key or --map-key");
  if (missing + unexpected + mismatched + kept > 0) {
    table.close();
    error.exit_code = host::Exit::kMismatch;
    std::string counts;
    const auto count = [&](size_t n, const char* word) {
      if (n) counts += (counts.empty() ? "" : ", ") + std::to_string(n) + " " + word;
    };
    count(missing, "missing");
    count(unexpected, "unexpected");
    count(kept, "of the architecture's own that may be folded weights");
    count(mismatched, mismatched == 1 ? "with another shape" : "with other shapes");
    error.message =
        p.options.checkpoint + ": its tensors are not those of the architecture: " + counts;
    if (!p.selection.key.empty()) error.message += ", below --key '" + p.selection.key + "'";
    if (!p.selection.prefix.empty())
      error.message += ", without --strip-prefix '" + p.selection.prefix + "'";
    if (nothing_named && !p.selection.candidates.empty())
      error.message +=
          "; not one name is the same, its first is '" + p.selection.candidates[0].original + "'";
    if (nothing_named && !p.selection.keys.empty())
      error.message += "; keys that hold tensors: " + key_list(p.selection.keys);
    if (mismatched && p.options.checkpoint.find(".index.json") != std::string::npos)
      error.message += "; its shards may be those of different models";
    error.message += "; map the names with --strip-prefix, --key or --map-key 'OLD.*=NEW.*'";
    if (!mismatched) error.message += ", or leave all of it as it is: --partial";
    throw error;
  }
  if (p.folds_without_epsilon)
    graph::fail_unsupported(
        p.options.checkpoint,
        "the architecture has " +
            counted(p.folds_without_epsilon, "batch normalization", "batch normalizations") +
            " folded into the layers before, and the checkpoint has them apart; their epsilon "
            "is in neither file: give it with "
            "--bn-eps (the eps of the network's BatchNorm: torch's default is 1e-5; "
            "MobileNetV3, Inception and much that comes from TensorFlow have 1e-3), "
            "or export the architecture unfolded (training=TrainingMode.PRESERVE, "
            "do_constant_folding=False; or optimize=False)");
}

}  // namespace ingot::overlay
