// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/torch/mobile_program.h"

#include "mobile_program_generated.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

/// Storages by torch's numbers of scalar types.
constexpr const char* kStorages[] = {
    "Byte", "Char",         "Short",         "Int",  "Long",  "Half",   "Float",  "Double",
    "",     "ComplexFloat", "ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16"};
constexpr int kPerTensor = 0, kPerChannel = 1, kPerChannelFloat = 4;  // schemes of quantization

class FlatStorages : public StorageSource {
 public:
  FlatStorages(std::shared_ptr<const MappedFile> file, const mobile::Program* program)
      : file_(std::move(file)), program_(program) {}
  std::shared_ptr<const Storage> find(const StorageId& id, const std::string& where) override {
    const auto* all = program_->storages();
    const uint64_t at = std::stoull(id.key);
    const auto* bytes = all && at < all->size() ? all->Get(uint32_t(at))->bytes() : nullptr;
    const uint64_t held = bytes ? bytes->size() : 0;
    if (id.elements > held / element_bytes(id.type))
      host::fail(host::Exit::kCorrupt, where + ": its storage " + id.key + " has " +
                                           std::to_string(held) + " bytes, expected " +
                                           std::to_string(id.elements) + " elements of " +
                                           std::to_string(element_bytes(id.type)));
    if (!held) return memory_storage({});
    return mapped_storage(file_, uint64_t(bytes->data() - file_->data()),
                          id.elements * element_bytes(id.type));
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  const mobile::Program* program_;
};

class FlatReader {
 public:
  explicit FlatReader(const std::string& path) : path_(path), file_(MappedFile::open(path)) {
    flatbuffers::Verifier verifier(file_->data(), size_t(file_->size()), 64,
                                   flatbuffers::uoffset_t(file_->size() / 4 + 1));
    if (!mobile::VerifyProgramBuffer(verifier))
      host::fail(host::Exit::kCorrupt,
                 path + ": is no sound program of PyTorch Mobile (FlatBuffers); get the file anew");
    program_ = mobile::GetProgram(file_->data());
  }
  MobileProgram read(MobilePart part) {
    const uint32_t count = program_->values() ? program_->values()->size() : 0;
    host::charge_metadata(uint64_t{count} * sizeof(Node));
    tree_.nodes.resize(count);
    for (NodeId id = 0; id < count; id++) fill(id, program_->values()->Get(id));
    tree_.root = part == MobilePart::kObject ? value(program_->object()) : bytecode();
    return {std::move(tree_), std::make_unique<FlatStorages>(file_, program_)};
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt, path_ + ": " + why + "; the file is damaged");
  }
  using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

  // New nodes.
  NodeId add(NodeKind kind, std::vector<NodeId> items = {}) {
    host::charge_metadata(sizeof(Node) + items.size() * sizeof(NodeId));
    Node& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.items = std::move(items);
    return NodeId(tree_.nodes.size() - 1);
  }
  NodeId integer(int64_t number) {
    const NodeId id = add(NodeKind::kInteger);
    tree_.nodes[id].integer = number;
    return id;
  }
  NodeId floating(double number) {
    const NodeId id = add(NodeKind::kFloat);
    tree_.nodes[id].number = number;
    return id;
  }
  NodeId text(const std::string& text, NodeKind kind = NodeKind::kText) {
    host::charge_metadata(text.size());
    const NodeId id = add(kind);
    tree_.nodes[id].text = text;
    return id;
  }
  NodeId text(const flatbuffers::String* given) { return text(given ? given->str() : ""); }
  NodeId global(const std::string& module, const std::string& name) {
    return text(module + "\n" + name, NodeKind::kGlobal);
  }
  NodeId truth(bool is_true) {
    const NodeId id = add(NodeKind::kBool);
    tree_.nodes[id].integer = is_true;
    return id;
  }
  NodeId named(const char* name, NodeId value) {
    return add(NodeKind::kTuple, {text(std::string(name)), value});
  }

  // Values by their number.
  NodeId value(uint32_t number) const {
    if (!program_->values() || number >= program_->values()->size())
      refuse("refers to value " + std::to_string(number) + ", which it does not have");
    return NodeId(number);
  }
  std::vector<NodeId> values(const flatbuffers::Vector<uint32_t>* numbers) const {
    std::vector<NodeId> out;
    if (!numbers) return out;
    host::charge_metadata(uint64_t{numbers->size()} * sizeof(NodeId));
    for (const uint32_t number : *numbers) out.push_back(value(number));
    return out;
  }
  void set(NodeId id, NodeKind kind, std::vector<NodeId> items) {
    tree_.nodes[id].kind = kind;
    tree_.nodes[id].items = std::move(items);
  }

