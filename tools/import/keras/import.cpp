// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/import.cpp - the calls of a configuration in an order in which they can run,
// models inside of models.
#include "tools/import/keras/import.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "tools/checkpoint/hdf5/hdf5_file.h"
#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/file_kind.h"
#include "tools/files/work_budget.h"
#include "tools/graph/dim_limit.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/keras/layer_call.h"
#include "tools/import/keras/no_effect.h"

namespace ingot::keras {
namespace {

using graph::fail_conversion;
using graph::fail_corrupt;
using graph::fail_unsupported;

constexpr size_t kMaxCalls = 1u << 16;
constexpr int kMaxDepth = 16;  // of models inside of models
constexpr const char* kNoHint = "";

/// Outputs of one call; empty where it was refused or reads what was.
using Outputs = std::vector<Masked>;

class Importer {
 public:
  Importer(const checkpoint::Checkpoint& file, const std::string& name,
           const importer::ImportOptions& options)
      : weights_(file), net_(name, "keras", options), name_(name) {
    for (const checkpoint::Fact& fact : file.facts)
      if (!fact.path.empty() && fact.path.back() == "keras_version")
        if (const std::string* text = std::get_if<std::string>(&fact.value)) {
          version_ = std::atoi(text->c_str());
          net_.model.source_producer = "keras " + *text;
        }
  }

  Program run(const Json& json) {
    const Config config = read_config(json, name_);
    std::vector<std::pair<std::string, ValueId>> outputs;
    for (auto& [layer, values] : model(config, "", {}, 0)) {
      if (values.empty()) continue;
      const bool taken =
          std::any_of(outputs.begin(), outputs.end(),
                      [&, &wanted = layer](const auto& o) { return o.first == wanted; });
      outputs.emplace_back(taken ? layer + "_" + std::to_string(outputs.size()) : layer,
                           values[0].value);
    }
    graph::Model whole = net_.finish(std::move(outputs));
    return {std::move(whole), net_.states()};
  }

 private:
  using Key = std::pair<std::string, int64_t>;  // a layer and the number of its call

  /// Name of the layer and one value for each output of `config`. `given`: what a model inside of
  /// another is called with; the outermost makes its inputs itself.
  std::vector<std::pair<std::string, Outputs>> model(const Config& config, const std::string& place,
                                                     const Outputs& given, int depth) {
    if (depth > kMaxDepth)
      fail_corrupt(name_, "models nest more than " + std::to_string(kMaxDepth) + " deep");
    return config.is_sequential ? sequential(config, place, given, depth)
                                : functional(config, place, given, depth);
  }

  std::vector<std::pair<std::string, Outputs>> sequential(const Config& config,
                                                          const std::string& place, Outputs at,
                                                          int depth) {
    const auto places = weights_.places(config, place);
    std::string last = config.name;
    bool begun = depth > 0;
    for (const Layer& layer : config.layers) {
      if (layer.kind == "InputLayer") {
        if (!begun) at = {{make_input(layer)}};
        begun = true;
        continue;
      }
      if (!begun) {  // Keras 2 may put the shape into the first layer
        if (!shape_of(layer))
          fail_unsupported(
              name_,
              "layer '" + layer.name +
                  "' comes first and no shape of its input is known; save a model that was built");
        Layer input = layer;
        input.name = layer.name + "_input";
        at = {{make_input(input)}};
        begun = true;
      }
      at = call(layer, Call(), at, places.at(layer.name), depth);
      last = layer.name;
    }
    return {{last, at}};
  }
  std::vector<std::pair<std::string, Outputs>> functional(const Config& config,
                                                          const std::string& place,
                                                          const Outputs& given, int depth) {
    const auto places = weights_.places(config, place);
    std::map<std::string, const Layer*> layers;
    for (const Layer& layer : config.layers)
      if (!layers.emplace(layer.name, &layer).second)
        fail_corrupt(name_,
                     "two layers are named '" + layer.name + "'; the configuration is damaged");
    std::map<Key, Outputs> done;
    if (depth > 0) {
      if (given.size() != config.inputs.size())
        fail_corrupt(name_, "model '" + config.name + "' has " +
                                std::to_string(config.inputs.size()) +
                                " inputs and is called with " + std::to_string(given.size()));
      for (size_t i = 0; i < given.size(); i++)
        done[{config.inputs[i].layer, config.inputs[i].call}] = {given[i]};
    } else {
      for (const Reference& input : config.inputs) {
        const auto found = layers.find(input.layer);
        if (found == layers.end()) fail_corrupt(name_, "input '" + input.layer + "' is no layer");
        if (!done.count({input.layer, input.call}))
          done[{input.layer, input.call}] = {{make_input(*found->second)}};
      }
    }
    run_calls(config, places, depth, &done);
    std::vector<std::pair<std::string, Outputs>> out;
    for (const Reference& output : config.outputs) {
      const auto found = done.find({output.layer, output.call});
      if (found == done.end())
        fail_corrupt(name_, "output '" + output.layer + "' is made by no layer");
      Outputs one;
      if (!found->second.empty()) {
        if (output.output < 0 || size_t(output.output) >= found->second.size())
          fail_corrupt(name_, "output '" + output.layer + "' has no output " +
                                  std::to_string(output.output));
        one = {found->second[size_t(output.output)]};
      }
      out.emplace_back(output.layer, one);
    }
    return out;
  }

