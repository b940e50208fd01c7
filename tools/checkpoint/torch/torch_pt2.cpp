// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_pt2.cpp - the weights of torch.export's archives. Two containers:
//   until 2.7   serialized_state_dict.pt and serialized_constants.pt, each a file of torch.save()
//   inside the archive
//   since 2.8   NAME/data/weights and NAME/data/constants: raw members, and a configuration that
//   says what each is
// Constants (what the program brought along beside its state) lie below "constants". Example inputs
// are no weights and are not read.
#include <algorithm>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
constexpr uint64_t kMaxJson = 256 << 20;
constexpr int kMaxPt2Depth = 64;
constexpr uint64_t kMaxNested = uint64_t{1} << 40;

/// Numbers of torch's ScalarType in the schema of exported programs.
struct Scalar {
  int number;
  ElementType type;
};
constexpr Scalar kScalars[] = {
    {1, ElementType::kU8},     {2, ElementType::kI8},    {3, ElementType::kI16},
    {4, ElementType::kI32},    {5, ElementType::kI64},   {6, ElementType::kF16},
    {7, ElementType::kF32},    {8, ElementType::kF64},   {9, ElementType::kC32},
    {10, ElementType::kC64},   {11, ElementType::kC128}, {12, ElementType::kBool},
    {13, ElementType::kBf16},  {28, ElementType::kU16},  {29, ElementType::kF8E4M3},
    {30, ElementType::kF8E5M2}};
constexpr int kStrided = 7;

/// Drops everything but the version as it comes.
class ProgramVersion : public nlohmann::json_sax<Json> {
 public:
  bool is_object = false;
  std::string version;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override {
    if (depth_ == 1 && is_version_) version = value;
    return true;
  }
  bool key(string_t& value) override {
    is_version_ = value == "torch_version";
    return true;
  }
  bool start_object(std::size_t) override {
    is_object = is_object || depth_ == 0;
    depth_++;
    return true;
  }
  bool start_array(std::size_t) override { return depth_++ >= 0; }
  bool end_object() override { return depth_-- > 0; }
  bool end_array() override { return depth_-- > 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  int64_t depth_ = 0;
  bool is_version_ = false;
};

class Pt2Reader {
 public:
  Pt2Reader(std::shared_ptr<Archive> archive, const std::string& path, const ReadLimits& limits)
      : archive_(std::move(archive)), path_(path), limits_(limits) {}

