// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/torch/pickle.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <unordered_map>

#include "tools/checkpoint/torch/pickle_policy.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr size_t kMaxIntegerBytes = 64;  // writing one in decimals takes the square of them
constexpr uint64_t kMaxNodes = uint64_t{1} << 28;

void append_utf8(std::string* out, uint32_t c) {
  if (c < 0x80) {
    *out += char(c);
  } else if (c < 0x800) {
    *out += char(0xc0 | c >> 6);
    *out += char(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *out += char(0xe0 | c >> 12);
    *out += char(0x80 | (c >> 6 & 63));
    *out += char(0x80 | (c & 63));
  } else {
    *out += char(0xf0 | c >> 18);
    *out += char(0x80 | (c >> 12 & 63));
    *out += char(0x80 | (c >> 6 & 63));
    *out += char(0x80 | (c & 63));
  }
}

class Machine {
 public:
  Machine(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  ValueTree run(size_t* used) {
    while (!step()) {
    }
    if (used) *used = at_;
    return std::move(tree_);
  }

 private:
  [[noreturn]] void corrupt(const std::string& why) const {
    host::fail(host::Exit::kCorrupt, where_ + ": the pickle is not sound at byte " +
                                         std::to_string(start_) + ": " + why +
                                         "; get the file anew");
  }
  [[noreturn]] void unsafe(const std::string& what) const {
    host::fail(host::Exit::kUnsafe,
               where_ + ": the pickle wants to " + what + " (byte " + std::to_string(start_) +
                   "); it was not executed, save the weights as a state_dict or as safetensors");
  }

  // --- the stream
  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_)
      corrupt("expected " + std::to_string(count) + " more bytes, found " +
              std::to_string(bytes_.size() - at_));
    const std::string_view piece = bytes_.substr(at_, size_t(count));
    at_ += size_t(count);
    return piece;
  }
  uint64_t little(size_t count) {
    const std::string_view piece = take(count);
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) value |= uint64_t(uint8_t(piece[i])) << (8 * i);
    return value;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos)
      corrupt("expected the end of a line, found the end of the data");
    const std::string_view piece = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return piece;
  }

  // --- the stack
  NodeId add(NodeKind kind) {
    if (tree_.nodes.size() >= kMaxNodes)
      corrupt("more than " + std::to_string(kMaxNodes) + " objects");
    host::charge_metadata(sizeof(Node));
    tree_.nodes.emplace_back();
    tree_.nodes.back().kind = kind;
    return NodeId(tree_.nodes.size() - 1);
  }
  void push(NodeId id) { append(&stack_, id); }
  /// A list that grows holds its old items until the new ones are there.
  template <class T>
  static void append(std::vector<T>* to, T item) {
    if (to->size() == to->capacity()) host::charge_metadata((2 * to->size() + 1) * sizeof(T));
    to->push_back(item);
  }
  Node& push_new(NodeKind kind) {
    push(add(kind));
    return tree_.nodes.back();
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  NodeId pop() {
    if (stack_.size() <= floor()) corrupt("stack underflow");
    const NodeId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  NodeId top() const {
    if (stack_.size() <= floor()) corrupt("stack underflow");
    return stack_.back();
  }
  std::vector<NodeId> pop_mark() {
    if (marks_.empty()) corrupt("MARK is missing");
    const size_t from = marks_.back();
    marks_.pop_back();
    std::vector<NodeId> items(stack_.begin() + ptrdiff_t(from), stack_.end());
    host::charge_metadata(items.size() * sizeof(NodeId));
    stack_.resize(from);
    return items;
  }
  /// None, truths and small numbers are a byte or two in the file and one node each here: nothing
  /// changes them, so that all places share it.
  void push_shared(NodeKind kind, int64_t value) {
    const auto [place, is_new] = shared_.try_emplace({kind, value}, kNoNode);
    if (is_new) {
      place->second = add(kind);
      tree_.nodes[place->second].integer = value;
    }
    push(place->second);
  }
  void push_integer(int64_t value) {
    if (value >= -1 && value < 256) return push_shared(NodeKind::kInteger, value);
    push_new(NodeKind::kInteger).integer = value;
  }
  void push_text(NodeKind kind, std::string_view text) {
    host::charge_metadata(host::text_memory(text.size()));
    push_new(kind).text = std::string(text);
  }
  void push_items(NodeKind kind, std::vector<NodeId> items) {
    push_new(kind).items = std::move(items);
  }
  void push_tuple(size_t count) {
    std::vector<NodeId> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push_items(NodeKind::kTuple, std::move(items));
  }

  // --- the memo
  void remember(uint64_t key) {
    const NodeId id = top();
    const auto [place, is_new] = memo_.insert_or_assign(key, id);
    constexpr uint64_t kPlace = 48;  // its node and its part of the table
    if (is_new) host::charge_metadata(kPlace);
  }
  void recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) corrupt("memo " + std::to_string(key) + " was never stored");
    push(found->second);
  }
  uint64_t number(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      corrupt("'" + std::string(text.substr(0, 20)) + "' is no number");
    return value;
  }

  // --- containers
  void extend(NodeId into, const std::vector<NodeId>& items) {
    host::charge_metadata(2 * items.size() * sizeof(NodeId));
    Node& node = tree_.nodes[into];
    if (node.kind == NodeKind::kList || node.kind == NodeKind::kSet) {
      node.items.insert(node.items.end(), items.begin(), items.end());
    } else if (node.kind == NodeKind::kCall && (node.extra.empty() || !node.extra_is_pairs)) {
      node.extra.insert(node.extra.end(), items.begin(), items.end());
    } else {
      corrupt("items are added to what is no list");
    }
  }
  void set_items(NodeId into, const std::vector<NodeId>& pairs) {
    host::charge_metadata(2 * pairs.size() * sizeof(NodeId));
    Node& node = tree_.nodes[into];
    if (pairs.size() % 2) corrupt("a key without a value");
    if (node.kind == NodeKind::kDict) {
      node.items.insert(node.items.end(), pairs.begin(), pairs.end());
    } else if (node.kind == NodeKind::kCall && (node.extra.empty() || node.extra_is_pairs)) {
      node.extra_is_pairs = true;
      node.extra.insert(node.extra.end(), pairs.begin(), pairs.end());
    } else {
      corrupt("a key is set in what is no dictionary");
    }
  }
  void call(NodeId callable, std::vector<NodeId> arguments, bool makes_object = false) {
    const Node& target = tree_.at(callable);
    if (target.kind == NodeKind::kGlobal) {
      const size_t cut = target.text.find('\n');
      const std::string module = target.text.substr(0, cut), name = target.text.substr(cut + 1);
      if (!(makes_object ? makes_instance : stands_for_data)(module, name))
        unsafe("call " + module + "." + name);
    } else if (target.kind != NodeKind::kPersistent) {  // an old torch file names a class so
      unsafe("call something that it made itself");
    }
    push_items(NodeKind::kCall, {callable});
    Node& made = tree_.nodes.back();
    made.items.insert(made.items.end(), arguments.begin(), arguments.end());
  }
  /// TorchScript writes the value of an enumeration bare, where Python wants a tuple.
  bool is_enumeration(NodeId callable, NodeId argument) const {
    const Node& type = tree_.at(callable);
    const NodeKind kind = tree_.at(argument).kind;
    return type.kind == NodeKind::kGlobal && type.text.rfind("__torch__.", 0) == 0 &&
           (kind == NodeKind::kText || kind == NodeKind::kInteger || kind == NodeKind::kFloat);
  }
  std::vector<NodeId> arguments(NodeId tuple) {
    if (tree_.at(tuple).kind != NodeKind::kTuple) corrupt("a call's arguments are no tuple");
    // one tuple may be many calls' arguments
    host::charge_metadata(tree_.at(tuple).items.size() * sizeof(NodeId));
    return tree_.at(tuple).items;
  }
  void push_global(std::string_view module, std::string_view name) {
    push_text(NodeKind::kGlobal, std::string(module) + "\n" + std::string(name));
  }

  // --- numbers and texts
  void push_long(std::string_view raw) {
    if (raw.size() <= 8) {
      uint64_t value = 0;
      for (size_t i = 0; i < raw.size(); i++) value |= uint64_t(uint8_t(raw[i])) << (8 * i);
      if (!raw.empty() && raw.size() < 8 && (uint8_t(raw.back()) & 0x80))
        value |= ~uint64_t{0} << (8 * raw.size());
      push_integer(int64_t(value));
      return;
    }
    // Larger than any index: kept as Python writes it, so that a key has its name and whoever needs
    // a number says that it is none.
    if (raw.size() > kMaxIntegerBytes)
      corrupt("an integer of " + std::to_string(raw.size()) + " bytes, at most " +
              std::to_string(kMaxIntegerBytes) + " are read");
    std::vector<uint8_t> bytes(raw.begin(), raw.end());
    const bool negative = (bytes.back() & 0x80) != 0;
    for (size_t i = 0, carry = 1; negative && i < bytes.size(); i++) {
      const unsigned inverted = unsigned(uint8_t(~bytes[i])) + unsigned(carry);
      bytes[i] = uint8_t(inverted);
      carry = inverted >> 8;
    }
    std::string digits;
    while (!bytes.empty()) {
      unsigned rest = 0;
      for (size_t i = bytes.size(); i-- > 0;) {
        const unsigned value = rest << 8 | bytes[i];
        bytes[i] = uint8_t(value / 10);
        rest = value % 10;
      }
      digits += char('0' + rest);
      while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
    }
    if (negative) digits += '-';
    std::reverse(digits.begin(), digits.end());
    int64_t small = 0;  // nine bytes may hold fewer bits than 64
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), small);
    if (error == std::errc() && end == digits.data() + digits.size()) return push_integer(small);
    push_text(NodeKind::kText, digits);
  }
  void push_decimal(std::string_view text) {
    if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range && end == text.data() + text.size() &&
        text.size() <= size_t{3} * kMaxIntegerBytes) {
      push_text(NodeKind::kText, text);
      return;
    }
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
      corrupt("'" + std::string(text.substr(0, 20)) + "' is no integer");
    push_integer(value);
  }
  void push_float_text(std::string_view text) {
    const std::string copy(text);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end) corrupt("'" + copy.substr(0, 20) + "' is no number");
    push_new(NodeKind::kFloat).number = value;
  }
  void push_float_bits(std::string_view raw) {
    uint64_t bits = 0;
    for (const char c : raw) bits = bits << 8 | uint8_t(c);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    push_new(NodeKind::kFloat).number = value;
  }
  std::string unescape(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
      if (text[i] != '\\' || i + 1 == text.size()) {
        out += text[i];
        continue;
      }
      const char c = text[++i];
      if (c == 'n')
        out += '\n';
      else if (c == 't')
        out += '\t';
      else if (c == 'r')
        out += '\r';
      else if (c == 'x' && i + 2 < text.size()) {
        unsigned value = 0;
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
        out += char(value);
        i += 2;
      } else
        out += c;
    }
    return out;
  }
  void push_quoted(std::string_view text) {
    if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0])
      corrupt("a string without its quotes");
    push_text(NodeKind::kText, unescape(text.substr(1, text.size() - 2)));
  }
  void push_raw_unicode(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
      const bool four = text[i] == '\\' && i + 5 < text.size() && text[i + 1] == 'u';
      const bool eight = text[i] == '\\' && i + 9 < text.size() && text[i + 1] == 'U';
      if (!four && !eight) {
        append_utf8(&out, uint8_t(text[i]));
        continue;
      }
      uint32_t value = 0;
      std::from_chars(text.data() + i + 2, text.data() + i + (four ? 6 : 10), value, 16);
      append_utf8(&out, value);
      i += four ? 5 : 9;
    }
    push_text(NodeKind::kText, out);
  }

  bool step();
  bool step_short(uint8_t op);
  bool step_new(uint8_t op);

  std::string_view bytes_;
  const std::string& where_;
  size_t at_ = 0, start_ = 0;
  ValueTree tree_;
  std::vector<NodeId> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, NodeId> memo_;
  std::map<std::pair<NodeKind, int64_t>, NodeId> shared_;
};

