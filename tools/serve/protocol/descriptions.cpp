// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/descriptions.h"

#include <string>

#include "tools/serve/core/element_types.h"

namespace ingot::serve {
namespace {

Json dims_json(const ingot_value_type& type, int32_t from) {
  Json dims = Json::array();
  for (int32_t d = from; d < type.rank; d++) dims.push_back(type.dims[d]);
  return dims;
}

Json tensors_json(const std::vector<ingot_value_type>& types) {
  Json list = Json::array();
  for (const ingot_value_type& type : types)
    list.push_back(
        {{"name", type.name}, {"datatype", type_name(type.dtype)}, {"shape", dims_json(type, 0)}});
  return list;
}

/// The configuration's names of types are TYPE_FP32, and its shapes leave out the batch.
Json configured_tensors(const std::vector<ingot_value_type>& types, bool has_batch) {
  Json list = Json::array();
  for (const ingot_value_type& type : types)
    list.push_back({{"name", type.name},
                    {"data_type", std::string("TYPE_") + type_name(type.dtype)},
                    {"dims", dims_json(type, has_batch)}});
  return list;
}

Json duration_json(const Duration& duration) {
  return {{"count", duration.count}, {"ns", duration.ns}};
}

/// A label's value: as in JSON, but for control characters, which Prometheus does not escape.
std::string label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out;
}

class MetricsText {
 public:
  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
  }
  template <class Number>
  void value(const std::string& labels, Number number) {
    text_ += name_ + (labels.empty() ? " " : "{" + labels + "} ") + std::to_string(number) + "\n";
  }
  void histogram(const std::string& labels, const Histogram& histogram, const Duration& all) {
    uint64_t below = 0;
    for (size_t i = 0; i < Histogram::kBoundCount; i++) {
      below += histogram.counts[i];
      char bound[24];
      snprintf(bound, sizeof bound, "%g", Histogram::kBounds[i]);
      text_ +=
          name_ + "_bucket{" + labels + ",le=\"" + bound + "\"} " + std::to_string(below) + "\n";
    }
    const std::string count = std::to_string(all.count) + "\n";
    text_ += name_ + "_bucket{" + labels + ",le=\"+Inf\"} " + count;
    text_ += name_ + "_sum{" + labels + "} " + std::to_string(double(all.ns) / 1e9);
    text_ += "\n" + name_ + "_count{" + labels + "} " + count;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

}  // namespace

Json server_metadata(const std::vector<const char*>& extensions) {
  return {{"name", "ingot"}, {"version", ingot_version()}, {"extensions", extensions}};
}

Json model_metadata(const ServedModel& model, const std::vector<std::string>& versions) {
  return {{"name", model.name()},
          {"versions", versions},
          {"platform", "ingot"},
          {"inputs", tensors_json(model.ports().inputs())},
          {"outputs", tensors_json(model.ports().outputs())}};
}

Json model_configuration(const ServedModel& model) {
  const bool has_batch = model.ports().batch() >= 0;
  Json configuration = {{"name", model.name()},
                        {"platform", "ingot"},
                        {"backend", "ingot"},
                        {"max_batch_size", model.ports().max_rows()},
                        {"input", configured_tensors(model.ports().inputs(), has_batch)},
                        {"output", configured_tensors(model.ports().outputs(), has_batch)}};
  if (model.ports().has_state()) configuration["sequence_batching"] = Json::object();
  if (model.joins()) configuration["dynamic_batching"] = Json::object();
  return configuration;
}

Json statistics_json(const ServedModel& model) {
  const Statistics s = model.statistics();
  Json batches = Json::array();
  for (const auto& [rows, batch] : s.batches)
    batches.push_back({{"batch_size", rows},
                       {"compute_input", duration_json(batch.input)},
                       {"compute_infer", duration_json(batch.infer)},
                       {"compute_output", duration_json(batch.output)}});
  return {{"name", model.name()},
          {"version", model.version()},
          {"last_inference", s.last_ms},
          {"inference_count", s.inferences},
          {"execution_count", s.executions},
          {"inference_stats",
           {{"success", duration_json(s.success)},
            {"fail", duration_json(s.failure)},
            {"queue", duration_json(s.queue)},
            {"compute_input", duration_json(s.input)},
            {"compute_infer", duration_json(s.infer)},
            {"compute_output", duration_json(s.output)},
            {"cache_hit", duration_json({})},
            {"cache_miss", duration_json({})}}},
          {"batch_stats", batches}};
}

Json index_json(const std::vector<ModelState>& states, bool ready_alone) {
  Json list = Json::array();
  for (const ModelState& state : states) {
    if (ready_alone && !state.is_ready) continue;
    list.push_back({{"name", state.name},
                    {"version", state.version},
                    {"state", state.is_ready ? "READY" : "UNAVAILABLE"},
                    {"reason", state.reason}});
  }
  return list;
}

Json regions_json(const std::vector<std::shared_ptr<Region>>& regions) {
  Json list = Json::array();
  for (const auto& region : regions)
    list.push_back({{"name", region->name()},
                    {"key", region->key()},
                    {"offset", region->offset()},
                    {"byte_size", region->bytes()}});
  return list;
}

namespace {

std::string labels_of(const ServedModel& model) {
  return "model=\"" + label(model.name()) + "\",version=\"" + label(model.version()) + "\"";
}

/// Of language models.
void add_answer_metrics(const Repository& repository, MetricsText* text) {
  std::vector<std::pair<std::string, AnswerStatistics>> rows;
  for (const auto& model : repository.served())
    if (model->language()) rows.emplace_back(labels_of(*model), model->language()->statistics());
  if (rows.empty()) return;
  const auto of_models = [&](const char* name, const char* type, const char* help, auto of) {
    text->family(name, type, help);
    for (const auto& [labels, s] : rows) text->value(labels, of(s));
  };
  using S = AnswerStatistics;
  text->family("ingot_answers_total", "counter", "Requests for text by how they ended.");
  for (const auto& [labels, s] : rows) {
    text->value(labels + ",result=\"ok\"", s.ok);
    text->value(labels + ",result=\"refused\"", s.refused);
    text->value(labels + ",result=\"late\"", s.late);
    text->value(labels + ",result=\"failed\"", s.failed);
    text->value(labels + ",result=\"invalid\"", s.invalid);
    text->value(labels + ",result=\"cancelled\"", s.cancelled);
  }
  text->family("ingot_time_to_first_token_seconds", "histogram", "From the request.");
  for (const auto& [labels, s] : rows) text->histogram(labels, s.first_token, s.first_tokens);
  of_models("ingot_prompt_tokens_total", "counter", "Tokens of prompts.",
            [](const S& s) { return s.prompt_tokens; });
  of_models("ingot_cached_prompt_tokens_total", "counter", "Of them those found in the caches.",
            [](const S& s) { return s.cached_tokens; });
  of_models("ingot_prompt_seconds_total", "counter", "Computing prompts, and each first token.",
            [](const S& s) { return double(s.prompt_ns) / 1e9; });
  of_models("ingot_generated_tokens_total", "counter", "Tokens of answers.",
            [](const S& s) { return s.generated_tokens; });
  of_models("ingot_proposed_tokens_total", "counter", "Tokens that look-up or a draft proposed.",
            [](const S& s) { return s.proposed_tokens; });
  of_models("ingot_accepted_tokens_total", "counter", "Of them those of answers.",
            [](const S& s) { return s.accepted_tokens; });
  of_models("ingot_generation_seconds_total", "counter", "Computing all but the first of them.",
            [](const S& s) { return double(s.generation_ns) / 1e9; });
  of_models("ingot_tokens_per_second", "gauge", "Of one slot, since the server began.",
            [](const S& s) { return s.tokens_per_second(); });
  of_models("ingot_queued_answers", "gauge", "Requests that wait for a slot.",
            [](const S& s) { return s.queued; });
  of_models("ingot_running_answers", "gauge", "Slots that compute.",
            [](const S& s) { return s.running; });
  of_models("ingot_slots", "gauge", "Answers that may be computed at once.",
            [](const S& s) { return s.slots; });
  of_models("ingot_slot_bytes", "gauge", "Memory of the slots, without the weights.",
            [](const S& s) { return s.bytes; });
  of_models("ingot_cache_tokens", "gauge", "Tokens in the caches.",
            [](const S& s) { return s.cache_tokens; });
  of_models("ingot_cache_capacity_tokens", "gauge", "What the caches have room for.",
            [](const S& s) { return s.cache_capacity; });
}

}  // namespace

std::string metrics_text(const Repository& repository, const ServerCounts& counts) {
  struct Row {
    std::string labels;
    Statistics statistics;
    uint64_t queued, running, arena_bytes, sequences, sequence_bytes;
  };
  std::vector<Row> rows;
  for (const auto& model : repository.served())
    rows.push_back({labels_of(*model), model->statistics(), model->queued(), model->running(),
                    model->arena_bytes(), model->sequence_count(), model->sequence_bytes()});
  MetricsText text;
  const auto of_models = [&](const char* name, const char* type, const char* help, auto of) {
    text.family(name, type, help);
    for (const Row& row : rows) text.value(row.labels, of(row));
  };
  const auto seconds = [](const Duration& d) { return double(d.ns) / 1e9; };
  text.family("ingot_requests_total", "counter", "Inference requests by how they ended.");
  for (const Row& row : rows) {
    const Statistics& s = row.statistics;
    text.value(row.labels + ",result=\"ok\"", s.success.count);
    text.value(row.labels + ",result=\"refused\"", s.refused);
    text.value(row.labels + ",result=\"late\"", s.late);
    text.value(row.labels + ",result=\"failed\"", s.failure.count - s.refused - s.late);
    text.value(row.labels + ",result=\"invalid\"", s.invalid);
    text.value(row.labels + ",result=\"cancelled\"", s.cancelled);
  }
  text.family("ingot_request_duration_seconds", "histogram",
              "From arrival to answer, of requests that went well.");
  for (const Row& row : rows)
    text.histogram(row.labels, row.statistics.latencies, row.statistics.success);
  of_models("ingot_inferences_total", "counter", "Rows of batches that were computed.",
            [](const Row& r) { return r.statistics.inferences; });
  of_models("ingot_executions_total", "counter", "Runs of a session, each of one or more requests.",
            [](const Row& r) { return r.statistics.executions; });
  of_models("ingot_request_seconds_total", "counter",
            "From arrival to answer, of requests that went well.",
            [&](const Row& r) { return seconds(r.statistics.success); });
  of_models("ingot_queue_seconds_total", "counter", "Of it in the queue.",
            [&](const Row& r) { return seconds(r.statistics.queue); });
  of_models("ingot_compute_seconds_total", "counter", "Of it in the run.",
            [&](const Row& r) { return seconds(r.statistics.infer); });
  of_models("ingot_queued_requests", "gauge", "Requests that wait.",
            [](const Row& r) { return r.queued; });
  of_models("ingot_running_requests", "gauge", "Requests taken from the queue, not yet answered.",
            [](const Row& r) { return r.running; });
  of_models("ingot_arena_bytes", "gauge", "Memory of the sessions, mapped weights included.",
            [](const Row& r) { return r.arena_bytes; });
  of_models("ingot_sequences", "gauge", "Sequences that have not ended.",
            [](const Row& r) { return r.sequences; });
  of_models("ingot_sequence_bytes", "gauge", "What their names and states hold.",
            [](const Row& r) { return r.sequence_bytes; });
  add_answer_metrics(repository, &text);
  text.family("ingot_connections", "gauge", "Open connections over HTTP.");
  text.value("", counts.connections);
  text.family("ingot_refused_connections_total", "counter", "Beyond --max-connections.");
  text.value("", counts.refused_connections);
  text.family("ingot_request_bytes", "gauge", "What bodies of requests hold.");
  text.value("", counts.request_bytes_held);
  text.family("ingot_dropped_log_lines_total", "counter", "Of --access-log, which nobody read.");
  text.value("", counts.dropped_log_lines);
  text.family("ingot_uptime_seconds", "gauge", "Since the server began.");
  text.value("", counts.uptime_seconds);
  return text.take();
}

}  // namespace ingot::serve
