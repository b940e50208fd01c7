// SPDX-License-Identifier: Apache-2.0
// tools/serve/triton/triton_abi.h - what a Triton server offers to its backends, as far as this one
// calls it: functions of the server's, which loads the backend and has them. Numbers and signatures
// are those of version 1 of its interface for backends.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ingot::serve::triton {

constexpr uint32_t kApiMajor = 1;  // another one is another interface

enum ErrorCode { kErrorInternal = 1, kErrorNotFound, kErrorInvalid, kErrorUnavailable };
constexpr int kErrorUnsupported = 5;
enum MemoryKind { kMemoryCpu = 0, kMemoryCpuPinned = 1, kMemoryGpu = 2 };
enum InstanceKind { kInstanceAuto = 0, kInstanceCpu = 1, kInstanceGpu = 2 };
constexpr uint32_t kSequenceStart = 1, kSequenceEnd = 2;  // flags of a request
constexpr uint32_t kReleaseAll = 1;                       // of a request
constexpr uint32_t kResponseFinal = 1;
/// Element types, by number.
constexpr const char* kTypeNames[] = {"INVALID", "BOOL", "UINT8", "UINT16", "UINT32",
                                      "UINT64",  "INT8", "INT16", "INT32",  "INT64",
                                      "FP16",    "FP32", "FP64",  "BYTES",  "BF16"};

}  // namespace ingot::serve::triton

extern "C" {
struct TRITONSERVER_Error;
struct TRITONSERVER_Message;
struct TRITONBACKEND_Backend;
struct TRITONBACKEND_Model;
struct TRITONBACKEND_ModelInstance;
struct TRITONBACKEND_Request;
struct TRITONBACKEND_Response;
struct TRITONBACKEND_Input;
struct TRITONBACKEND_Output;

TRITONSERVER_Error* TRITONSERVER_ErrorNew(int code, const char* text);
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error*);
TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message**, const char*,
                                                              size_t);
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message*, const char**,
                                                        size_t*);
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message*);

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor);
TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model*, const char**);
TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model*, uint64_t*);
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model*, int* kind, const char**);
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model*, uint32_t version,
                                              TRITONSERVER_Message**);
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model*, uint32_t version,
                                                 TRITONSERVER_Message*);
TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model*, bool*);
TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model*, void**);
TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model*, void*);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance*, int*);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance*, int32_t*);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance*,
                                                     TRITONBACKEND_Model**);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance*, void**);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance*, void*);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance*,
                                                                TRITONBACKEND_Request*,
                                                                bool is_good, uint64_t began_ns,
                                                                uint64_t run_ns, uint64_t ran_ns,
                                                                uint64_t ended_ns);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance*, uint64_t rows, uint64_t began_ns, uint64_t run_ns,
    uint64_t ran_ns, uint64_t ended_ns);

TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request*, uint32_t*);
TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request*, uint32_t,
                                                      TRITONBACKEND_Input**);
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request*, uint32_t*);
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request*, uint32_t, const char**);
TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationId(TRITONBACKEND_Request*, uint64_t*);
TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationIdString(TRITONBACKEND_Request*, const char**);
TRITONSERVER_Error* TRITONBACKEND_RequestFlags(TRITONBACKEND_Request*, uint32_t*);
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request*, uint32_t);
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input*, const char** name,
                                                  int* type, const int64_t** dims, uint32_t* rank,
                                                  uint64_t* bytes, uint32_t* pieces);
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input*, uint32_t piece, const void**,
                                              uint64_t* bytes, int* memory, int64_t* memory_id);
TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response**, TRITONBACKEND_Request*);
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response*, TRITONBACKEND_Output**,
                                                 const char* name, int type, const int64_t* dims,
                                                 uint32_t rank);
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output*, void**, uint64_t bytes,
                                               int* memory, int64_t* memory_id);
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response*, uint32_t flags,
                                               TRITONSERVER_Error*);
}
