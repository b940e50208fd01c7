// SPDX-License-Identifier: Apache-2.0
// The functions by which a Triton server calls this backend.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/include/ingot/cpu.h"
#include "tools/files/input_file.h"
#include "tools/serve/core/batch_session.h"
#include "tools/serve/core/element_types.h"
#include "tools/serve/core/row_independence.h"
#include "tools/serve/triton/model_config.h"
#include "tools/serve/triton/triton_calls.h"

namespace ingot::serve::triton {
namespace {

using Json = nlohmann::json;

constexpr int64_t kDefaultBatch = 8;
constexpr size_t kMaxSequences = 4096;

Json config_of(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* message = nullptr;
  check(TRITONBACKEND_ModelConfig(model, 1, &message));
  const char* text = nullptr;
  size_t bytes = 0;
  TRITONSERVER_Error* const error = TRITONSERVER_MessageSerializeToJson(message, &text, &bytes);
  Json config = error ? Json() : Json::parse(text, text + bytes, nullptr, false);
  TRITONSERVER_MessageDelete(message);
  check(error);
  if (!config.is_object()) refuse(Refusal::kInternal, "the server's configuration is no JSON");
  return config;
}

void set_config(TRITONBACKEND_Model* model, const Json& config) {
  const std::string text = config.dump();
  TRITONSERVER_Message* message = nullptr;
  check(TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size()));
  TRITONSERVER_Error* const error = TRITONBACKEND_ModelSetConfig(model, 1, message);
  TRITONSERVER_MessageDelete(message);
  check(error);
}

/// REPOSITORY/NAME/VERSION/model.ingot.
std::string file_of_model(TRITONBACKEND_Model* model) {
  const char* folder = nullptr;
  int kind = 0;
  uint64_t version = 0;
  check(TRITONBACKEND_ModelRepository(model, &kind, &folder));
  check(TRITONBACKEND_ModelVersion(model, &version));
  return std::string(folder) + "/" + std::to_string(version) + "/model.ingot";
}

Model open(const std::string& path) {
  const ingot_open_options options = open_options(ingot_cpu_kernels(nullptr));
  if (!options.kernels)
    refuse(Refusal::kUnavailable, "INGOT_CPU_ISA names kernels that this processor has not");
  host::remember_input(path);
  auto model = Model::open(path.c_str(), options);
  if (!model) refuse(Refusal::kUnavailable, path + ": " + model.error().text());
  return std::move(*model);
}

/// 0: chosen for the model.
int threads_of(const Json& config) {
  const std::string text = parameter_of(config, "threads", "1");
  int threads = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 0 ||
      threads > INGOT_MAX_THREADS)
    refuse(Refusal::kInvalid, "config.pbtxt: parameter threads '" + text + "', expected 0 to " +
                                  std::to_string(INGOT_MAX_THREADS));
  return threads;
}

/// A model of the server's: the file, mapped once for all instances, and its sequences.
struct BackendModel {
  explicit BackendModel(TRITONBACKEND_Model* model)
      : file(open(file_of_model(model))),
        config(config_of(model)),
        sequences(kMaxSequences, idle_sequence_ns(config)) {
    bool completes = false;
    check(TRITONBACKEND_ModelAutoCompleteConfig(model, &completes));
    if (completes) {
      const int64_t given = batch_of(config);
      complete_config(ModelPorts(file, given ? given : kDefaultBatch), kDefaultBatch, &config);
      set_config(model, config);
    }
    ports.emplace(file, std::max<int64_t>(batch_of(config), 1));
    check_config(*ports, config);
    settings.threads = threads_of(config);
  }

  Model file;
  Json config;
  std::optional<ModelPorts> ports;
  SessionSettings settings;
  std::mutex mutex;  // of the sequences
  Sequences sequences;
};

/// An instance: a session with an arena for the largest batch.
class BackendInstance {
 public:
  BackendInstance(BackendModel* model, const std::string& device) : model_(*model) {
    SessionSettings settings = model->settings;
    settings.device = device;
    session_.emplace(model->file, *model->ports, settings);
    joins_ = model->ports->max_rows() > 1 && rows_are_independent(*model->ports, &*session_);
  }

  /// The server does not call it twice at once.
  void execute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests,
               uint32_t count);

 private:
  struct Call {
    TRITONBACKEND_Request* request = nullptr;
    Job job;
    bool is_read = false;
  };
  void read(Call* call) const;
  void read_input(TRITONBACKEND_Input* input, InputTensor* to) const;
  void run(size_t first, size_t count);
  TRITONSERVER_Error* answer(Call* call) const;

  BackendModel& model_;
  std::optional<BatchSession> session_;
  bool joins_ = false;  // requests: where that changes no bit
  ReusedList<Call> calls_;
  std::vector<Job*> jobs_;
};

