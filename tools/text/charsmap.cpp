// SPDX-License-Identifier: Apache-2.0
// tools/text/charsmap.cpp - the normalizer of SentencePiece's models, precompiled_charsmap: 32 bits
// with the bytes of a double array, the array, then strings that end in 0. The array is a trie of
// the library Darts-clone: unit n's child by a byte is at n ^ offset ^ byte and has that byte as
// its label; a unit whose bit 8 is set ends a string, and its child by 0 has where the replacement
// begins.
#include <cstring>

#include "tools/files/failure.h"
#include "tools/files/work_budget.h"
#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {
namespace {

constexpr size_t kMaxRules = 1 << 20, kMaxNodes = 1 << 22, kMaxKey = 64;

class Charsmap {
 public:
  Charsmap(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {
    const uint64_t array = bytes.size() < 4 ? 0 : word(0);
    if (array == 0 || array % 4 != 0 || array > bytes.size() - 4) corrupt("no array of units");
    units_ = array / 4;
  }

  std::vector<Replacements::Rule> read() {
    walk(offset_of(unit(0)));
    return std::move(rules_);
  }

 private:
  [[noreturn]] void corrupt(const std::string& what) const {
    host::fail(host::Exit::kCorrupt,
               where_ + ": precompiled_charsmap: " + what + "; get the file anew");
  }
  uint32_t word(uint64_t at) const {
    uint32_t word;
    std::memcpy(&word, bytes_.data() + at, 4);
    return word;
  }
  uint32_t unit(uint64_t at) const {
    if (at >= units_) corrupt("a unit outside of its array");
    return word(4 + 4 * at);
  }
  static uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

  /// What lies behind the units whose offset leads to `base`.
  void walk(uint64_t base) {
    host::charge_work(256);
    if (nodes_++ == kMaxNodes || unended_++ > kMaxKey) corrupt("strings without end");
    for (uint32_t byte = 1; byte < 256; byte++) {
      const uint64_t at = base ^ byte;
      if (at >= units_ || (unit(at) & 0x800000FF) != byte) continue;
      if (key_.size() == kMaxKey) corrupt("a string of more than 64 bytes");
      key_ += char(byte);
      const uint64_t next = at ^ offset_of(unit(at));
      if (unit(at) & 0x100) add(unit(next) & 0x7FFFFFFF);
      walk(next);
      key_.pop_back();
    }
  }
  void add(uint64_t begin) {
    unended_ = 0;
    begin += 4 + 4 * units_;
    const size_t end = begin < bytes_.size() ? bytes_.find('\0', begin) : std::string_view::npos;
    if (end == std::string_view::npos) corrupt("a replacement that does not end");
    if (rules_.size() == kMaxRules) corrupt("more than a million strings");
    host::charge_metadata(sizeof rules_[0] + key_.size() + end - begin);
    rules_.push_back({key_, std::string(bytes_.substr(begin, end - begin))});
  }

  const std::string_view bytes_;
  const std::string& where_;
  uint64_t units_ = 0;
  size_t nodes_ = 0;
  size_t unended_ = 0;  // nodes since a string ended: each leads to an end
  std::string key_;
  std::vector<Replacements::Rule> rules_;
};

}  // namespace

std::vector<Replacements::Rule> rules_of_charsmap(std::string_view charsmap,
                                                  const std::string& where) {
  return Charsmap(charsmap, where).read();
}

bool bytes_of_base64(std::string_view text, std::string* bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  bytes->clear();
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  uint32_t bits = 0, count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return false;
    bits = bits << 6 | uint32_t(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    *bytes += char(bits >> count & 255);
  }
  return true;
}

}  // namespace ingot::vocabulary
