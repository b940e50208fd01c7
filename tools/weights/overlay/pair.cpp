// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/pair.cpp - which tensor of the checkpoint belongs where: by name, by the
// module that reads it, by shape.
#include <algorithm>
#include <cstring>
#include <optional>

#include "tools/weights/overlay/slot.h"

namespace ingot::overlay {
namespace {

std::vector<int64_t> without_ones(const std::vector<int64_t>& dims) {
  std::vector<int64_t> out;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(out), [](int64_t d) { return d != 1; });
  return out;
}

bool is_product_op(graph::Operator op) { return op == op::MatMul || op == op::Gemm; }

/// Read by a recurrent operator, which has its gates in another order than torch: never the same
/// elements in another shape.
bool is_of_gates(const Slot& slot) {
  return std::any_of(slot.sites.begin(), slot.sites.end(), [](const Site& site) {
    return site.operand > 0 && graph::kRecurrences.has(site.reader->op);
  });
}

/// How a tensor fits a place whose name is the exporter's: what a product reads there was
/// transposed when it was folded.
std::optional<Form> fit(const Slot& slot, const Candidate& c) {
  const std::vector<int64_t>& dims = c.tensor->dims;
  for (const Site& site : slot.sites) {
    if (!is_product(site) || slot.dims.size() != 2) continue;
    if (site.reader->flipped) break;
    if (dims.size() == 2 && dims[0] == slot.dims[1] && dims[1] == slot.dims[0])
      return Form::kTransposed;
    return std::nullopt;
  }
  if (dims == slot.dims) return Form::kAsIs;
  if (without_ones(dims) == without_ones(slot.dims) && !is_of_gates(slot)) return Form::kReshaped;
  return std::nullopt;
}

/// What the module calls the operand; "" where the operator does not tell.
std::string leaf_of(const Site& site) {
  static const std::map<graph::Operator, std::vector<const char*>> kLeaves = {
      {op::Conv, {"", "weight", "bias"}},
      {op::ConvTranspose, {"", "weight", "bias"}},
      {op::Gemm, {"", "weight", "bias"}},
      {op::MatMul, {"", "weight"}},
      {op::PRelu, {"", "weight"}},
      {op::Gather, {"weight"}},
      {op::LayerNormalization, {"", "weight", "bias"}},
      {op::InstanceNormalization, {"", "weight", "bias"}},
      {op::GroupNormalization, {"", "weight", "bias"}},
      {op::BatchNormalization, {"", "weight", "bias", "running_mean", "running_var"}},
  };
  const auto found = kLeaves.find(site.reader->op);
  return found == kLeaves.end() || site.operand >= found->second.size()
             ? ""
             : found->second[site.operand];
}

const Candidate* in_module(const Pairing& p, const Slot& slot, const Site& site, Form* form) {
  const std::string& module = site.reader->module;
  if (const std::string leaf = leaf_of(site); !leaf.empty()) {
    const Candidate* c = p.named((module.empty() ? "" : module + ".") + leaf);
    const std::optional<Form> fits = c ? fit(slot, *c) : std::nullopt;
    if (fits && checkpoint::is_floating(c->tensor->type)) {
      *form = *fits;
      return c;
    }
  }
  if (module.empty()) return nullptr;  // all modules: a shape alone would tell
  std::vector<std::pair<const Candidate*, Form>> own, below;
  for (const Candidate& c : p.selection.candidates) {
    if (!p.is_free(c) || c.name.compare(0, module.size() + 1, module + ".") != 0) continue;
    const std::optional<Form> fits = fit(slot, c);
    if (!fits) continue;
    (c.name.find('.', module.size() + 1) == std::string::npos ? own : below).push_back({&c, *fits});
  }
  const auto& found = own.empty() ? below : own;
  if (found.size() != 1) return nullptr;
  *form = found[0].second;
  return found[0].first;
}

/// "P.bias" for what is added to a product with "P.weight", and the other way round.
void pair_partners(Pairing& p) {
  const auto give_weight = [&](graph::ValueId weight, graph::ValueId bias) {
    Slot* to = p.slot(weight);
    const Slot* from = p.slot(bias);
    if (!to || !from || !from->source || to->filled() || !from->by_name ||
        p.mismatched.count(to->name))
      return;
    const std::string module = module_of(from->source->name);
    const Candidate* c =
        from->source->name == module + ".bias" ? p.named(module + ".weight") : nullptr;
    if (!c || !p.is_free(*c)) return;
    if (const std::optional<Form> fits = fit(*to, *c)) p.give(*to, c, *fits);
  };
  const auto give_bias = [&](graph::ValueId weight, graph::ValueId bias, bool even_named) {
    Slot* to = p.slot(bias);
    const Slot* from = p.slot(weight);
    if (!to || !from || !from->source || (to->filled() && !even_named)) return;
    const Candidate* c = p.named(module_of(from->source->name) + ".bias");
    if (!c || c == to->source || !checkpoint::is_floating(c->tensor->type)) return;
    if (const std::optional<Form> fits = fit(*to, *c)) p.give(*to, c, *fits);
  };
  for (const graph::WeightReader& reader : p.sites.readers) {
    if (reader.operands.size() > 1)
      give_weight(reader.operands[1], reader.op == op::MatMul      ? reader.added
                                      : reader.operands.size() > 2 ? reader.operands[2]
                                                                   : graph::kAbsent);
    if (reader.op == op::MatMul && reader.operands.size() > 1 && reader.added != graph::kAbsent) {
      const Slot* to = p.slot(reader.added);
      give_bias(reader.operands[1], reader.added, to && to->copy_of != graph::kAbsent);
    }
    if (reader.operands.size() > 2 &&
        (is_product_op(reader.op) || reader.op == op::Conv || reader.op == op::ConvTranspose))
      give_bias(reader.operands[1], reader.operands[2], false);
  }
}

}  // namespace