void BackendInstance::read_input(TRITONBACKEND_Input* input, InputTensor* to) const {
  const char* name = nullptr;
  const int64_t* dims = nullptr;
  int type = 0;
  uint32_t rank = 0, pieces = 0;
  uint64_t bytes = 0;
  check(TRITONBACKEND_InputProperties(input, &name, &type, &dims, &rank, &bytes, &pieces));
  to->name = name;
  const std::string where = "input '" + to->name + "': ";
  const size_t known = sizeof kTypeNames / sizeof kTypeNames[0];
  to->dtype = type_of_input(size_t(type) < known ? kTypeNames[type] : "of a later version", where);
  if (rank > INGOT_MAX_RANK) refuse(Refusal::kInvalid, where + "more than 8 dimensions");
  to->shape.rank = int32_t(rank);
  std::copy(dims, dims + rank, to->shape.dims);
  to->bytes = bytes;
  to->converted.clear();
  for (uint32_t i = 0; i < pieces; i++) {
    const void* piece = nullptr;
    uint64_t size = 0;
    int memory = kMemoryCpu;
    int64_t memory_id = 0;
    check(TRITONBACKEND_InputBuffer(input, i, &piece, &size, &memory, &memory_id));
    if (memory == kMemoryGpu)
      refuse(Refusal::kUnsupported, where + "its elements lie in memory of a GPU");
    const uint8_t* const from = static_cast<const uint8_t*>(piece);
    to->data = from;
    if (pieces > 1) to->converted.insert(to->converted.end(), from, from + size);
  }
  if (pieces > 1) to->data = to->converted.data();
}

void BackendInstance::read(Call* call) const {
  Job& job = call->job;
  job.clear();
  uint32_t count = 0, flags = 0;
  check(TRITONBACKEND_RequestInputCount(call->request, &count));
  for (uint32_t i = 0; i < count; i++) {
    TRITONBACKEND_Input* input = nullptr;
    check(TRITONBACKEND_RequestInputByIndex(call->request, i, &input));
    read_input(input, &job.inputs.add());
  }
  check(TRITONBACKEND_RequestOutputCount(call->request, &count));
  for (uint32_t i = 0; i < count; i++) {
    const char* name = nullptr;
    check(TRITONBACKEND_RequestOutputName(call->request, i, &name));
    OutputTensor& output = job.outputs.add();
    output.name = name;
    output.region.reset();
  }
  if (model_.ports->has_state()) {
    uint64_t number = 0;
    const char* text = "";
    if (TRITONSERVER_Error* other = TRITONBACKEND_RequestCorrelationId(call->request, &number)) {
      TRITONSERVER_ErrorDelete(other);  // it is a text
      check(TRITONBACKEND_RequestCorrelationIdString(call->request, &text));
    }
    job.sequence_id = number ? std::to_string(number) : text;
    check(TRITONBACKEND_RequestFlags(call->request, &flags));
    job.starts_sequence = flags & kSequenceStart;
    job.ends_sequence = flags & kSequenceEnd;
  }
  model_.ports->resolve(&job);
  if (!model_.ports->has_state()) return;
  const std::lock_guard<std::mutex> lock(model_.mutex);
  job.sequence = model_.sequences.enter(job.sequence_id, job.starts_sequence, job.ends_sequence);
}

/// Calls that were read and may be computed together.
void BackendInstance::run(size_t first, size_t count) {
  jobs_.clear();
  for (size_t i = first; i < first + count; i++) jobs_.push_back(&calls_[i].job);
  session_->run(jobs_.data(), jobs_.size());
  if (!model_.ports->has_state()) return;
  const std::lock_guard<std::mutex> lock(model_.mutex);
  for (Job* job : jobs_) model_.sequences.leave(job->sequence_id, job->sequence, true);
}

int type_number(ingot_dtype dtype) {
  const int known = int(sizeof kTypeNames / sizeof kTypeNames[0]);
  for (int i = 1; i < known; i++)
    if (!strcmp(kTypeNames[i], type_name(dtype))) return i;
  return 0;
}

TRITONSERVER_Error* BackendInstance::answer(Call* call) const {
  TRITONBACKEND_Response* response = nullptr;
  if (TRITONSERVER_Error* error = TRITONBACKEND_ResponseNew(&response, call->request)) return error;
  TRITONSERVER_Error* const failure = error_of([&] {
    const Job& job = call->job;
    if (job.failed) refuse(job.why, job.error);
    for (const OutputTensor& output : job.outputs) {
      TRITONBACKEND_Output* to = nullptr;
      check(TRITONBACKEND_ResponseOutput(response, &to, output.name.c_str(),
                                         type_number(output.dtype), output.shape.dims,
                                         uint32_t(output.shape.rank)));
      void* place = nullptr;
      int memory = kMemoryCpu;
      int64_t memory_id = 0;
      check(TRITONBACKEND_OutputBuffer(to, &place, output.elements.size(), &memory, &memory_id));
      if (memory == kMemoryGpu)
        refuse(Refusal::kUnsupported, "output '" + output.name + "' is wanted in memory of a GPU");
      if (!output.elements.empty()) memcpy(place, output.elements.data(), output.elements.size());
    }
  });
  TRITONSERVER_Error* const sent = TRITONBACKEND_ResponseSend(response, kResponseFinal, failure);
  if (failure) TRITONSERVER_ErrorDelete(failure);
  return sent;
}

