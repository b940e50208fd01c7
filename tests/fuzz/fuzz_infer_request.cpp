// SPDX-License-Identifier: Apache-2.0
// Any bytes as the body of an inference over HTTP, the first two of them how many are JSON: a
// request, or a refusal, never anything else. What is read lies in the body or has its own bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/serve/core/job.h"
#include "tools/serve/http/routes.h"
#include "tools/serve/protocol/infer_request.h"
#include "tools/serve/protocol/json_text.h"

using namespace ingot::serve;

namespace {

void check_inside(const Job& job) {
  const uint8_t *begin = job.body.data(), *end = begin + job.body.size();
  for (const InputTensor& input : job.inputs) {
    if (input.region) continue;
    const bool is_own =
        input.data == input.converted.data() && input.bytes == input.converted.size();
    const bool is_in_body =
        input.data >= begin && input.data <= end && input.bytes <= uint64_t(end - input.data);
    if (input.bytes && !is_own && !is_in_body) abort();
    if (input.shape.rank > INGOT_MAX_RANK) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static SharedRegions regions;
  static Job job;  // used again, as the server does
  if (size < 2) return 0;
  const uint64_t json_bytes = uint64_t(data[0]) | uint64_t(data[1]) << 8;
  job.clear();
  job.body.assign(data + 2, data + size);
  std::string text;
  try {
    read_infer_request(json_bytes, json_bytes % 2 ? &regions : nullptr, &job);
    check_inside(job);
  } catch (const ServeError& error) {
    text = error_json(error.text());
  }
  try {
    path_parts({reinterpret_cast<const char*>(data), std::min<size_t>(size, 200)});
  } catch (const ServeError&) {
  }
  return 0;
}
