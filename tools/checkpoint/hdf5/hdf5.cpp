// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/hdf5/hdf5.cpp - HDF5 as Keras writes it: .h5 weights and whole models, and
// .keras, a zip around one. Every dataset of numbers is a tensor under its own path, every
// attribute a fact; the configuration of a whole model is the fact "model_config".
#include <algorithm>
#include <set>

#include "tools/checkpoint/hdf5/hdf5_file.h"
#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr size_t kMaxHdf5Depth = 64;
constexpr uint64_t kMaxConfig = 64u << 20;
constexpr uint64_t kMaxWeights = uint64_t{1} << 40;

class Walk {
 public:
  Walk(std::shared_ptr<const Hdf5File> file, const ReadLimits& limits, Checkpoint* out)
      : file_(std::move(file)), limits_(limits), out_(out) {}

  void group(const Hdf5Object& group, const Path& path) {
    if (path.size() > kMaxHdf5Depth)
      file_->refuse("groups nest more than " + std::to_string(kMaxHdf5Depth) + " deep");
    seen_.insert(group.address);
    add_attributes(group, path);
    for (const Hdf5Link& link : group.links) {
      if (++entries_ > limits_.entries)
        file_->refuse("holds more than " + std::to_string(limits_.entries) + " entries");
      Path below = path;
      below.push_back(link.name);
      if (link.is_soft) {
        out_->note("'" + path_text(below) + "' is a soft link and is left out");
        continue;
      }
      host::charge_work(1 + path.size());
      // A circle would not end, and doors to the same room would multiply.
      if (seen_.count(link.object)) {
        out_->note("'" + path_text(below) + "' is a second name of another group and is left out");
        continue;
      }
      const Hdf5Object object = file_->object(link.object);
      if (object.is_dataset()) dataset(object, below);
      if (object.is_group) this->group(object, below);
    }
  }

 private:
  void add_attributes(const Hdf5Object& object, const Path& path) {
    for (const Hdf5Attribute& attribute : object.attributes) {
      Path below = path;
      below.push_back(attribute.name);
      const FactValue value = file_->value(attribute);
      if (!std::holds_alternative<std::monostate>(value))
        fact(below, value);
      else if (is_text(attribute.type))
        add_texts(below, file_->texts(attribute.type, attribute.data, attribute.elements));
    }
  }
  static bool is_text(const Hdf5Type& type) {
    return type.kind == Hdf5Class::kText || (type.kind == Hdf5Class::kVariable && type.is_text);
  }
  void add_texts(const Path& path, const std::vector<std::string>& texts) {
    for (size_t i = 0; i < texts.size(); i++) {
      Path item = path;
      item.push_back(std::to_string(i));
      fact(item, texts[i]);
    }
  }
  void fact(const Path& path, FactValue value) {
    if (out_->facts.size() >= limits_.entries)
      file_->refuse("holds more than " + std::to_string(limits_.entries) + " facts");
    out_->say(path, std::move(value));
  }

  /// Keras 3 keeps bfloat16 as two bytes of no meaning and says beside them what they are.
  bool is_bfloat16(const Hdf5Object& dataset, ElementType* out) const {
    const Hdf5Attribute* said = dataset.type.size == 2 ? dataset.attribute("dtype") : nullptr;
    if (!said) return false;
    const FactValue value = file_->value(*said);
    const std::string* text = std::get_if<std::string>(&value);
    if (!text || *text != "bfloat16") return false;
    *out = ElementType::kBf16;
    return true;
  }

  void dataset(const Hdf5Object& object, const Path& path) {
    const std::string where = "dataset '" + path_text(path) + "'";
    const std::shared_ptr<const Storage> storage = file_->storage(object, where);
    Tensor t;
    t.path = path;
    if (is_bfloat16(object, &t.type) || hdf5_element_type(object.type, &t.type, &t.swapped)) {
      t.dims = object.dims;
      if (object.is_null) t.dims.assign(1, 0);
      t.strides = dense_strides(t.dims);
      t.storage = storage;
      validate_view(t, limits_, out_->file + ": " + where);
      out_->add(std::move(t));
    } else if (is_text(object.type)) {
      const Bytes bytes = storage->load();
      const std::vector<std::string> texts =
          file_->texts(object.type, bytes.data, object.elements());
      if (object.dims.empty() && texts.size() == 1)
        fact(path, texts[0]);
      else
        add_texts(path, texts);
    } else {
      out_->note(where + " holds neither numbers nor texts and is left out");
    }
    add_attributes(object, path);
  }

