// SPDX-License-Identifier: Apache-2.0
// What texts take to become ids, and ids texts, for tests/text/tokenizer_files.py:
//   time_tokenizer FILE TEXTS.json   seconds of the processor to encode all, and to decode all
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/text/loaded_tokenizer.h"

using namespace ingot;

namespace {

double now() { return double(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: time_tokenizer FILE TEXTS.json\n"), 2;
  const auto tokenizer = vocabulary::LoadedTokenizer::from_source(argv[1]);
  std::ifstream file(argv[2]);
  const auto texts = nlohmann::json::parse(file).get<std::vector<std::string>>();
  text::EncodeOptions options;
  options.add_special = false;
  options.parse_special = true;
  std::vector<std::vector<int32_t>> ids;
  ids.reserve(texts.size());
  const double begin = now();
  for (const std::string& text : texts) ids.push_back(tokenizer.encode(text, options));
  const double encoded = now();
  size_t bytes = 0;
  for (const auto& each : ids) bytes += tokenizer.decode(each, true).size();
  printf("%.4f %.4f %zu\n", encoded - begin, now() - encoded, bytes);
  return 0;
}