  void fill(NodeId id, const mobile::Value* given) {
    host::charge_work(1);
    Node& node = tree_.nodes[id];  // a deque: it stays where it is
    switch (given->of_type()) {
      case mobile::Any::Whole:
        node.kind = NodeKind::kInteger;
        node.integer = given->of_as_Whole()->number();
        return;
      case mobile::Any::Truth:
        node.kind = NodeKind::kBool;
        node.integer = given->of_as_Truth()->is_true();
        return;
      case mobile::Any::Floating:
        node.kind = NodeKind::kFloat;
        node.number = given->of_as_Floating()->number();
        return;
      case mobile::Any::Text: return set_text(id, given->of_as_Text()->text());
      case mobile::Any::Device: return set_text(id, given->of_as_Device()->name());
      case mobile::Any::Tensor: return fill_tensor(id, *given->of_as_Tensor());
      case mobile::Any::List: return set(id, NodeKind::kList, values(given->of_as_List()->items()));
      case mobile::Any::Tuple:
        return set(id, NodeKind::kTuple, values(given->of_as_Tuple()->items()));
      case mobile::Any::Wholes: return fill_list(id, given->of_as_Wholes()->items());
      case mobile::Any::Floatings: return fill_list(id, given->of_as_Floatings()->items());
      case mobile::Any::Truths: return fill_list(id, given->of_as_Truths()->items());
      case mobile::Any::Dictionary: return fill_dictionary(id, *given->of_as_Dictionary());
      case mobile::Any::Object: return fill_object(id, *given->of_as_Object());
      case mobile::Any::Method: methods_.push_back(given->of_as_Method()); return;
      case mobile::Any::Choice:
        tree_.nodes[id] = tree_.at(value(given->of_as_Choice()->value()));
        return;
      case mobile::Any::Complex:
      case mobile::Any::NONE: return;  // None
    }
  }
  void set_text(NodeId id, const flatbuffers::String* given) {
    tree_.nodes[id].kind = NodeKind::kText;
    if (!given) return;
    host::charge_metadata(given->size());
    tree_.nodes[id].text = given->str();
  }
  template <class Items>
  void fill_list(NodeId id, const Items* items) {
    std::vector<NodeId> nodes;
    using Item = std::decay_t<decltype(items->Get(0))>;  // value_type is newer than 2.0
    for (size_t i = 0; items && i < items->size(); i++) {
      const Item item = items->Get(flatbuffers::uoffset_t(i));
      if constexpr (std::is_same_v<Item, double>)
        nodes.push_back(floating(item));
      else if constexpr (std::is_same_v<Item, uint8_t>)
        nodes.push_back(truth(item != 0));
      else
        nodes.push_back(integer(item));
    }
    set(id, NodeKind::kList, std::move(nodes));
  }
  void fill_dictionary(NodeId id, const mobile::Dictionary& given) {
    const std::vector<NodeId> keys = values(given.keys()), held = values(given.values());
    if (keys.size() != held.size()) refuse("a dictionary has a key without a value");
    std::vector<NodeId> pairs;
    for (size_t i = 0; i < keys.size(); i++) pairs.insert(pairs.end(), {keys[i], held[i]});
    set(id, NodeKind::kDict, std::move(pairs));
  }
  /// NEWOBJ and BUILD: what the class takes as its state, else a dictionary of its attributes.
  void fill_object(NodeId id, const mobile::Object& given) {
    const auto* classes = program_->classes();
    if (!classes || given.class_() >= classes->size())
      refuse("an object is of class " + std::to_string(given.class_()) +
             ", which it does not have");
    const mobile::Class& type = *classes->Get(given.class_());
    const std::string name = type.name() ? type.name()->str() : "";
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) refuse("a class is named '" + name + "'");
    const NodeId made = global(name.substr(0, dot), name.substr(dot + 1));
    constexpr int kWithAttributes = 1;
    NodeId state = kNoNode;
    if (type.kind() == kWithAttributes) {
      const std::vector<NodeId> held = values(given.attributes());
      if (held.size() != (type.attributes() ? type.attributes()->size() : 0))
        refuse("an object of '" + name + "' has " + std::to_string(held.size()) +
               " attributes, its class another number");
      std::vector<NodeId> pairs;
      for (size_t i = 0; i < held.size(); i++)
        pairs.insert(pairs.end(), {text(type.attributes()->Get(uint32_t(i))), held[i]});
      state = add(NodeKind::kDict, std::move(pairs));
    } else {
      state = value(given.state());
    }
    set(id, NodeKind::kCall, {made});
    tree_.nodes[id].state = state;
  }

  // Tensors: _rebuild_tensor_v2(storage, offset, size, stride, ...).
  NodeId numbers(const flatbuffers::Vector<int32_t>* given) {
    std::vector<NodeId> items;
    for (size_t i = 0; given && i < given->size(); i++)
      items.push_back(integer(given->Get(flatbuffers::uoffset_t(i))));
    return add(NodeKind::kTuple, std::move(items));
  }
  void fill_tensor(NodeId id, const mobile::Tensor& given) {
    const auto type = size_t(uint8_t(given.type()));
    if (type >= std::size(kStorages) || !*kStorages[type])
      refuse("a tensor has elements of torch's type " + std::to_string(given.type()));
    const std::string storage = std::string(kStorages[type]) + "Storage";
    ElementType element;
    bool is_quantized = false;
    if (!from_torch(storage, &element, &is_quantized))
      refuse("a tensor has elements of torch's type " + std::to_string(given.type()));
    const auto* all = program_->storages();
    const auto* bytes =
        all && given.storage() < all->size() ? all->Get(given.storage())->bytes() : nullptr;
    const uint64_t held = bytes ? bytes->size() : 0;
    const NodeId place =
        add(NodeKind::kTuple, {text(std::string("storage")), global("torch", storage),
                               text(std::to_string(given.storage())), text(std::string("cpu")),
                               integer(int64_t(held / element_bytes(element)))});
    std::vector<NodeId> call = {
        global("torch._utils", is_quantized ? "_rebuild_qtensor" : "_rebuild_tensor_v2"),
        add(NodeKind::kPersistent, {place}), integer(given.offset()), numbers(given.sizes()),
        numbers(given.strides())};
    if (is_quantized) call.push_back(quantizer(given.quantization()));
    call.push_back(truth(false));
    call.push_back(add(NodeKind::kDict));
    set(id, NodeKind::kCall, std::move(call));
  }
  NodeId quantizer(const mobile::Quantization* given) {
    if (!given) refuse("a quantized tensor has no scale");
    if (given->scheme() == kPerTensor)
      return add(NodeKind::kTuple, {global("torch", "per_tensor_affine"), floating(given->scale()),
                                    integer(given->zero_point())});
    const bool is_float = given->scheme() == kPerChannelFloat;
    if ((given->scheme() != kPerChannel && !is_float) || !given->scales() || !given->zero_points())
      refuse("a tensor is quantized by scheme " + std::to_string(given->scheme()));
    const NodeId scales = add(NodeKind::kNone), zero_points = add(NodeKind::kNone);
    if (given->scales()->quantization() || given->zero_points()->quantization())
      refuse("the scales of a quantized tensor are quantized");
    fill_tensor(scales, *given->scales());
    fill_tensor(zero_points, *given->zero_points());
    return add(NodeKind::kTuple, {global("torch", is_float ? "per_channel_affine_float_qparams"
                                                           : "per_channel_affine"),
                                  scales, zero_points, integer(given->axis())});
  }

  // The program, as bytecode.pkl has it; instructions by their numbers, which that spells.
  NodeId bytecode() {
    std::vector<NodeId> all = {integer(program_->version())};
    for (const mobile::Method* method : methods_) all.push_back(method_tree(*method));
    return add(NodeKind::kTuple, std::move(all));
  }
  NodeId method_tree(const mobile::Method& method) {
    std::vector<NodeId> instructions, operators, types, arguments;
    if (method.instructions())
      for (const mobile::Instruction* i : *method.instructions())
        instructions.push_back(add(
            NodeKind::kTuple, {integer(uint8_t(i->opcode())), integer(i->x()), integer(i->n())}));
    if (method.operators())
      for (const mobile::Operator* op : *method.operators())
        operators.push_back(add(
            NodeKind::kTuple, {text(op->name()), text(op->overload()), integer(op->arguments())}));
    if (method.types())
      for (const flatbuffers::String* type : *method.types()) types.push_back(text(type));
    if (method.signature() && method.signature()->arguments())
      for (const mobile::Argument* a : *method.signature()->arguments())
        arguments.push_back(
            add(NodeKind::kTuple, {named("name", text(a->name())), named("type", text(a->type())),
                                   named("default_value", value(a->otherwise()))}));
    const NodeId code = add(NodeKind::kTuple,
                            {named("instructions", add(NodeKind::kTuple, std::move(instructions))),
                             named("operators", add(NodeKind::kTuple, std::move(operators))),
                             named("constants", add(NodeKind::kTuple, values(method.constants()))),
                             named("types", add(NodeKind::kTuple, std::move(types)))});
    const NodeId schema =
        add(NodeKind::kTuple, {named("arguments", add(NodeKind::kTuple, std::move(arguments)))});
    return add(NodeKind::kTuple, {text(method.name()), code, schema});
  }

  const std::string& path_;
  std::shared_ptr<const MappedFile> file_;
  const mobile::Program* program_ = nullptr;
  ValueTree tree_;
  std::vector<const mobile::Method*> methods_;
};

}  // namespace

MobileProgram read_mobile_program(const std::string& path, MobilePart part) {
  return FlatReader(path).read(part);
}

Checkpoint read_mobile_weights(const std::string& path, const ReadLimits& limits) {
  MobileProgram program = read_mobile_program(path, MobilePart::kObject);
  Checkpoint out;
  out.file = path;
  out.format = "torchscript";
  collect_torch(program.tree, program.storages.get(), limits, &out);
  return out;
}

}  // namespace ingot::checkpoint