  std::shared_ptr<const Hdf5File> file_;
  const ReadLimits& limits_;
  Checkpoint* out_;
  std::set<uint64_t> seen_;
  uint64_t entries_ = 0;
};

void read_image(Bytes bytes, const std::string& where, const ReadLimits& limits, Checkpoint* out) {
  const auto file = Hdf5File::open(std::move(bytes), where);
  Walk(file, limits, out).group(file->object(file->root()), {});
}

/// Code in a configuration: named, never run.
void note_lambdas(const nlohmann::ordered_json& config, std::vector<std::string>* notes) {
  std::vector<const nlohmann::ordered_json*> open = {&config};
  while (!open.empty()) {
    const auto& at = *open.back();
    open.pop_back();
    if (at.is_object() && at.contains("class_name") && at["class_name"] == "Lambda") {
      const auto inner = at.find("config");
      const bool named = inner != at.end() && inner->is_object() && inner->contains("name") &&
                         (*inner)["name"].is_string();
      notes->push_back("Lambda layer '" + (named ? (*inner)["name"].get<std::string>() : "") +
                       "' carries a function, which is never executed");
    }
    if (at.is_structured())
      for (const auto& item : at) open.push_back(&item);
  }
}

void note_lambdas_of(Checkpoint* out) {
  for (const Fact& fact : out->facts) {
    const std::string* text =
        fact.path == Path{"model_config"} ? std::get_if<std::string>(&fact.value) : nullptr;
    if (text) note_lambdas(parse_bounded_json(*text, out->file + ": model_config"), &out->notes);
  }
}

}  // namespace

Checkpoint read_hdf5(const std::string& path, const ReadLimits& limits) {
  Checkpoint out;
  out.file = path;
  out.format = "hdf5";
  const auto file = MappedFile::open(path);
  read_image({file, file->data(), file->size()}, path, limits, &out);
  for (const Fact& fact : out.facts)
    if (!fact.path.empty() && (fact.path.back() == "keras_version" ||
                               fact.path.back() == "layer_names" || fact.path[0] == "layers"))
      out.format = "keras hdf5";
  for (const Tensor& tensor : out.tensors)
    if (tensor.path[0] == "layers") out.format = "keras hdf5";
  note_lambdas_of(&out);
  return out;
}

Checkpoint read_keras(const std::string& path, const ReadLimits& limits) {
  Checkpoint out;
  out.file = path;
  out.format = "keras";
  const std::shared_ptr<Archive> archive = Archive::open(path);
  for (const std::string& name : archive->names())
    if (name.find("..") != std::string::npos || name[0] == '/')
      host::fail(host::Exit::kUnsafe,
                 path + ": member '" + name + "' leads out of the archive; it was made to mislead");
  const auto read_text = [&](const char* name) {
    const std::vector<uint8_t> bytes = archive->read(name, kMaxConfig);
    return std::string(bytes.begin(), bytes.end());
  };
  out.say({"model_config"}, read_text("config.json"));
  if (archive->has("metadata.json")) {
    const auto metadata = parse_bounded_json(read_text("metadata.json"), path + ": metadata.json");
    if (metadata.is_object())
      for (const auto& [key, value] : metadata.items())
        if (value.is_string()) out.say({key}, value.get<std::string>());
  }
  if (!archive->has("model.weights.h5"))
    host::fail(
        host::Exit::kUnsupported,
        path + ": has config.json and no model.weights.h5; save it with model.save('NAME.keras')");
  auto bytes =
      std::make_shared<const std::vector<uint8_t>>(archive->read("model.weights.h5", kMaxWeights));
  read_image({bytes, bytes->data(), bytes->size()}, path + ": model.weights.h5", limits, &out);
  note_lambdas_of(&out);
  return out;
}

}  // namespace ingot::checkpoint
