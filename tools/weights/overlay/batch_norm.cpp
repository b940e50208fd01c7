// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/batch_norm.cpp - a normalization of the checkpoint that the architecture's
// exporter multiplied into the layer before it:
//   weight * g / sqrt(variance + epsilon),   (bias - mean) * g / sqrt(variance + epsilon) + beta,
//   computed in f64, rounded once.
// Which layer that is comes from the exporter (the module that it names), from the checkpoint's
// order (a normalization follows its layer) and from names (bn1 of conv1); where they contradict
// each other, nothing is folded.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "tools/checkpoint/tensors/compare_tensors.h"
#include "tools/weights/overlay/slot.h"

namespace ingot::overlay {
namespace {

using graph::WeightReader;

struct Norm {
  std::string module;
  const Candidate *weight = nullptr, *bias = nullptr, *mean = nullptr, *variance = nullptr;
  int64_t channels = 0;
  // more than one where the program calls the module again
  std::vector<const WeightReader*> layers;
};

/// A convolution or product of the architecture with what was found for its weight.
struct Layer {
  const WeightReader* reader = nullptr;
  const Slot* weight = nullptr;
  int64_t channels = 0;
  bool taken = false;
};

std::vector<Norm> left_over_norms(const Pairing& p) {
  std::vector<Norm> norms;
  for (const Candidate& c : p.selection.candidates) {
    if (!p.is_free(c) || !c.name.ends_with("running_var") || c.tensor->dims.size() != 1) continue;
    Norm norm;
    norm.module = module_of(c.name);
    const std::string at = norm.module.empty() ? "" : norm.module + ".";
    if (c.name != at + "running_var") continue;
    norm.variance = &c;
    norm.channels = c.tensor->dims[0];
    norm.mean = p.named(at + "running_mean");
    norm.weight = p.named(at + "weight");
    norm.bias = p.named(at + "bias");
    const auto fits = [&](const Candidate* x) {
      return x && x->tensor->dims == c.tensor->dims && checkpoint::is_floating(x->tensor->type);
    };
    if (!fits(norm.mean) || (norm.weight && !fits(norm.weight)) || (norm.bias && !fits(norm.bias)))
      continue;
    norms.push_back(norm);
  }
  return norms;
}

std::vector<Layer> layers_of(const Pairing& p) {
  std::vector<Layer> layers;
  for (const WeightReader& reader : p.sites.readers) {
    if ((reader.op != op::Conv && reader.op != op::ConvTranspose && reader.op != op::Gemm) ||
        reader.operands.size() < 3)
      continue;
    const Slot* weight = p.slot(reader.operands[1]);
    if (!weight || !weight->source || !p.slot(reader.operands[2]) || weight->dims.size() < 2)
      continue;
    int64_t channels = weight->dims[0];
    if (reader.op == op::ConvTranspose) channels = weight->dims[1] * reader.group;
    if (reader.op == op::Gemm && !reader.flipped) channels = weight->dims[1];
    layers.push_back({&reader, weight, channels});
  }
  return layers;
}

/// "a.conv1" of "a.bn1", "a.0" of "a.1"; "" where the name says nothing.
std::string layer_by_name(const std::string& norm) {
  const size_t dot = norm.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : norm.substr(0, dot + 1);
  const std::string last = dot == std::string::npos ? norm : norm.substr(dot + 1);
  if (!last.empty() && last.size() < 6 && std::all_of(last.begin(), last.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c));
      }))
    return last == "0" ? "" : parent + std::to_string(std::stoi(last) - 1);
  for (const char* kind : {"bn", "norm", "batchnorm", "batch_norm"}) {
    const std::string word = kind;
    const std::string rest = last.size() >= word.size() ? last.substr(word.size()) : "?";
    const bool number = std::all_of(rest.begin(), rest.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c));
    });
    if (last.compare(0, word.size(), word) == 0 && number) return parent + "conv" + rest;
  }
  return "";
}

/// By module of a normalization: the module that stands before it in the checkpoint.
std::map<std::string, std::string> modules_before(const Pairing& p) {
  std::map<std::string, std::string> before;
  std::string last;
  for (const Candidate& c : p.selection.candidates) {
    const std::string module = module_of(c.name);
    if (module == last) continue;
    before.emplace(module, last);
    last = module;
  }
  return before;
}

/// The layer of each normalization, where what is known agrees.
void find_layers(const Pairing& p, std::vector<Norm>* norms, std::vector<Layer>* layers) {
  const auto take = [](Norm& norm, const std::vector<Layer*>& found) {
    for (Layer* layer : found) {
      norm.layers.push_back(layer->reader);
      layer->taken = true;
    }
  };
  for (Norm& norm : *norms) {  // exporters that say which
    std::vector<Layer*> found;
    for (Layer& layer : *layers)
      if (!norm.module.empty() && layer.reader->module == norm.module &&
          layer.channels == norm.channels && !layer.taken)
        found.push_back(&layer);
    const bool one =
        !found.empty() && std::all_of(found.begin(), found.end(), [&](const Layer* layer) {
          return layer->weight->source == found[0]->weight->source;
        });
    if (one) take(norm, found);
  }
  // An exporter that takes the names of folded weights away has folded no others.
  const bool renames = std::any_of(layers->begin(), layers->end(),
                                   [](const Layer& layer) { return !layer.weight->by_name; });
  const std::map<std::string, std::string> before = modules_before(p);
  const auto pair = [&](Norm& norm) {
    const auto of = [&](const std::string& module) {
      std::vector<Layer*> found;
      for (Layer& layer : *layers)
        if (layer.channels == norm.channels && module_of(layer.weight->source->name) == module &&
            !layer.taken && !(renames && layer.weight->by_name))
          found.push_back(&layer);
      return found;
    };
    const auto at = before.find(norm.module);
    const std::vector<Layer*> by_order =
        at == before.end() || at->second.empty() ? std::vector<Layer*>() : of(at->second);
    const std::string name = layer_by_name(norm.module);
    const std::vector<Layer*> by_name = name.empty() ? std::vector<Layer*>() : of(name);
    if (!by_order.empty() && !by_name.empty() && by_order != by_name) return false;
    take(norm, by_order.empty() ? by_name : by_order);
    return !norm.layers.empty();
  };
  // a layer that one normalization took may leave the other its own
  for (bool more = true; more;) {
    more = false;
    for (Norm& norm : *norms) more |= norm.layers.empty() && pair(norm);
  }
}