  struct Pending {
    const Layer* layer;
    const Call* call;
    int64_t number;
    size_t waits = 0;  // for so many inputs
  };

  /// In the order of the file first, as people read it; then, again in that order, whatever became
  /// ready by it.
  void run_calls(const Config& config, const std::map<std::string, std::string>& places, int depth,
                 std::map<Key, Outputs>* done) {
    std::vector<Pending> pending;
    std::map<std::string, std::set<int64_t>> used = used_calls(config);
    for (const Layer& layer : config.layers) {
      if (layer.kind == "InputLayer") continue;
      const std::vector<int64_t> numbers = call_numbers(layer, used[layer.name]);
      for (size_t i = 0; i < layer.calls.size(); i++)
        pending.push_back({&layer, &layer.calls[i], numbers[i]});
    }
    std::map<Key, std::vector<size_t>> readers;
    // how often the list was gone through before, and the place in it
    std::set<std::pair<size_t, size_t>> ready;
    for (size_t i = 0; i < pending.size(); i++) {
      const std::vector<Reference> references = references_of(*pending[i].call);
      host::charge_work(1 + references.size());
      for (const Reference& input : references) {
        const Key key{input.layer, input.call};
        if (done->count(key)) continue;
        readers[key].push_back(i);
        pending[i].waits++;
      }
      if (pending[i].waits == 0) ready.emplace(0, i);
    }
    size_t ran = 0;
    for (; !ready.empty(); ran++) {
      const auto [round, at] = *ready.begin();
      ready.erase(ready.begin());
      const Pending& each = pending[at];
      const Key key{each.layer->name, each.number};
      (*done)[key] = run_call(each, places, depth, *done);
      const auto found = readers.find(key);
      if (found == readers.end()) continue;
      for (const size_t reader : found->second)
        if (--pending[reader].waits == 0) ready.emplace(round + (reader < at), reader);
      readers.erase(found);
    }
    if (ran == pending.size()) return;
    for (const Pending& each : pending)
      if (each.waits)
        fail_corrupt(name_, "layer '" + each.layer->name +
                                "' reads what nothing makes; the configuration is damaged");
  }

  Outputs run_call(const Pending& each, const std::map<std::string, std::string>& places, int depth,
                   const std::map<Key, Outputs>& done) {
    Outputs inputs;
    bool whole = true;
    for (const Reference& input : references_of(*each.call)) {
      const Outputs& from = done.at({input.layer, input.call});
      if (from.empty())
        whole = false;
      else if (input.output < 0 || size_t(input.output) >= from.size())
        fail_corrupt(name_, "layer '" + each.layer->name + "' reads output " +
                                std::to_string(input.output) + " of '" + input.layer +
                                "', which has " + std::to_string(from.size()));
      else
        inputs.push_back(from[size_t(input.output)]);
    }
    return call(*each.layer, *each.call, whole ? inputs : Outputs(), places.at(each.layer->name),
                depth);
  }

