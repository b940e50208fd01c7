// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/recurrent.cpp - the weights of torch's recurrent layers as ONNX has them.
//   torch   weight_ih_l0 [gates * H, in], weight_hh_l0, bias_ih_l0, bias_hh_l0, each again with
//           _reverse; LSTM i f g o, GRU r z n
//   ONNX    W [directions, gates * H, in], R, B [directions, 2 * gates * H]; LSTM i o f c, GRU z r
//           h
#include <algorithm>

#include "tools/checkpoint/tensors/compare_tensors.h"
#include "tools/weights/overlay/slot.h"

namespace ingot::overlay {
namespace {

using graph::WeightReader;

std::vector<size_t> gates_of(graph::Operator op) {
  if (op == op::LSTM) return {0, 3, 1, 2};
  if (op == op::GRU) return {1, 0, 2};
  return {0};
}

bool is_recurrent(const WeightReader& reader) {
  return graph::kRecurrences.has(reader.op) && reader.operands.size() > 2 &&
         reader.operands[1] != graph::kAbsent && reader.operands[2] != graph::kAbsent;
}

/// One layer of a module: tensors by direction; empty where the checkpoint has not all of them, or
/// not in these shapes.
struct RecurrentLayer {
  std::vector<const Candidate*> input, state, bias;  // bias: ih, hh, ih reverse, hh reverse
};

struct Wanted {
  Slot *input = nullptr, *state = nullptr, *bias = nullptr;
  int64_t directions = 0, rows = 0, hidden = 0, features = 0;
};

bool fits(const Candidate* c, const std::vector<int64_t>& dims) {
  return c && c->tensor->dims == dims && checkpoint::is_floating(c->tensor->type);
}

bool find_layer(const Pairing& p, const std::string& module, size_t index, const Wanted& wanted,
                RecurrentLayer* out) {
  RecurrentLayer layer;
  const std::string at = module.empty() ? "" : module + ".";
  for (int64_t d = 0; d < wanted.directions; d++) {
    const std::string end = "_l" + std::to_string(index) + (d ? "_reverse" : "");
    layer.input.push_back(p.named(at + "weight_ih" + end));
    layer.state.push_back(p.named(at + "weight_hh" + end));
    if (!fits(layer.input.back(), {wanted.rows, wanted.features}) ||
        !fits(layer.state.back(), {wanted.rows, wanted.hidden}))
      return false;
    if (!wanted.bias) continue;
    for (const char* kind : {"bias_ih", "bias_hh"}) {
      layer.bias.push_back(p.named(at + kind + end));
      if (!fits(layer.bias.back(), {wanted.rows})) return false;
    }
  }
  *out = layer;
  return true;
}

std::vector<double> stacked(const std::vector<const Candidate*>& parts,
                            const std::vector<size_t>& gates) {
  std::vector<double> out;
  for (const Candidate* part : parts) {
    const std::vector<double> numbers = checkpoint::as_numbers(*part->tensor);
    const size_t block = numbers.size() / gates.size();
    for (const size_t gate : gates)
      out.insert(out.end(), numbers.begin() + std::ptrdiff_t(gate * block),
                 numbers.begin() + std::ptrdiff_t((gate + 1) * block));
  }
  return out;
}

void fill(Pairing& p, Slot* slot, const std::vector<const Candidate*>& parts,
          const std::vector<size_t>& gates) {
  if (!slot) return;
  slot->source = nullptr;
  slot->parts = parts;
  slot->make = [parts, gates] { return stacked(parts, gates); };
  p.used.insert(parts.begin(), parts.end());
}

}  // namespace

void pair_recurrent(Pairing& p) {
  // Modules with recurrent weights, in the checkpoint's order.
  std::vector<std::string> modules;
  const std::string kFirst = "weight_ih_l0";
  for (const Candidate& c : p.selection.candidates)
    if (c.name == kFirst ||
        (c.name.size() > kFirst.size() &&
         c.name.compare(c.name.size() - kFirst.size() - 1, std::string::npos, "." + kFirst) == 0))
      modules.push_back(module_of(c.name));
  std::map<std::string, size_t> seen;  // recurrent operators of a module so far
  size_t done = 0;
  for (const WeightReader& reader : p.sites.readers) {
    if (!is_recurrent(reader)) continue;
    const std::string at = reader.module.empty() ? "" : reader.module + ".";
    size_t layers = 0;
    while (layers < 1024 && p.named(at + "weight_ih_l" + std::to_string(layers))) layers++;
    const size_t call = seen[reader.module]++;
    const size_t index = layers ? call % layers : call;  // the program may call the module again
    Wanted wanted;
    wanted.input = p.slot(reader.operands[1]);
    wanted.state = p.slot(reader.operands[2]);
    wanted.bias = reader.operands.size() > 3 ? p.slot(reader.operands[3]) : nullptr;
    const std::vector<size_t> gates = gates_of(reader.op);
    if (!wanted.input || !wanted.state || wanted.input->source || wanted.input->dims.size() != 3 ||
        wanted.state->dims.size() != 3)
      continue;
    wanted.directions = wanted.input->dims[0];
    wanted.rows = wanted.input->dims[1];
    wanted.features = wanted.input->dims[2];
    wanted.hidden = wanted.state->dims[2];
    const bool whole =
        wanted.directions >= 1 && wanted.directions <= 2 &&
        wanted.rows == int64_t(gates.size()) * wanted.hidden &&
        wanted.state->dims == std::vector<int64_t>{wanted.directions, wanted.rows, wanted.hidden} &&
        (!wanted.bias ||
         wanted.bias->dims == std::vector<int64_t>{wanted.directions, 2 * wanted.rows});
    if (!whole) continue;
    RecurrentLayer layer;
    bool found = find_layer(p, reader.module, index, wanted, &layer);
    if (!found) {  // without its module: the one layer that is left and fits
      size_t fitting = 0, rivals = 0;
      for (const std::string& module : modules) {
        for (size_t l = 0; l < 64 && p.named((module.empty() ? "" : module + ".") + "weight_ih_l" +
                                             std::to_string(l));
             l++) {
          RecurrentLayer trial;
          if (!find_layer(p, module, l, wanted, &trial) || p.used.count(trial.input[0])) continue;
          fitting++;
          layer = trial;
        }
      }
      for (const WeightReader& other : p.sites.readers) {
        const Slot* input = is_recurrent(other) ? p.slot(other.operands[1]) : nullptr;
        rivals +=
            input && !input->filled() && input != wanted.input && input->dims == wanted.input->dims;
      }
      found = fitting == 1 && rivals == 0;
    }
    if (!found) continue;
    fill(p, wanted.input, layer.input, gates);
    fill(p, wanted.state, layer.state, gates);
    fill(p, wanted.bias, layer.bias, gates);
    done++;
  }
  if (done)
    p.said.push_back("the gates of " + std::to_string(done) +
                     (done == 1 ? " recurrent layer are" : " recurrent layers are") +
                     " put into the order of the architecture");
}

}  // namespace ingot::overlay
