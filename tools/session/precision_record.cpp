// SPDX-License-Identifier: Apache-2.0
#include "tools/session/precision_record.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace ingot::cli {
namespace {

constexpr const char* kKey = "ingot.precision";
constexpr size_t kMaxLosses = 3;

std::string in_digits(double x) {
  char text[32];
  snprintf(text, sizeof text, "%.2g", x);
  return text;
}

}  // namespace

const char* precision_name(uint8_t precision) {
  constexpr const char* kNames[] = {"exact", "fast", "fp16", "bf16"};
  return precision < 4 ? kNames[precision] : "unknown";
}

void put_precision_record(const PrecisionRecord& record, MetadataEntries* entries) {
  const std::string key = kKey;
  entries->emplace_back(key, "asked " + record.asked + " written " + record.written + " runs " +
                                 std::to_string(record.runs) + " " + record.inputs);
  for (size_t i = 0; i < record.losses.size(); i++) {
    const PrecisionRecord::Loss& loss = record.losses[i];
    entries->emplace_back(key + "." + std::to_string(i),
                          loss.precision + " " + in_digits(loss.error) + " of " +
                              in_digits(loss.allowed) + " at " + loss.output);
  }
  if (record.products)
    entries->emplace_back(key + ".exact", std::to_string(record.exact_products) + " of " +
                                              std::to_string(record.products));
  if (!record.why.empty()) entries->emplace_back(key + ".why", record.why);
}

std::optional<PrecisionRecord> precision_record(const MetadataEntries& entries) {
  std::optional<PrecisionRecord> record;
  const auto value_of = [&](const std::string& key) -> const std::string* {
    for (const auto& [name, text] : entries)
      if (name == key) return &text;
    return nullptr;
  };
  const std::string key = kKey;
  const std::string* const head = value_of(key);
  if (!head) return record;
  char asked[8] = {}, written[8] = {}, inputs[8] = {};
  uint64_t runs = 0;
  if (sscanf(head->c_str(), "asked %7s written %7s runs %" SCNu64 " %7s", asked, written, &runs,
             inputs) < 3)
    return record;
  record.emplace();
  record->asked = asked, record->written = written, record->inputs = inputs, record->runs = runs;
  for (size_t i = 0; i < kMaxLosses; i++) {
    const std::string* const text = value_of(key + "." + std::to_string(i));
    char precision[8] = {};
    PrecisionRecord::Loss loss;
    int name = 0;
    if (!text || sscanf(text->c_str(), "%7s %lf of %lf at %n", precision, &loss.error,
                        &loss.allowed, &name) != 3)
      break;
    loss.precision = precision, loss.output = text->substr(size_t(name));
    record->losses.push_back(std::move(loss));
  }
  if (const std::string* const exact = value_of(key + ".exact"))
    (void)sscanf(exact->c_str(), "%" SCNu64 " of %" SCNu64, &record->exact_products,
                 &record->products);
  if (const std::string* const why = value_of(key + ".why")) record->why = *why;
  return record;
}

std::string text_of(const PrecisionRecord& record) {
  std::string text;
  for (const PrecisionRecord::Loss& loss : record.losses) {
    const bool is_same = !text.empty() && loss.output == record.losses[0].output &&
                         std::isfinite(record.losses[0].error);
    text += text.empty() ? "" : ", ";
    text += loss.precision != kMixed ? loss.precision
                                     : "with " + std::to_string(record.exact_products) + " of " +
                                           std::to_string(record.products) + " products in f32";
    if (is_same && std::isfinite(loss.error))
      text += " by " + in_digits(loss.error);
    else if (std::isfinite(loss.error))
      text += " is off by " + in_digits(loss.error) + " of the largest number of output '" +
              loss.output + "'";
    else
      text += " has no finite number for some of output '" + loss.output + "'";
    if (loss.allowed != record.losses[0].allowed)
      text += " where " + in_digits(loss.allowed) + " is allowed";
  }
  const std::string runs = std::to_string(record.runs) + " ";
  const bool is_one = record.runs == 1;
  const std::string inputs = record.inputs == "golden" ? "inputs of the golden"
                             : record.inputs == "samples"
                                 ? runs + (is_one ? "sample" : "samples")
                                 : runs + (is_one ? "random input" : "random inputs");
  return text + " (" + inputs + ", " + in_digits(record.losses[0].allowed) + " allowed)";
}

}  // namespace ingot::cli