  /// The inputs, and behind them the arguments that are tensors.
  static std::vector<Reference> references_of(const Call& call) {
    std::vector<Reference> all = call.inputs;
    for (const auto& [name, tensors] : call.tensor_arguments)
      all.insert(all.end(), tensors.begin(), tensors.end());
    return all;
  }

  /// By layer, the numbers of its calls that are referred to.
  static std::map<std::string, std::set<int64_t>> used_calls(const Config& config) {
    std::map<std::string, std::set<int64_t>> used;
    for (const Layer& layer : config.layers)
      for (const Call& call : layer.calls)
        for (const Reference& input : references_of(call)) used[input.layer].insert(input.call);
    for (const Reference& output : config.outputs) used[output.layer].insert(output.call);
    return used;
  }
  /// Numbers of a layer's calls as others refer to them: 0, 1, ..., unless they are referred to by
  /// later ones alone: a model that was called before it became part of this one counts those calls
  /// too.
  static std::vector<int64_t> call_numbers(const Layer& layer, const std::set<int64_t>& used) {
    std::vector<int64_t> numbers;
    const bool shifted = used.size() == layer.calls.size() && !used.empty();
    for (size_t i = 0; i < layer.calls.size(); i++) numbers.push_back(int64_t(i));
    if (shifted) numbers.assign(used.begin(), used.end());
    return numbers;
  }

  Config inner_config(const Layer& layer) const {
    const Json inner = {{"class_name", layer.kind}, {"config", layer.config}};
    return read_config(inner, name_ + ": model '" + layer.name + "'");
  }

  static const Json* shape_of(const Layer& layer) {
    if (!layer.config.is_object()) return nullptr;
    for (const char* key : {"batch_shape", "batch_input_shape"}) {
      const auto found = layer.config.find(key);
      if (found != layer.config.end() && found->is_array()) return &*found;
    }
    return nullptr;
  }

  ValueId make_input(const Layer& layer) {
    const Json* shape = shape_of(layer);
    if (!shape)
      fail_corrupt(name_, "input '" + layer.name + "' has no shape; the configuration is damaged");
    if (layer.kind == "InputLayer")
      if (const std::string key = unread_field(layer.kind, layer.config, {}); !key.empty())
        refused(layer, key,
                "is " + layer.config[key].dump().substr(0, 60) + ", which is not known of an input",
                kNoHint);
    std::vector<int64_t> dims;
    std::vector<std::string> symbols;
    for (const Json& item : *shape) {
      const bool open = item.is_null();
      if (!open && (!item.is_number_integer() || item.get<int64_t>() < 0 ||
                    item.get<int64_t>() > (int64_t{1} << 31)))
        fail_corrupt(name_, "input '" + layer.name + "' has a strange shape");
      dims.push_back(open ? -1 : item.get<int64_t>());
      symbols.push_back(dims.size() == 1 ? "N"
                                         : layer.name + "_dim" + std::to_string(dims.size() - 1));
    }
    std::string type = "float32";
    const auto said = layer.config.find("dtype");
    if (said != layer.config.end() && said->is_string()) type = said->get<std::string>();
    DType dtype = DType::kF32;
    if (type == "int32") dtype = DType::kI32;
    if (type == "int64") dtype = DType::kI64;
    if (type == "uint8") dtype = DType::kU8;
    if (type == "bool") dtype = DType::kBool;
    return net_.input(layer.name, dtype, dims, symbols);
  }

  void refused(const Layer& layer, const std::string& attribute, const std::string& why,
               const std::string& hint) {
    host::charge_work(net_.b.unsupported.size());
    for (const graph::Unsupported& u : net_.b.unsupported)
      if (u.node == layer.name && u.attribute == attribute && u.why == why) return;
    net_.b.unsupported.push_back({layer.kind, attribute, layer.name, "", why, hint});
  }

