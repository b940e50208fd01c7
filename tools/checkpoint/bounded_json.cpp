#include "tools/checkpoint/bounded_json.h"

#include "tools/files/failure.h"

namespace ingot::checkpoint {

nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::string& where, int most_depth) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        i++;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most_depth)
        host::fail(host::Exit::kCorrupt, where + ": nests more than " + std::to_string(most_depth) + " levels");
    } else if (c == '}' || c == ']') {
      depth--;
    }
  }
  try {
    return nlohmann::ordered_json::parse(text.begin(), text.end());
  } catch (const std::exception& error) {
    host::fail(host::Exit::kCorrupt, where + ": is no sound JSON: " + error.what());
  }
}

}  // namespace ingot::checkpoint