/// Factor and offset of each channel.
struct Affine {
  std::vector<double> factor, mean, offset;
};
Affine affine(const Norm& norm, double epsilon) {
  Affine out;
  out.mean = checkpoint::as_numbers(*norm.mean->tensor);
  const std::vector<double> variance = checkpoint::as_numbers(*norm.variance->tensor);
  const std::vector<double> gain = norm.weight ? checkpoint::as_numbers(*norm.weight->tensor)
                                               : std::vector<double>(variance.size(), 1);
  out.offset = norm.bias ? checkpoint::as_numbers(*norm.bias->tensor)
                         : std::vector<double>(variance.size(), 0);
  for (size_t i = 0; i < variance.size(); i++)
    out.factor.push_back(gain[i] / std::sqrt(variance[i] + epsilon));
  return out;
}

/// Numbers of a paired weight as the slot has them.
std::vector<double> numbers_of(const Slot& slot) {
  checkpoint::Tensor view = *slot.source->tensor;
  if (slot.form == Form::kTransposed) {
    std::swap(view.dims[0], view.dims[1]);
    std::swap(view.strides[0], view.strides[1]);
  }
  return checkpoint::as_numbers(view);
}

void fold(Pairing& p, const Norm& norm, const WeightReader& reader, double epsilon) {
  Slot* weight = p.slot(reader.operands[1]);
  Slot* bias = p.slot(reader.operands[2]);
  const Slot raw = *weight;
  // A bias of the layer itself; what stands in the architecture's bias may be the normalization's.
  const Candidate* own = p.named(module_of(raw.source->name) + ".bias");
  if (own && (own->tensor->dims != norm.variance->tensor->dims ||
              !checkpoint::is_floating(own->tensor->type)))
    own = nullptr;
  std::vector<const Candidate*> parts = {norm.mean, norm.variance};
  for (const Candidate* c : {norm.weight, norm.bias, own})
    if (c) parts.push_back(c);
  p.used.insert(parts.begin(), parts.end());
  weight->make = [raw, norm, epsilon, reader] {
    std::vector<double> numbers = numbers_of(raw);
    const Affine a = affine(norm, epsilon);
    const size_t channels = a.factor.size();
    if (reader.op == op::Gemm && !reader.flipped) {  // columns
      for (size_t i = 0; i < numbers.size(); i++) numbers[i] *= a.factor[i % channels];
    } else if (reader.op == op::ConvTranspose) {  // [in, out / group, ...]
      const size_t of_group = size_t(raw.dims[1]),
                   inputs = size_t(raw.dims[0]) / size_t(reader.group);
      const size_t taps = numbers.size() / (size_t(raw.dims[0]) * of_group);
      for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] *= a.factor[i / taps / of_group / inputs * of_group + i / taps % of_group];
    } else {
      const size_t row = numbers.size() / channels;
      for (size_t i = 0; i < numbers.size(); i++) numbers[i] *= a.factor[i / row];
    }
    return numbers;
  };
  weight->parts = parts;
  weight->parts.push_back(raw.source);
  weight->source = nullptr;
  bias->source = nullptr;
  bias->parts = parts;
  bias->make = [own, norm, epsilon] {
    const Affine a = affine(norm, epsilon);
    std::vector<double> numbers =
        own ? checkpoint::as_numbers(*own->tensor) : std::vector<double>(a.factor.size(), 0);
    for (size_t i = 0; i < numbers.size(); i++)
      numbers[i] = (numbers[i] - a.mean[i]) * a.factor[i] + a.offset[i];
    return numbers;
  };
}

}  // namespace

void fold_normalizations(Pairing& p) {
  std::vector<Norm> norms = left_over_norms(p);
  if (norms.empty()) return;
  std::vector<Layer> layers = layers_of(p);
  find_layers(p, &norms, &layers);
  size_t folded = 0;
  for (const Norm& norm : norms) {
    if (norm.layers.empty()) continue;
    if (!p.options.batch_norm_epsilon) {
      p.folds_without_epsilon++;
      for (const Candidate* c : {norm.weight, norm.bias, norm.mean, norm.variance})
        p.fold_parts.insert(c);
      for (const WeightReader* reader : norm.layers)
        p.fold_slots.insert(p.slot(reader->operands[2]));
      continue;
    }
    for (const WeightReader* reader : norm.layers)
      fold(p, norm, *reader, *p.options.batch_norm_epsilon);
    folded++;
  }
  if (folded)
    p.said.push_back(std::to_string(folded) +
                     (folded == 1 ? " batch normalization is" : " batch normalizations are") +
                     " multiplied into the layers before, as in the architecture");
}

}  // namespace ingot::overlay