  /// `inputs`: as references_of() has them.
  Outputs call(const Layer& layer, const Call& how, const Outputs& inputs, const std::string& place,
               int depth) {
    if (++calls_ > kMaxCalls)
      fail_corrupt(name_, "more than " + std::to_string(kMaxCalls) + " calls of layers");
    for (const auto& [name, value] : how.arguments) {
      // Layers that prepare images are called so unless one says otherwise; a model that predicts
      // calls them without.
      if (name == "training" && prepares_images(layer.kind)) continue;
      refused(layer, name, "is " + value.substr(0, 60) + " in a call, which is not supported",
              name == "training" ? "call it without, or with training=False" : kNoHint);
      return {};
    }
    if (layer.is_model()) {
      if (!how.numbers.empty() || !how.tensor_arguments.empty()) {
        refused(layer, how.numbers.empty() ? how.tensor_arguments[0].first : "",
                "the call of a model has further arguments", kNoHint);
        return {};
      }
      const auto known = configs_.find(&layer);
      const Config& config = known != configs_.end()
                                 ? known->second
                                 : configs_.emplace(&layer, inner_config(layer)).first->second;
      if (inputs.empty()) return {};
      Outputs out;
      for (const auto& [name, values] : model(config, place, inputs, depth + 1)) {
        if (values.empty()) return {};
        out.push_back(values[0]);
      }
      return out;
    }
    if (layer.kind == "Lambda") {
      refused(layer, "function", "holds a function, which is never executed",
              "replace it by standard layers and save again");
      return {};
    }
    // .h5 files do not say where a class is from; layers say whether they are trainable.
    const bool operation =
        layer.module.rfind("keras.src.ops", 0) == 0 || layer.module.rfind("keras.ops", 0) == 0 ||
        (layer.module.empty() && version_ >= 3 && operation_table().count(layer.kind) &&
         !layer.config.contains("trainable"));
    const TranslateTable& table = operation ? operation_table() : translate_table();
    const auto found = table.find(layer.kind);
    if (found == table.end()) {
      refused(layer, "",
              operation ? "this operation is not supported" : "the layer is not supported",
              kNoHint);
      return {};
    }
    if (inputs.empty()) return {};
    std::vector<ValueId> values, masks;
    for (const Masked& input : inputs) {
      values.push_back(input.value);
      masks.push_back(input.mask);
    }
    size_t at = how.tensor_arguments.empty() ? 0 : how.inputs.size();
    bool is_mask_given = false, are_states_given = false;
    for (const auto& [argument, tensors] : how.tensor_arguments) {
      const bool is_mask = argument == "mask" && tensors.size() == 1 && at > 0;
      if (is_mask) {
        is_mask_given = true;
        masks[0] = values[at];
        values.erase(values.begin() + int64_t(at));
        masks.erase(masks.begin() + int64_t(at));
      } else if (argument == "initial_state" && !operation && takes_states(layer.kind)) {
        are_states_given = true;
        at += tensors.size();  // read as further inputs, as Keras 2 writes them
      } else {
        refused(layer, argument, "a tensor as argument is not supported", kNoHint);
        return {};
      }
    }
    // Keras 3 finds no mask for a layer that is called with states, but hands it on.
    ValueId unused_mask = kAbsent;
    if (are_states_given && !is_mask_given && version_ >= 3) std::swap(unused_mask, masks[0]);
    net_.b.begin_node({layer.name, layer.kind, layer.name});
    LayerCall call(net_, layer, weights_, place, "", version_, values, how.numbers, masks);
    call.number_first = how.number_first;
    call.has_fraction = how.has_fraction;
    call.index = &how.index;
    try {
      found->second(call);
      call.refuse_unknown_fields();
      call.refuse_unread_arguments();
      if (call.outputs.size() == 1) net_.b.name(call.outputs[0], layer.name);
      Outputs out = masked_outputs(call, operation);
      if (gives_sequences(layer.config) && !out.empty() && unused_mask != kAbsent)
        out[0].mask = unused_mask;
      return out;
    } catch (const layers::Refused& why) {
      refused(layer, why.argument, why.why, why.hint);
    } catch (const aten::Reported&) {
    } catch (const graph::DimError& error) {
      fail_conversion(graph::exit_code(error), layer.kind + " '" + layer.name + "'", error.what());
    } catch (graph::ConversionError& error) {
      if (error.begin != name_) error.add_place(layer.kind + " '" + layer.name + "'");
      throw;
    }
    return {};
  }

