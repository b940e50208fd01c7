// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/content_encoding.h"

#ifdef INGOT_HAVE_ZLIB
#include <zlib.h>
#endif
#include <algorithm>
#include <charconv>

namespace ingot::serve {
namespace {

/// Names of encodings are the same in capitals. `name` is in small letters.
bool is_named(std::string_view text, std::string_view name) {
  return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

bool is_identity(std::string_view encoding) {
  return encoding.empty() || is_named(encoding, "identity");
}

#ifdef INGOT_HAVE_ZLIB
/// A stream of gzip's or zlib's, told apart by its first bytes.
class Inflater {
 public:
  explicit Inflater(std::vector<uint8_t>* packed) {
    stream_.next_in = packed->data();
    stream_.avail_in = uInt(packed->size());
    if (inflateInit2(&stream_, 15 + 32) != Z_OK)
      refuse(Refusal::kBusy, "out of memory for a compressed body; try again later");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// How many bytes came; fewer than there is room for at the end alone.
  size_t read(uint8_t* out, size_t room) {
    stream_.next_out = out;
    stream_.avail_out = uInt(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    has_ended_ = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END) invalid(result == Z_BUF_ERROR);
    if (result == Z_OK && stream_.avail_out) invalid(stream_.avail_in == 0);
    if (has_ended_ && stream_.avail_in)
      refuse(Refusal::kInvalid, "body: bytes behind the end of what was compressed");
    return room - stream_.avail_out;
  }
  bool has_ended() const { return has_ended_; }

 private:
  [[noreturn]] void invalid(bool is_cut) const {
    refuse(Refusal::kInvalid,
           is_cut ? "body: compressed, and cut off" : "body: neither gzip nor deflate, or damaged");
  }
  z_stream stream_{};
  bool has_ended_ = false;
};

class Deflater {
 public:
  explicit Deflater(bool is_gzip) {
    // the lowest level: of random numbers, as tensors are, the others gain next to nothing
    if (deflateInit2(&stream_, 1, Z_DEFLATED, is_gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
      throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Appends as long as `out` has room. False: it has none left.
  bool write(std::string_view piece, bool is_last, std::string* out) {
    constexpr size_t kLargest = size_t{1} << 30;  // zlib counts in 32 bits
    do {
      const size_t here = std::min(piece.size(), kLargest);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = uInt(here);
      piece.remove_prefix(here);
      const bool ends = is_last && piece.empty();
      do {
        const size_t room = std::min(out->size() - used_, kLargest);
        if (!room) return false;
        stream_.next_out = reinterpret_cast<Bytef*>(out->data()) + used_;
        stream_.avail_out = uInt(room);
        const int result = deflate(&stream_, ends ? Z_FINISH : Z_NO_FLUSH);
        used_ += room - stream_.avail_out;
        if (result == Z_STREAM_END) break;
      } while (stream_.avail_in || !stream_.avail_out || ends);
    } while (!piece.empty());
    return true;
  }
  size_t used() const { return used_; }

 private:
  z_stream stream_{};
  size_t used_ = 0;
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Thousandths: 1000 without one, 0 where it is no number: what is not understood is not used.
int quality_of(std::string_view parameters) {
  parameters = trimmed(parameters);
  if (parameters.empty()) return 1000;
  if (parameters.substr(0, 2) != "q=") return 0;
  double quality = 0;
  const char* const last = parameters.data() + parameters.size();
  const auto [end, error] = std::from_chars(parameters.data() + 2, last, quality);
  if (error != std::errc() || end != last || !(quality >= 0 && quality <= 1)) return 0;
  return int(quality * 1000);
}
#endif

}  // namespace

bool is_known_encoding(std::string_view encoding) {
#ifdef INGOT_HAVE_ZLIB
  if (is_named(encoding, "gzip") || is_named(encoding, "deflate")) return true;
#endif
  return is_identity(encoding);
}

void decode_body([[maybe_unused]] std::string_view encoding, [[maybe_unused]] uint64_t max_body,
                 [[maybe_unused]] JobPool* pool, [[maybe_unused]] Job* job) {
#ifdef INGOT_HAVE_ZLIB
  if (is_identity(encoding)) return;
  // zlib counts in 32 bits
  if (job->body.size() > UINT32_MAX)
    refuse(Refusal::kTooLarge, "a compressed body of " + std::to_string(job->body.size()) +
                                   " bytes, at most 4294967295 are taken");
  std::vector<uint8_t> packed;
  packed.swap(job->body);
  // as long as both are there, both count
  struct Held {
    JobPool* pool;
    uint64_t bytes;
    ~Held() { pool->drop(bytes); }
  } const held{pool, packed.size()};
  Inflater inflater(&packed);
  constexpr uint64_t kPiece = 65536, kLargestPiece = uint64_t{1} << 30;
  uint64_t have = 0;
  while (!inflater.has_ended()) {
    const uint64_t room = std::min({std::max(kPiece, have), kLargestPiece, max_body - have}) + 1;
    pool->grow_body(job, have + room);
    have += inflater.read(job->body.data() + have, room);
    if (have > max_body)
      refuse(Refusal::kTooLarge,
             "a compressed body of more than " + std::to_string(max_body) + " bytes");
  }
  pool->drop(job->body.size() - have);
  job->body.resize(have);
#endif
}

const char* accepted_encoding([[maybe_unused]] std::string_view accept) {
  const char* best = nullptr;
#ifdef INGOT_HAVE_ZLIB
  for (int highest = 0; !accept.empty();) {
    const size_t end = std::min(accept.find(','), accept.size());
    const std::string_view each = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    const size_t name_end = std::min(each.find(';'), each.size());
    const std::string_view name = trimmed(each.substr(0, name_end));
    const int quality = quality_of(each.substr(std::min(name_end + 1, each.size())));
    if (is_named(name, "identity") && quality > highest) best = nullptr, highest = quality;
    for (const char* known : {"gzip", "deflate"})
      if (is_named(name, known) && quality > highest) best = known, highest = quality;
  }
#endif
  return best;
}

std::string encode_body([[maybe_unused]] const char* encoding,
                        [[maybe_unused]] const std::vector<std::string_view>& pieces) {
  std::string out;
#ifdef INGOT_HAVE_ZLIB
  size_t bytes = 0;
  for (const std::string_view piece : pieces) bytes += piece.size();
  if (bytes < 2) return out;
  out.resize(bytes - 1);
  Deflater deflater(encoding[0] == 'g');
  for (size_t i = 0; i < pieces.size(); i++)
    if (!deflater.write(pieces[i], i + 1 == pieces.size(), &out)) return {};
  out.resize(deflater.used());
#endif
  return out;
}

}  // namespace ingot::serve