void BackendInstance::execute(TRITONBACKEND_ModelInstance* instance,
                              TRITONBACKEND_Request** requests, uint32_t count) {
  const uint64_t began = ingot_clock_ns();
  const ModelPorts& ports = *model_.ports;
  calls_.clear();
  for (uint32_t i = 0; i < count; i++) {
    Call& call = calls_.add();
    call.request = requests[i];
    call.is_read = false;
    try {
      read(&call);
      call.is_read = true;
    } catch (const ServeError& refused) {
      call.job.fail(refused.why(), refused.text());
    } catch (const ServerFailure& failure) {
      TRITONSERVER_ErrorDelete(failure.error);
      call.job.fail(Refusal::kInternal, "the server could not hand in the request");
    } catch (const std::exception& failure) {
      call.job.fail(Refusal::kInternal, failure.what());
    }
  }
  int64_t rows_of_all = 0;
  for (size_t first = 0, next = 0; first < calls_.size(); first = next) {
    next = first + 1;
    if (!calls_[first].is_read) continue;
    int64_t rows = calls_[first].job.rows;
    while (next < calls_.size() && calls_[next].is_read && joins_ &&
           rows + calls_[next].job.rows <= ports.max_rows() &&
           ports.agree(calls_[first].job, calls_[next].job))
      rows += calls_[next++].job.rows;
    run(first, next - first);
    rows_of_all += rows;
  }
  const uint64_t ran = ingot_clock_ns();
  for (Call& call : calls_) {
    // A request that cannot be answered is released all the same: nobody waits for it any more.
    if (TRITONSERVER_Error* error = answer(&call)) TRITONSERVER_ErrorDelete(error);
    const Job& job = call.job;
    const uint64_t run_ns = call.is_read ? job.run_ns : began,
                   ran_ns = call.is_read ? job.ran_ns : ran;
    TRITONBACKEND_ModelInstanceReportStatistics(instance, call.request, !job.failed, began, run_ns,
                                                ran_ns, ingot_clock_ns());
    TRITONBACKEND_RequestRelease(call.request, kReleaseAll);
  }
  if (rows_of_all)
    TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, uint64_t(rows_of_all), began, began,
                                                     ran, ingot_clock_ns());
}

std::string device_of(TRITONBACKEND_ModelInstance* instance) {
  int kind = kInstanceCpu;
  int32_t id = 0;
  check(TRITONBACKEND_ModelInstanceKind(instance, &kind));
  check(TRITONBACKEND_ModelInstanceDeviceId(instance, &id));
  return kind == kInstanceGpu ? "cuda:" + std::to_string(id) : "cpu";
}

}  // namespace
}  // namespace ingot::serve::triton

using namespace ingot::serve;
using namespace ingot::serve::triton;
#define INGOT_BACKEND_CALL extern "C" __attribute__((visibility("default"))) TRITONSERVER_Error*

INGOT_BACKEND_CALL TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
  return error_of([] {
    uint32_t major = 0, minor = 0;
    check(TRITONBACKEND_ApiVersion(&major, &minor));
    if (major != kApiMajor)
      refuse(Refusal::kUnsupported, "the server's interface for backends has version " +
                                        std::to_string(major) + ", expected 1");
  });
}

INGOT_BACKEND_CALL TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return error_of([&] {
    auto made = std::make_unique<BackendModel>(model);
    check(TRITONBACKEND_ModelSetState(model, made.get()));
    made.release();
  });
}

INGOT_BACKEND_CALL TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  void* made = nullptr;
  if (TRITONSERVER_Error* error = TRITONBACKEND_ModelState(model, &made)) return error;
  delete static_cast<BackendModel*>(made);
  return nullptr;
}

INGOT_BACKEND_CALL TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return error_of([&] {
    TRITONBACKEND_Model* model = nullptr;
    void* made = nullptr;
    check(TRITONBACKEND_ModelInstanceModel(instance, &model));
    check(TRITONBACKEND_ModelState(model, &made));
    auto one =
        std::make_unique<BackendInstance>(static_cast<BackendModel*>(made), device_of(instance));
    check(TRITONBACKEND_ModelInstanceSetState(instance, one.get()));
    one.release();
  });
}

INGOT_BACKEND_CALL TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  void* made = nullptr;
  if (TRITONSERVER_Error* error = TRITONBACKEND_ModelInstanceState(instance, &made)) return error;
  delete static_cast<BackendInstance*>(made);
  return nullptr;
}

INGOT_BACKEND_CALL TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                      TRITONBACKEND_Request** requests,
                                                      uint32_t count) {
  void* made = nullptr;
  if (TRITONSERVER_Error* error = TRITONBACKEND_ModelInstanceState(instance, &made)) return error;
  static_cast<BackendInstance*>(made)->execute(instance, requests, count);
  return nullptr;
}
