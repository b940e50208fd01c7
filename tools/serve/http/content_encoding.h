// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/content_encoding.h - bodies that a client compressed, and answers that it asks
// to be.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/core/job_pool.h"

namespace ingot::serve {

/// "gzip" and "deflate" in a build with zlib; "" and "identity" always.
bool is_known_encoding(std::string_view encoding);
/// The job's body as it was before its client compressed it, in memory of the pool's.
/// @throws ServeError: damaged, cut off, larger than `max_body`, no memory
/// @pre is_known_encoding()
void decode_body(std::string_view encoding, uint64_t max_body, JobPool* pool, Job* job);
/// "gzip" or "deflate", which `accept` (Accept-Encoding) prefers; null: neither, or no zlib.
const char* accepted_encoding(std::string_view accept);
/// The pieces one behind another, compressed. Empty: they would not get smaller.
/// @pre accepted_encoding() gave `encoding`
std::string encode_body(const char* encoding, const std::vector<std::string_view>& pieces);

}  // namespace ingot::serve