  static bool takes_states(const std::string& kind) {
    return kind == "LSTM" || kind == "GRU" || kind == "SimpleRNN" || kind == "RNN" ||
           kind == "Bidirectional";
  }
  static bool gives_sequences(const Json& config) {
    if (const auto inner = config.find("layer"); inner != config.end() && inner->is_object())
      return inner->contains("config") && gives_sequences((*inner)["config"]);
    const auto found = config.find("return_sequences");
    return found != config.end() && *found == true;
  }
  /// The outputs, with the masks that Keras gives them.
  Outputs masked_outputs(LayerCall& call, bool operation) {
    const MaskUse use = operation ? MaskUse::kIgnores : mask_use(call.layer.kind);
    if (call.is_masked() && use == MaskUse::kComputes && !call.read_masks())
      call.refuse("mask", "is not built of this layer");
    Outputs out;
    for (const ValueId value : call.outputs) out.push_back({value});
    for (size_t i = 0; i < call.output_masks.size() && i < out.size(); i++)
      out[i].mask = call.output_masks[i];
    if (use == MaskUse::kHandsOn && !out.empty()) out[0].mask = call.mask();
    return out;
  }

  // of models inside of models: one may be called many times
  std::map<const Layer*, Config> configs_;
  Weights weights_;
  Network net_;
  std::string name_;
  int version_ = 2;
  size_t calls_ = 0;
};

bool has_config(const checkpoint::Hdf5File& file) {
  return file.object(file.root()).attribute("model_config") != nullptr;
}

}  // namespace

Layer inner_layer(const Json& at) {
  Layer layer;
  if (!at.is_object() || !at.contains("class_name") || !at["class_name"].is_string() ||
      !at.contains("config") || !at["config"].is_object())
    fail_corrupt("a wrapper's layer has no configuration; the file is damaged");
  layer.kind = at["class_name"].get<std::string>();
  layer.config = at["config"];
  if (layer.config.contains("name") && layer.config["name"].is_string())
    layer.name = layer.config["name"].get<std::string>();
  return layer;
}

bool is_keras_model(const importer::OpenedFile& file) {
  if (file.archive)
    return file.archive->has("config.json") && file.archive->has("model.weights.h5");
  if (file.kind != host::FileKind::kHdf5) return false;
  try {
    const auto mapped = checkpoint::MappedFile::open(file.path);
    return has_config(
        *checkpoint::Hdf5File::open({mapped, mapped->data(), mapped->size()}, file.path));
  } catch (const host::Failure&) {
    return false;
  }
}

Program import_keras_config(const std::string& config, const checkpoint::Checkpoint& weights,
                            const std::string& name, const importer::ImportOptions& options) {
  const Json json = checkpoint::parse_bounded_json(config, name + ": model_config");
  return importer::with_errors_of(name, [&] { return Importer(weights, name, options).run(json); });
}

Program import_keras(const importer::OpenedFile& file, const importer::ImportOptions& options) {
  const std::string& path = file.path;
  checkpoint::Checkpoint tensors = checkpoint::read_checkpoint(path);
  std::vector<std::string> notes;
  if (options.replace_tensors) notes = options.replace_tensors(tensors);
  for (const checkpoint::Fact& fact : tensors.facts) {
    const std::string* config = std::get_if<std::string>(&fact.value);
    if (fact.path != checkpoint::Path{"model_config"} || !config) continue;
    Program program = import_keras_config(*config, tensors, path, options);
    program.model.notes.insert(program.model.notes.end(), notes.begin(), notes.end());
    return program;
  }
  fail_unsupported(path,
                   "holds weights and no configuration; save the whole model with "
                   "model.save('NAME.keras')");
}

}  // namespace ingot::keras
