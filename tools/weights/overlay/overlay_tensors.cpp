// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/overlay_tensors.cpp - the overlay for sources whose importer reads named
// tensors itself (Keras): names are those of the layers.
#include "tools/weights/overlay/slot.h"
#include "tools/weights/programs/read_weights.h"

namespace ingot::overlay {
namespace {

/// "layers.dense.vars.0"
std::string joined(const checkpoint::Path& path) {
  std::string name;
  for (const std::string& part : path) name += (name.empty() ? "" : ".") + part;
  return name;
}

bool is_of_optimizer(const std::string& name) { return name.compare(0, 9, "optimizer") == 0; }

}  // namespace

OverlayReport overlay_tensors(checkpoint::Checkpoint& source, const OverlayOptions& options,
                              std::vector<std::string>* notes) {
  const checkpoint::Checkpoint file = weights::read_weights(options.checkpoint);
  const graph::Model nothing;
  const graph::WeightSites sites;
  Pairing p{nothing, sites, options, {}, {}, {}, {}, {}, {}, {}, 0, {}, {}};
  std::set<std::string> wanted;
  std::vector<checkpoint::Tensor*> places;
  for (checkpoint::Tensor& tensor : source.tensors) {
    const std::string name = joined(tensor.path);
    if (!checkpoint::is_floating(tensor.type) || is_of_optimizer(name)) continue;
    Slot slot;
    slot.name = name;
    slot.dims = tensor.dims;
    wanted.insert(name);
    p.slots.push_back(std::move(slot));
    places.push_back(&tensor);
  }
  p.selection = select_tensors(file, wanted, options);
  std::erase_if(p.selection.candidates, [](const Candidate& c) { return is_of_optimizer(c.name); });
  index_candidates(p);
  pair_names(p);
  refuse_unpaired(p);
  size_t strange = 0, replaced = 0;
  for (size_t i = 0; i < p.slots.size(); i++) {
    if (!p.slots[i].source) continue;
    const checkpoint::Path path = places[i]->path;
    *places[i] = *p.slots[i].source->tensor;
    places[i]->path = path;
    replaced++;
    strange += strange_values(checkpoint::as_numbers(*places[i])) != 0;
  }
  notes->push_back("weights: " + std::to_string(replaced) + " by name");
  if (strange)
    notes->push_back("weights: " + std::to_string(strange) +
                     " tensors hold values that are NaN or infinite");
  return report_of(p);
}

}  // namespace ingot::overlay