  Checkpoint read() {
    out_.file = path_;
    out_.format = "torch pt2";
    if (archive_->has("serialized_exported_program.json")) {
      read_flat();
    } else {
      find_root();
      read_folders();
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& where, const std::string& why) const {
    host::fail(host::Exit::kCorrupt,
               path_ + ": " + where + ": " + why + "; the file is damaged or was made to mislead");
  }

  void read_flat() {
    say_program("serialized_exported_program.json");
    bool found = false;
    for (const char* end : {".pt", ".json"}) {  // 2.1 called a pickle JSON
      const std::string state = std::string("serialized_state_dict") + end,
                        constants = std::string("serialized_constants") + end;
      if (archive_->has(state)) {
        found = true;
        add_nested(state, {});
      }
      if (archive_->has(constants) && archive_->size(constants) > 0)
        add_nested(constants, {"constants"});
    }
    if (!found) refuse("the archive", "has no serialized_state_dict.pt");
  }

  /// A file of torch.save(); what it holds goes below `below`.
  void add_nested(const std::string& member, const Path& below) {
    const std::string name = path_ + ": member '" + member + "'";
    Checkpoint part = read_torch_archive(
        Archive::open_bytes(archive_->read(member, kMaxNested), name), name, limits_);
    for (Tensor& tensor : part.tensors) {
      tensor.path.insert(tensor.path.begin(), below.begin(), below.end());
      out_.add(std::move(tensor));
    }
    for (std::string& note : part.notes) out_.notes.push_back(std::move(note));
  }

  void find_root() {
    for (const std::string& name : archive_->names()) {
      if (!name.ends_with("/archive_format")) continue;
      const std::string root = name.substr(0, name.size() - 14);
      if (!root_.empty() && root != root_)
        refuse("the archive", "has two roots, '" + root_ + "' and '" + root + "'");
      root_ = root;
    }
    if (archive_->has(root_ + "byteorder")) {
      const std::vector<uint8_t> order = archive_->read(root_ + "byteorder", 64);
      const std::string text(order.begin(), order.end());
      if (text != "little" && text != "big")
        refuse(root_ + "byteorder", "is '" + text + "', expected little or big");
      swapped_ = text == "big";
      if (swapped_)
        out_.notes.push_back("was saved on a big-endian machine; its bytes are swapped");
    }
  }

  void read_folders() {
    std::vector<std::string> models;
    for (const std::string& name : archive_->names())
      if (name.rfind(root_ + "models/", 0) == 0 && name.ends_with(".json"))
        models.push_back(name.substr(root_.size() + 7, name.size() - root_.size() - 7 - 5));
    if (models.empty()) refuse("the archive", "has no models/NAME.json");
    for (const std::string& model : models) {
      const Path below = models.size() > 1 ? Path{model} : Path{};
      Path constants = below;
      constants.push_back("constants");
      say_program(root_ + "models/" + model + ".json");
      read_folder(root_ + "data/weights/", model, "weights", below);
      read_folder(root_ + "data/constants/", model, "constants", constants);
    }
  }

  void read_folder(const std::string& folder, const std::string& model, const std::string& kind,
                   const Path& below) {
    const std::string plain = folder + model + "_" + kind + "_config.json",
                      pickled = folder + model + ".pt";
    if (archive_->has(plain)) return read_config(plain, folder, below);
    if (archive_->has(pickled) && archive_->size(pickled) > 0) return add_nested(pickled, below);
    if (kind == "weights")
      refuse("the archive", "has neither '" + plain + "' nor '" + pickled + "'");
  }

  /// Only the version is of interest here; the graph is dropped while it is parsed.
  void say_program(const std::string& member) {
    const std::vector<uint8_t> text = archive_->read(member, kMaxJson);
    ProgramVersion program;
    // as char: not every C++ library has char_traits of bytes
    const char* const begin = reinterpret_cast<const char*>(text.data());
    const bool sound = Json::sax_parse(begin, begin + text.size(), &program);
    if (!sound || !program.is_object) refuse("member '" + member + "'", "is no exported program");
    if (!program.version.empty()) out_.say({"torch_version"}, program.version);
  }

  void read_config(const std::string& member, const std::string& folder, const Path& below) {
    const std::string where = "member '" + member + "'";
    const std::vector<uint8_t> text = archive_->read(member, kMaxJson);
    const Json config =
        parse_bounded_json({reinterpret_cast<const char*>(text.data()), text.size()},
                           path_ + ": " + where, kMaxPt2Depth);
    const auto tensors = config.is_object() ? config.find("config") : config.end();
    if (tensors == config.end() || !tensors->is_object())
      refuse(where, "has no table named config");
    if (tensors->size() > limits_.entries) refuse(where, "names too many tensors");
    for (const auto& [name, entry] : tensors->items()) add(name, entry, folder, below);
  }

  void add(const std::string& name, const Json& entry, const std::string& folder,
           const Path& below) {
    const std::string where = "tensor '" + name + "'";
    try {
      const std::string file = entry.at("path_name").get<std::string>();
      const bool pickled = entry.value("use_pickle", false);
      if (file.rfind("tensor", 0) != 0 && file.rfind("weight", 0) != 0) {  // custom_obj_0
        out_.notes.push_back("'" + name + "' is an object of a custom class, which is no weight");
        return;
      }
      if (!archive_->has(folder + file))
        refuse(where, "its bytes '" + folder + file + "' are not in the archive");
      Tensor t;
      if (pickled) {
        Checkpoint one = read_torch_archive(
            Archive::open_bytes(archive_->read(folder + file, kMaxNested), path_ + ": " + where),
            path_ + ": " + where, limits_);
        if (one.tensors.size() != 1)
          refuse(where, "is pickled, and the pickle holds no single tensor");
        t = std::move(one.tensors[0]);
      } else {
        set_view(entry.at("tensor_meta"), where, &t);
        std::shared_ptr<const Storage>& storage = storages_[folder + file];  // tied weights share
        if (!storage) storage = Archive::member(archive_, folder + file);
        t.storage = storage;
        validate_view(t, limits_, path_ + ": " + where);
      }
      t.path = below;
      t.path.push_back(name);
      t.is_parameter = entry.value("is_param", false);
      out_.add(std::move(t));
    } catch (const Json::exception& error) {
      refuse(where, std::string("its description cannot be read: ") + error.what());
    }
  }

  static int64_t number(const Json& value) { return value.at("as_int").get<int64_t>(); }

  void set_view(const Json& meta, const std::string& where, Tensor* t) {
    const int type = meta.at("dtype").get<int>(), layout = meta.at("layout").get<int>();
    const Scalar* scalar = std::find_if(std::begin(kScalars), std::end(kScalars),
                                        [&](const Scalar& s) { return s.number == type; });
    if (scalar == std::end(kScalars) || layout != kStrided)
      host::fail(host::Exit::kUnsupported, path_ + ": " + where + " has torch's element type " +
                                               std::to_string(type) + " and layout " +
                                               std::to_string(layout) +
                                               ", which is not read; export plain dense weights");
    t->type = scalar->type;
    for (const Json& d : meta.at("sizes")) t->dims.push_back(number(d));
    for (const Json& s : meta.at("strides")) t->strides.push_back(number(s));
    const int64_t offset = number(meta.at("storage_offset"));
    if (offset < 0) refuse(where, "starts at element " + std::to_string(offset));
    t->offset = uint64_t(offset);
    t->swapped = swapped_ && scalar_bytes(t->type) > 1;
    const Json& device = meta.at("device");
    t->location = device.at("type").get<std::string>();
    if (device.contains("index") && device["index"].is_number_integer())
      t->location += ":" + std::to_string(device["index"].get<int64_t>());
  }

  std::shared_ptr<Archive> archive_;
  const std::string& path_;
  const ReadLimits& limits_;
  std::string root_;
  bool swapped_ = false;
  std::map<std::string, std::shared_ptr<const Storage>> storages_;
  Checkpoint out_;
};

}  // namespace

Checkpoint read_torch_pt2(const std::shared_ptr<Archive>& archive, const std::string& path,
                          const ReadLimits& limits) {
  return Pt2Reader(archive, path, limits).read();
}

}  // namespace ingot::checkpoint