/// True after STOP.
bool Machine::step() {
  start_ = at_;
  if (at_ == bytes_.size()) corrupt("the data end before STOP");
  const uint8_t op = uint8_t(take(1)[0]);
  return op >= 0x80 ? step_new(op) : step_short(op);
}

/// Protocols 0 and 1, and the letters that later ones took.
bool Machine::step_short(uint8_t op) {
  switch (op) {
    case '(': append(&marks_, stack_.size()); return false;
    case '.': tree_.root = pop(); return true;
    case '0':
      if (stack_.size() > floor())
        stack_.pop_back();
      else
        (void)pop_mark();
      return false;
    case '1': (void)pop_mark(); return false;
    case '2': push(top()); return false;
    case 'F': push_float_text(line()); return false;
    case 'G': push_float_bits(take(8)); return false;
    case 'I': {
      const std::string_view text = line();
      if (text == "00" || text == "01")
        push_shared(NodeKind::kBool, text == "01");
      else
        push_decimal(text);
      return false;
    }
    case 'J': push_integer(int32_t(uint32_t(little(4)))); return false;
    case 'K': push_integer(int64_t(little(1))); return false;
    case 'M': push_integer(int64_t(little(2))); return false;
    case 'L': push_decimal(line()); return false;
    case 'N': push_shared(NodeKind::kNone, 0); return false;
    case 'P': push_text(NodeKind::kText, line()); [[fallthrough]];
    case 'Q': {
      const NodeId id = pop();
      push_items(NodeKind::kPersistent, {id});
      return false;
    }
    case 'R': {
      const NodeId tuple = pop(), callable = pop();
      call(callable,
           is_enumeration(callable, tuple) ? std::vector<NodeId>{tuple} : arguments(tuple));
      return false;
    }
    case 'S': push_quoted(line()); return false;
    case 'T': push_text(NodeKind::kText, take(little(4))); return false;
    case 'U': push_text(NodeKind::kText, take(little(1))); return false;
    case 'V': push_raw_unicode(line()); return false;
    case 'X': push_text(NodeKind::kText, take(little(4))); return false;
    case 'B': push_text(NodeKind::kBytes, take(little(4))); return false;
    case 'C': push_text(NodeKind::kBytes, take(little(1))); return false;
    case 'a': {
      const NodeId item = pop();
      extend(top(), {item});
      return false;
    }
    case 'e': {
      const std::vector<NodeId> items = pop_mark();
      extend(top(), items);
      return false;
    }
    case 'b': {
      const NodeId state = pop();
      Node& built = tree_.nodes[top()];
      if (built.kind == NodeKind::kCall) built.state = state;  // others have nothing to keep it in
      return false;
    }
    case 'c': {
      const std::string_view module = line();
      push_global(module, line());
      return false;
    }
    case 'd': {
      std::vector<NodeId> items = pop_mark();
      if (items.size() % 2) corrupt("a key without a value");
      push_items(NodeKind::kDict, std::move(items));
      return false;
    }
    case '}': push_new(NodeKind::kDict); return false;
    case ']': push_new(NodeKind::kList); return false;
    case ')': push_new(NodeKind::kTuple); return false;
    case 'l': push_items(NodeKind::kList, pop_mark()); return false;
    case 't': push_items(NodeKind::kTuple, pop_mark()); return false;
    case 's': {
      const NodeId value = pop(), key = pop();
      set_items(top(), {key, value});
      return false;
    }
    case 'u': {
      const std::vector<NodeId> pairs = pop_mark();
      set_items(top(), pairs);
      return false;
    }
    case 'g': recall(number(line())); return false;
    case 'h': recall(little(1)); return false;
    case 'j': recall(little(4)); return false;
    case 'p': remember(number(line())); return false;
    case 'q': remember(little(1)); return false;
    case 'r': remember(little(4)); return false;
    case 'i': {
      const std::string_view module = line();
      unsafe("make an object of " + std::string(module) + "." + std::string(line()) +
             " (opcode INST)");
    }
    case 'o': unsafe("make an object (opcode OBJ)");
    default: corrupt("unknown opcode " + std::to_string(op));
  }
}

