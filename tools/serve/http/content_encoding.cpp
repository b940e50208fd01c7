#include "tools/serve/http/content_encoding.h"

#ifdef INGOT_HAVE_ZLIB
#include <zlib.h>
#endif
#include <algorithm>
#include <vector>

namespace ingot::serve {
namespace {

bool is_identity(std::string_view encoding) { return encoding.empty() || encoding == "identity"; }

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
#endif

}  // namespace

bool is_known_encoding(std::string_view encoding) {
#ifdef INGOT_HAVE_ZLIB
  if (encoding == "gzip" || encoding == "deflate") return true;
#endif
  return is_identity(encoding);
}

void decode_body([[maybe_unused]] std::string_view encoding, [[maybe_unused]] uint64_t max_body,
                 [[maybe_unused]] JobPool* pool, [[maybe_unused]] Job* job) {
#ifdef INGOT_HAVE_ZLIB
  if (is_identity(encoding)) return;
  std::vector<uint8_t> packed;
  packed.swap(job->body);
  // as long as both are there, both count
  struct Held {
    JobPool* pool;
    uint64_t bytes;
    ~Held() { pool->drop(bytes); }
  } const held{pool, packed.size()};
  Inflater inflater(&packed);
  constexpr uint64_t kPiece = 65536;
  uint64_t have = 0;
  while (!inflater.has_ended()) {
    const uint64_t room = std::min(std::max(kPiece, have), max_body + 1 - have);
    pool->grow_body(job, have + room);
    have += inflater.read(job->body.data() + have, room);
    if (have > max_body)
      refuse(Refusal::kTooLarge, "a compressed body of more than " + std::to_string(max_body) +
                                     " bytes; see: ingot serve --max-body");
  }
  pool->drop(job->body.size() - have);
  job->body.resize(have);
#endif
}

}  // namespace ingot::serve