std::string module_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

bool is_product(const Site& site) { return is_product_op(site.reader->op) && site.operand == 1; }

/// An initializer that several nodes read, or one of its copies, has a name that need not be its
/// own: left for pair_modules().
void pair_names(Pairing& p) {
  std::set<graph::ValueId> merged;
  for (const auto& [copy, first] : p.sites.copies) merged.insert({copy, first});
  size_t straight = 0, flipped = 0;
  std::vector<std::pair<Slot*, const Candidate*>> squares;
  for (Slot& slot : p.slots) {
    const Candidate* c = p.named(slot.name);
    if (!c || slot.zero) continue;
    if (c->tensor->quantization) {
      p.mismatched[slot.name] =
          "the checkpoint has it quantized; overlay needs the weights as floats";
      continue;
    }
    if (!checkpoint::is_floating(c->tensor->type)) {
      p.mismatched[slot.name] =
          std::string("the checkpoint has it as ") + checkpoint::element_name(c->tensor->type);
      continue;
    }
    const std::vector<int64_t>& dims = c->tensor->dims;
    const bool read_elsewhere =
        std::any_of(slot.sites.begin(), slot.sites.end(), [&](const Site& site) {
          const std::string leaf = leaf_of(site);
          return merged.count(slot.id) && !leaf.empty() && !site.reader->module.empty() &&
                 site.reader->module + "." + leaf != slot.name &&
                 p.named(site.reader->module + "." + leaf);
        });
    if (read_elsewhere) continue;
    const bool product = slot.dims.size() == 2 && !slot.sites.empty() &&
                         std::all_of(slot.sites.begin(), slot.sites.end(), [](const Site& site) {
                           return is_product(site) && !site.reader->flipped;
                         });
    const bool turned =
        dims.size() == 2 && dims[0] == slot.dims[slot.dims.size() - 1] && dims[1] == slot.dims[0];
    slot.by_name = true;
    if (product && dims == slot.dims && turned) {
      squares.push_back({&slot, c});
      continue;
    }
    if (dims == slot.dims) {
      p.give(slot, c, Form::kAsIs);
      straight += product;
    } else if (product && turned) {
      p.give(slot, c, Form::kTransposed);
      flipped++;
    } else if (without_ones(dims) == without_ones(slot.dims) && !is_of_gates(slot)) {
      p.give(slot, c, Form::kReshaped);
    } else if (!is_of_gates(slot)) {
      p.mismatched[slot.name] = "the checkpoint has " + dims_text(dims);
    }
  }
  for (const auto& [slot, c] : squares) {  // as the others lie
    if (flipped && straight)
      p.mismatched[slot->name] =
          "is square, and of the other products' weights some are transposed, some are not";
    else
      p.give(*slot, c, flipped ? Form::kTransposed : Form::kAsIs);
  }
}

void pair_modules(Pairing& p) {
  for (bool more = true; more;) {
    more = false;
    pair_partners(p);
    for (Slot& slot : p.slots) {
      if (slot.filled() || slot.zero || p.mismatched.count(slot.name)) continue;
      for (const Site& site : slot.sites) {
        Form form = Form::kAsIs;
        const Candidate* c = in_module(p, slot, site, &form);
        if (!c) continue;
        p.give(slot, c, form);
        more = true;
        break;
      }
    }
  }
  pair_partners(p);
  for (Slot& slot : p.slots) {  // what no module claims is what the initializer is called
    const graph::ValueId first = slot.copy_of;
    if (slot.filled() || slot.zero || p.mismatched.count(slot.name)) continue;
    const Slot* original = first == graph::kAbsent ? &slot : p.slot(first);
    const Candidate* c = original ? p.named(original->name) : nullptr;
    if (c && c->tensor->dims == slot.dims && checkpoint::is_floating(c->tensor->type))
      p.give(slot, c, Form::kAsIs);
  }
}