/// Protocols 2 to 5.
bool Machine::step_new(uint8_t op) {
  switch (op) {
    case 0x80: {
      const uint64_t protocol = little(1);
      if (protocol > 5) corrupt("protocol " + std::to_string(protocol) + ", expected at most 5");
      return false;
    }
    case 0x81: {
      const NodeId tuple = pop(), type = pop();
      call(type, arguments(tuple), true);
      return false;
    }
    case 0x92: {
      const NodeId keywords = pop(), tuple = pop(), type = pop();
      (void)keywords;
      call(type, arguments(tuple), true);
      return false;
    }
    case 0x82:
    case 0x83:
    case 0x84:
      unsafe("call an extension by its number (opcode EXT" +
             std::to_string(op == 0x82   ? 1
                            : op == 0x83 ? 2
                                         : 4) +
             ")");
    case 0x85: push_tuple(1); return false;
    case 0x86: push_tuple(2); return false;
    case 0x87: push_tuple(3); return false;
    case 0x88:
    case 0x89: push_shared(NodeKind::kBool, op == 0x88); return false;
    case 0x8a: push_long(take(little(1))); return false;
    case 0x8b: push_long(take(little(4))); return false;
    case 0x8c: push_text(NodeKind::kText, take(little(1))); return false;
    case 0x8d: push_text(NodeKind::kText, take(little(8))); return false;
    case 0x8e: push_text(NodeKind::kBytes, take(little(8))); return false;
    case 0x96: push_text(NodeKind::kBytes, take(little(8))); return false;
    case 0x8f: push_new(NodeKind::kSet); return false;
    case 0x90: {
      const std::vector<NodeId> items = pop_mark();
      extend(top(), items);
      return false;
    }
    case 0x91: push_items(NodeKind::kSet, pop_mark()); return false;
    case 0x93: {
      const NodeId name = pop(), module = pop();
      if (tree_.at(name).kind != NodeKind::kText || tree_.at(module).kind != NodeKind::kText)
        corrupt("a global's name is no text");
      const std::string module_text = tree_.at(module).text, name_text = tree_.at(name).text;
      push_global(module_text, name_text);
      return false;
    }
    case 0x94: remember(memo_.size()); return false;
    case 0x95: (void)take(8); return false;  // a frame's length: the opcodes say the same
    case 0x97:
    case 0x98: unsafe("take bytes from outside the file (opcode NEXT_BUFFER)");
    default: corrupt("unknown opcode " + std::to_string(op));
  }
}

}  // namespace

ValueTree read_pickle(std::string_view bytes, const std::string& where, size_t* used) {
  return Machine(bytes, where).run(used);
}

}  // namespace ingot::checkpoint
