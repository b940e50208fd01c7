// tools/serve/http/content_encoding.h - bodies that a client compressed.
#pragma once
#include <cstdint>
#include <string_view>

#include "tools/serve/core/job_pool.h"

namespace ingot::serve {

/// "gzip" and "deflate" in a build with zlib; "" and "identity" always.
bool is_known_encoding(std::string_view encoding);
/// The job's body as it was before its client compressed it, in memory of the pool's.
/// @throws ServeError: damaged, cut off, larger than `max_body`, no memory
/// @pre is_known_encoding()
void decode_body(std::string_view encoding, uint64_t max_body, JobPool* pool, Job* job);

}  // namespace ingot::serve