void pair_last_of_shape(Pairing& p) {
  for (Slot& slot : p.slots) {
    if (slot.filled() || slot.zero || (slot.sites.empty() && !is_needed(slot)) ||
        p.mismatched.count(slot.name))
      continue;
    const Candidate* only = nullptr;
    size_t fitting = 0, rivals = 0;
    Form form = Form::kAsIs;
    for (const Candidate& c : p.selection.candidates) {
      if (!p.is_free(c)) continue;
      const std::optional<Form> fits = fit(slot, c);
      if (!fits || *fits == Form::kReshaped) continue;
      fitting++;
      only = &c;
      form = *fits;
    }
    if (fitting != 1) continue;
    for (const Slot& other : p.slots)
      rivals += &other != &slot && !other.filled() && !other.zero && fit(other, *only).has_value();
    if (!rivals) p.give(slot, only, form);
  }
}

void pair_ties(Pairing& p) {
  for (Slot& slot : p.slots) {
    if (slot.filled() || slot.zero || !is_needed(slot) || slot.dtype != DType::kF32 ||
        slot.dims.size() != 2)
      continue;
    const graph::Constant& mine = *p.model.constant(slot.id);
    const float* numbers = mine.as<float>();
    const int64_t count = mine.elements();
    if (!numbers || std::all_of(numbers, numbers + count, [&](float x) { return x == numbers[0]; }))
      continue;
    for (const Slot& other : p.slots) {
      if (!other.source || other.form != Form::kAsIs || other.dtype != DType::kF32 ||
          other.dims.size() != 2)
        continue;
      const graph::Constant* theirs = p.model.constant(other.id);
      const bool same = other.dims == slot.dims,
                 turned = other.dims[0] == slot.dims[1] && other.dims[1] == slot.dims[0];
      if (same && std::memcmp(theirs->bytes->data(), numbers, size_t(count) * 4) == 0) {
        p.give(slot, other.source, Form::kAsIs);
        break;
      }
      bool equal = turned;
      const float* from = theirs->as<float>();
      for (int64_t r = 0; equal && r < slot.dims[0]; r++)
        for (int64_t c = 0; equal && c < slot.dims[1]; c++)
          equal = std::memcmp(&numbers[r * slot.dims[1] + c], &from[c * slot.dims[0] + r], 4) == 0;
      if (!equal) continue;
      p.give(slot, other.source, Form::kTransposed);
      p.said.push_back("'" + slot.name + "' is '" + other.name +
                       "' transposed in the architecture, and so it is with the new weights");
      break;
    }
  }
}

void leave_tied(Pairing& p) {
  for (const Candidate& c : p.selection.candidates) {
    if (!p.is_free(c)) continue;
    const std::vector<uint8_t> bytes = checkpoint::tensor_bytes(*c.tensor);
    const size_t size = checkpoint::element_bytes(c.tensor->type);
    bool uniform = true;  // many tensors of zeros are equal and not the same
    for (size_t i = size; uniform && i < bytes.size(); i += size)
      uniform = std::memcmp(&bytes[i], &bytes[0], size) == 0;
    if (uniform) continue;
    for (const Candidate* other : p.used) {
      if (other->tensor->type != c.tensor->type || other->tensor->dims != c.tensor->dims ||
          checkpoint::tensor_bytes(*other->tensor) != bytes)
        continue;
      p.said.push_back("'" + c.original + "' is '" + other->original + "' under another name");
      p.used.insert(&c);
      break;
    }
  }
}

std::string called_module(const Pairing& p, const std::string& module) {
  const auto known = [&](const std::string& name) {
    return std::any_of(
        p.selection.candidates.begin(), p.selection.candidates.end(),
        [&](const Candidate& c) { return c.name.compare(0, name.size() + 1, name + ".") == 0; });
  };
  if (module.empty() || known(module)) return module;
  std::string bare;
  for (size_t at = 0; at <= module.size();) {
    const size_t dot = std::min(module.find('.', at), module.size());
    std::string part = module.substr(at, dot - at);
    const size_t digits = part.find_last_not_of("0123456789");
    if (digits != std::string::npos && digits > 0 && digits + 1 < part.size() &&
        part[digits] == '_')
      part.resize(digits);
    bare += (bare.empty() ? "" : ".") + part;
    at = dot + 1;
  }
  return known(bare) ? bare : module;
}

}  // namespace ingot::overlay
