/* SPDX-License-Identifier: Apache-2.0 */
/* ingot.h - the C interface of Ingot: open a model, ask what it needs, make a session, run it.
 *
 * RULES FOR EVERYTHING BELOW
 * Results   Functions that can fail return ingot_code (0 is ok) and take `ingot_error* error` last,
 *           which may be null and is written on failure only. Objects are returned through `out_*`,
 *           set to null on failure. Nothing aborts or prints.
 * Pointers  A pointer that may be null says so; a null elsewhere is INGOT_INVALID_ARGUMENT.
 *           Destroying null does nothing. Strings are UTF-8 and end in 0. Strings handed in are
 *           read during the call only. Strings handed out belong to the object they were asked from
 *           and die with it; names of operators, kernels and rules are static.
 * Structs   Those whose first field is `size` grow at their end: set it to sizeof before the call,
 *           zero the rest: `ingot_session_options o = INGOT_INIT(ingot_session_options);`. Zero is
 *           the default of every field. A library that is older than the caller refuses fields that
 *           it does not know when they are not zero.
 * Lifetime  A kernel table, a reader, an allocator and memory lent to a model or session must
 *           outlive it. A model must outlive its sessions, a pool the sessions that use it.
 * Threads   A model is immutable: any thread, any number at once; sessions of one model are
 *           independent of each other. A session is used by one thread at a time, except
 *           ingot_session_cancel(): any thread, at any time before destroy. A pool may be used by
 *           several sessions at once: whoever finds it busy runs on its own thread alone, with
 *           equal results.
 * Memory    Only open, create, and the calls that say so allocate. run() does not allocate, lock,
 *           or throw; on the calling thread it makes at most one wake and one wait, no other system
 *           call.
 * Answers   do not depend on threads, arena, map mode, (in fp32) instruction set, or the caller's
 *           floating-point state: calls that compute set rounding to nearest, subnormal numbers and
 *           no traps in each thread that works, and bring the caller's state back.
 */
#ifndef INGOT_INGOT_H_
#define INGOT_INGOT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define INGOT_API
#else
#define INGOT_API __attribute__((visibility("default")))
#endif

/** Initializer of a struct whose first field is `size`: that is set, every other field is zero. */
#ifdef __cplusplus
extern "C++" {
template <class T>
inline T ingot_init() { T made = T(); return made.size = sizeof made, made; }
}
#define INGOT_INIT(type) ingot_init<type>()
extern "C" {
#else
#define INGOT_INIT(type) {.size = sizeof(type)}
#endif

/* ------------------------------------------------------------------------------ version, errors */

#define INGOT_VERSION_MAJOR 0
#define INGOT_VERSION_MINOR 1
#define INGOT_VERSION_PATCH 0
#define INGOT_MAX_RANK 8
#define INGOT_MAX_THREADS 57 /* in one team */

/** Version of the library at run time, "0.1.0". */
INGOT_API const char* ingot_version(void);

/** Pinned for ever. 1-19 the caller, 20-39 the file, 40-59 resources, 60-79 devices, 90-99 a fault
    of ours. */
typedef int32_t ingot_code;
enum {
  INGOT_OK = 0,
  INGOT_INVALID_ARGUMENT = 1,
  INGOT_NOT_FOUND = 2,
  INGOT_SHAPE_MISMATCH = 3, INGOT_DTYPE_MISMATCH = 4,
  INGOT_UNBOUND_DIMENSION = 5, INGOT_DIMENSION_OUT_OF_BOUNDS = 6,
  INGOT_MISALIGNED = 7, INGOT_WRONG_STATE = 8,
  INGOT_CANCELLED = 9, INGOT_DEADLINE_EXCEEDED = 10, INGOT_BAD_INDEX_VALUE = 11,
  INGOT_BAD_STATE_VALUE = 12, INGOT_STATE_MISMATCH = 13,
  INGOT_CONTROL_REFUSED = 14,
  INGOT_CUSTOM_FAILED = 15, /* an operator of the application's returned an error, see custom.h */
  INGOT_NOT_INGOT = 20, INGOT_TRUNCATED = 21, INGOT_HEADER_INVALID = 22, INGOT_HASH_MISMATCH = 23,
  INGOT_UNSUPPORTED_VERSION = 24, INGOT_UNSUPPORTED_FEATURE = 25,
  INGOT_STRUCTURE_INVALID = 26, INGOT_MEANING_INVALID = 27, INGOT_PLAN_INVALID = 28,
  INGOT_UNSUPPORTED_OPERATOR = 29,
  INGOT_NO_KERNEL = 30,
  INGOT_LIMIT_EXCEEDED = 31,
  INGOT_ARENA_TOO_SMALL = 40,
  INGOT_OUT_OF_MEMORY = 41,
  INGOT_FILE_OPEN = 42,
  INGOT_FILE_READ = 43,
  INGOT_MAP_FAILED = 44,
  INGOT_THREAD_FAILED = 45,
  INGOT_LOCK_FAILED = 46,
  INGOT_NO_SUCH_DEVICE = 60, INGOT_DEVICE_LOST = 61, INGOT_DEVICE_FAULT = 62,
  INGOT_INTERNAL = 90
};

#define INGOT_NO_INSTRUCTION 0xffffffu

/** The numbers behind an error. Plain data of the caller's; nothing in it is to be freed. */
typedef struct ingot_error {
  ingot_code code;
  uint32_t instruction; /* index into the program, or INGOT_NO_INSTRUCTION */
  uint64_t need;        /* expected */
  uint64_t have;        /* found */
  uint64_t offset;      /* bytes into the file, where that is known */
  int32_t operand;      /* value, operand or part index; -1: none */
  const char* field;    /* static: the field or rule concerned, "header.file_bytes" */
  const char* hint;     /* static: what to do, or "" */
  char name[64];        /* of the value, port or dimension concerned, or "" */
} ingot_error;

/** Stable lower-case word, "arena_too_small". Static. */
INGOT_API const char* ingot_code_name(ingot_code code);

/** One clear line (what is wrong, expected and found; what to do) into out[0..size), always ended
    by 0. Returns the length it would need without that 0. Hosts only: a freestanding library writes
    the code's name alone. */
INGOT_API size_t ingot_error_text(const ingot_error* error, char* out, size_t size);

/* -------------------------------------------------------------------------------------- tensors */

typedef int32_t ingot_dtype;
enum {
  INGOT_INVALID_DTYPE = 0, INGOT_F32 = 1, INGOT_F16 = 2, INGOT_BF16 = 3, INGOT_F64 = 4,
  INGOT_I8 = 5, INGOT_U8 = 6, INGOT_I16 = 7, INGOT_U16 = 8, INGOT_I32 = 9, INGOT_U32 = 10,
  INGOT_I64 = 11, INGOT_U64 = 12, INGOT_BOOL = 13
};

/** "f32", "i64", ... Static; "invalid" for anything else. */
INGOT_API const char* ingot_dtype_name(ingot_dtype dtype);
/** Bytes of one element; 0 for anything else. */
INGOT_API size_t ingot_dtype_bytes(ingot_dtype dtype);

/** A view: describes memory and owns none. Row-major; consecutive rows of the last dimension lie
    row_stride elements apart. */
typedef struct ingot_tensor {
  void* data;
  uint64_t bytes;     /* from the first to one past the last element */
  ingot_dtype dtype;
  int32_t rank;
  int64_t dims[INGOT_MAX_RANK];
  /* elements; equals the last dimension when dense. In a tensor handed in, 0 means dense */
  int64_t row_stride;
} ingot_tensor;

/* ---------------------------------------------------------------- what the application hands in */

/** Kernels and the operators' rules. The CPU's are in <ingot/cpu.h>; a firmware gets its own from
    `ingot kernels FILE`. */
typedef struct ingot_kernel_table ingot_kernel_table;

/** allocate: `bytes` at a multiple of `alignment` (a power of two), or null. release: the same
    pointer and size. Never called from run(). Must be safe to call from every thread that opens,
    creates or destroys. */
typedef struct ingot_allocator {
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* pointer, size_t bytes);
} ingot_allocator;

/** A file behind a callback. read: all of [offset, offset + bytes) into out; 0 on success. Must
    serve any thread that uses the model. Called by open, create, verify and the metadata calls. */
typedef struct ingot_reader {
  void* user;
  uint64_t bytes;
  int32_t (*read)(void* user, uint64_t offset, void* out, size_t bytes);
} ingot_reader;

/** The caller's threads. parallel: calls body(argument, i) for each i in [0, n), on any threads, in
    any order, and returns when all have returned. They need not run at the same time, though only
    those that do help. It should not allocate. */
typedef struct ingot_executor {
  void* user;
  void (*parallel)(void* user, void (*body)(void* argument, int32_t i), void* argument, int32_t n);
} ingot_executor;

/** Threads of Ingot's own, for several sessions to share (pool.h). */
typedef struct ingot_pool ingot_pool;

/* ---------------------------------------------------------------------------------------- model */

typedef struct ingot_model ingot_model;

typedef int32_t ingot_trust;
enum {
  INGOT_TRUST_NONE = 0,   /* everything is validated but the weights' bytes, which cannot harm */
  INGOT_TRUST_HASHES = 1  /* the hashes of the weights too: reads the whole file */
};
typedef int32_t ingot_map;
enum {
  /* weights are mapped read-only and shared with other processes through the page cache */
  INGOT_MAP_SHARE = 0,
  /* weights are read into the arena: for a file that others may write or cut while it is in use */
  INGOT_MAP_COPY = 1
};

typedef struct ingot_open_options {
  size_t size;
  const ingot_kernel_table* kernels;  /* required */
  ingot_trust trust;
  ingot_map map;
  const ingot_allocator* allocator;   /* for the model's one block; null: the C library's (hosts) */
  /* or the caller's block for the model, 16-byte aligned; may be null */
  void* memory;
  size_t memory_bytes;                /* too few: INGOT_OUT_OF_MEMORY with need and have */
  /* operators of the application's that the file has; they must outlive the model. Null: none */
  const struct ingot_custom_operator* const* operators;
  size_t operator_count;
} ingot_open_options;

/** Reads, validates and decodes a file: structure, meaning, plan. Weights are not read unless
    options say so. Allocates. */
INGOT_API ingot_code ingot_model_open(const char* path, const ingot_open_options* options,
                                      ingot_model** out_model, ingot_error* error);
/** The same for a file that lies in memory, used where it lies (flash, a caller's mapping): weights
    are never copied. `bytes` should be aligned to the file's segment alignment, at least to 64 (16
    for a file packed for flash): INGOT_MISALIGNED. */
INGOT_API ingot_code ingot_model_open_memory(const void* bytes, uint64_t size,
                                             const ingot_open_options* options,
                                             ingot_model** out_model, ingot_error* error);
/** The same through a callback; weights are copied into the arena when a session is made. */
INGOT_API ingot_code ingot_model_open_reader(const ingot_reader* reader,
                                             const ingot_open_options* options,
                                             ingot_model** out_model, ingot_error* error);
/** @pre it has no session left. */
INGOT_API void ingot_model_destroy(ingot_model* model);

/** Compares every part with its SHA-256 and checks that the bytes between parts are zero. Reads the
    whole file. */
INGOT_API ingot_code ingot_model_verify_hashes(const ingot_model* model, ingot_error* error);

typedef struct ingot_model_summary {
  size_t size;
  uint64_t file_bytes;
  uint64_t program_bytes;
  uint64_t metadata_bytes;    /* of the part, 0: none */
  uint64_t weights_bytes;     /* sum of the weight parts */
  uint64_t golden_bytes;      /* 0: the file has no embedded golden */
  uint64_t model_bytes;       /* held by this ingot_model: its one block */
  uint64_t plan_bytes;        /* activations as planned in the file; 0: planned when bound */
  uint64_t plan_lower_bound;
  uint32_t input_count, output_count, state_count, symbol_count;
  uint32_t value_count, instruction_count, step_count, weight_part_count;
  uint32_t format_major, format_minor;
  uint32_t segment_alignment, alignment;
} ingot_model_summary;
INGOT_API ingot_code ingot_model_summarize(const ingot_model* model,
                                           ingot_model_summary* out_summary);

/** A symbolic dimension that is bound from outside (below symbol_count), or behind those one that
    the program resolves in a run. */
typedef struct ingot_symbol {
  const char* name;
  int64_t low;
  int64_t high; /* 0: no upper bound */
} ingot_symbol;
INGOT_API ingot_code ingot_model_symbol(const ingot_model* model, uint32_t index,
                                        ingot_symbol* out_symbol);

enum { INGOT_DIM_NUMBER = -1, INGOT_DIM_EXPRESSION = -2 };

/** An input, an output, or (through ingot_model_value) any value of the program. */
typedef struct ingot_value_type {
  const char* name;      /* "" where the source had none */
  const char* layout;    /* as the user sees it: "NCHW", "NHWC", "nv12 1920x1080" (frames), or "" */
  ingot_dtype dtype;
  int32_t rank;
  int64_t dims[INGOT_MAX_RANK];        /* numbers; -1 where symbolic */
  /* index of the symbol, INGOT_DIM_NUMBER, or INGOT_DIM_EXPRESSION */
  int32_t dim_symbol[INGOT_MAX_RANK];
  int32_t value;         /* index for ingot_session_value() */
  int32_t kind;          /* 0 intermediate, 1 constant, 2 input, 3 output, 4 state */
} ingot_value_type;
INGOT_API ingot_code ingot_model_input(const ingot_model* model, uint32_t index,
                                       ingot_value_type* out_type);
INGOT_API ingot_code ingot_model_output(const ingot_model* model, uint32_t index,
                                        ingot_value_type* out_type);
INGOT_API ingot_code ingot_model_value(const ingot_model* model, uint32_t index,
                                       ingot_value_type* out_type);
/** Index by name, or -1. */
INGOT_API int32_t ingot_model_find_input(const ingot_model* model, const char* name);
INGOT_API int32_t ingot_model_find_output(const ingot_model* model, const char* name);
/** Dimension `dim` of a value in words, "16", "W", "(W + 1) / 2", as ingot_error_text() writes.
    Returns the length needed. */
INGOT_API size_t ingot_model_dim_text(const ingot_model* model, uint32_t value, uint32_t dim,
                                      char* out, size_t size);

typedef struct ingot_instruction {
  const char* op;      /* "conv2d" */
  const char* name;    /* of its first output in the source, or "" */
  const char* kernel;  /* that runs it; "" before a session bound it, and for control flow */
  const char* subprogram;
  const uint32_t* source_nodes; /* indices into the metadata's source nodes */
  uint32_t source_count;
  uint32_t input_count, output_count;
  const int32_t* inputs;  /* value indices; -1: absent */
  const int32_t* outputs;
} ingot_instruction;
INGOT_API ingot_code ingot_model_instruction(const ingot_model* model, uint32_t index,
                                             ingot_instruction* out_instruction);

typedef int32_t ingot_part;
enum {
  INGOT_PART_PROGRAM = 1,
  INGOT_PART_METADATA = 2,
  INGOT_PART_WEIGHTS = 3,
  INGOT_PART_GOLDEN = 4
};
/** Copies a part of the file as it is (metadata and golden are FlatBuffers, see schema/). With
    capacity 0 only *out_bytes is set (out may be null). INGOT_NOT_FOUND: no such part. */
INGOT_API ingot_code ingot_model_part(const ingot_model* model, ingot_part kind, uint32_t index,
                                      void* out, uint64_t capacity, uint64_t* out_bytes,
                                      ingot_error* error);

/** Text stored under a key of the metadata: "name", "version", "licence", "producer",
    "source_file", "source_format", "source_sha256", or an entry of `ingot convert --metadata` or of
    the source (labels, training facts). Not ended by 0; with capacity 0 only *out_bytes is set (out
    may be null). INGOT_NOT_FOUND: no metadata, or not in it. Allocates while it runs, with the
    model's allocator. */
INGOT_API ingot_code ingot_model_metadata(const ingot_model* model, const char* key, char* out,
                                          uint64_t capacity, uint64_t* out_bytes,
                                          ingot_error* error);

/* ------------------------------------------------------------------------------ embedded golden */

/** Example inputs and outputs that the file carries. Opening allocates with the model's
    allocator. */
typedef struct ingot_golden ingot_golden;
INGOT_API ingot_code ingot_golden_open(const ingot_model* model, ingot_golden** out_golden,
                                       ingot_error* error);
INGOT_API void ingot_golden_close(ingot_golden* golden);
INGOT_API uint32_t ingot_golden_case_count(const ingot_golden* golden);
typedef struct ingot_golden_case {
  uint32_t input_count, output_count;
  double rtol, atol;
} ingot_golden_case;
INGOT_API ingot_code ingot_golden_case_at(const ingot_golden* golden, uint32_t index,
                                          ingot_golden_case* out_case);
/** The views are read-only and die with `golden`. */
INGOT_API ingot_code ingot_golden_input(const ingot_golden* golden, uint32_t case_index,
                                        uint32_t index, const char** out_name,
                                        ingot_tensor* out_tensor);
INGOT_API ingot_code ingot_golden_output(const ingot_golden* golden, uint32_t case_index,
                                         uint32_t index, const char** out_name,
                                         ingot_tensor* out_tensor);

/* ------------------------------------------------------------------------------------ placement */

/** A device by its name, whether this library has it or not. */
typedef struct ingot_device {
  size_t size;
  const char* name;  /* "cpu", "cuda", "fake:0"; static */
  int32_t exists;
  const char* why;   /* static: "this library was built without CUDA" */
} ingot_device;
/** INGOT_NOT_FOUND beyond the last. */
INGOT_API ingot_code ingot_device_at(uint32_t index, ingot_device* out_device);

/** A weight as ingot_place_function sees it. */
typedef struct ingot_weight {
  size_t size;
  const char* name;          /* the source's, where the file records it, else the constant's */
  /* "cuda:1": where it was saved. Provenance: nothing follows it unasked. "" when not recorded */
  const char* trained_on;
  ingot_dtype dtype;         /* as kernels see it */
  int32_t rank;
  int64_t dims[INGOT_MAX_RANK];
  uint64_t bytes;            /* of the constant that holds it, where it lies */
  /* that constant; several weights may be one (a product for queries, keys and values) */
  uint32_t value;
} ingot_weight;
/** A device's name, or null or "" for the device of what is not asked for. */
typedef const char* (*ingot_place_function)(void* user, const ingot_weight* weight);

/** Which device each weight lies on and each instruction runs on; for any number of sessions of one
    model, which it must outlive. It depends on the program alone, not on bindings, threads or
    memory. A weight lies in the memory of the device it is placed on, and the instruction that
    reads it runs there. Where weights of one instruction were asked for on several devices, the
    largest has its way; a weight that nobody asked for goes with those that were. Instructions
    without weights stay where what they read first was made; an If or a Loop is on one device with
    all that is in it; one that resolves a size is on the CPU. Inputs, outputs and state are on the
    CPU and count as being on `device` for this. Answers do not depend on any of it. */
typedef struct ingot_assignment ingot_assignment;
typedef struct ingot_assignment_options {
  size_t size;
  const char* device;          /* of what is not asked for: null or "auto", "cpu", "cuda:N", ... */
  /* called once for each weight, before ingot_assignment_create() returns; may be null */
  ingot_place_function place;
  void* user;
} ingot_assignment_options;
/** INGOT_NO_SUCH_DEVICE names the weight, the device, and those that there are. Allocates with the
    model's allocator. */
INGOT_API ingot_code ingot_assignment_create(const ingot_model* model,
                                             const ingot_assignment_options* options,
                                             ingot_assignment** out_assignment, ingot_error* error);
/** @pre no session uses it. */
INGOT_API void ingot_assignment_destroy(ingot_assignment* assignment);

typedef struct ingot_weight_place {
  size_t size;
  const char* asked;    /* the device asked for, by the callback or by options.device */
  int32_t by_callback;
  /* where it lies: bit i is device i. More than one: each of them reads it. 0: nothing reads it */
  uint32_t devices;
  const char* reason;   /* static */
} ingot_weight_place;
/** A weight and its place, in the order in which they were asked for; either may be null.
    INGOT_NOT_FOUND beyond the last. */
INGOT_API ingot_code ingot_assignment_weight(const ingot_assignment* assignment, uint32_t index,
                                             ingot_weight* out_weight,
                                             ingot_weight_place* out_place);
/** Name of device `index`, 0 being the CPU; null beyond the last. Dies with the assignment. */
INGOT_API const char* ingot_assignment_device(const ingot_assignment* assignment, uint32_t index);
/** Index of the device that runs an instruction, or -1. */
INGOT_API int32_t ingot_assignment_instruction(const ingot_assignment* assignment,
                                               uint32_t instruction);
/** Why it runs there, a static sentence: "the device has no kernel for this operator". "" for an
    index beyond the last. */
INGOT_API const char* ingot_assignment_reason(const ingot_assignment* assignment,
                                              uint32_t instruction);

/* ----------------------------------------------------------------------- requirements, sessions */

typedef struct ingot_session ingot_session;

typedef struct ingot_binding {
  const char* name; /* of a symbol */
  int64_t value;
} ingot_binding;

typedef int32_t ingot_arena_kind;
enum {
  INGOT_ARENA_OWN = 0,       /* one reservation of address space; hosts with virtual memory */
  /* options.arena, options.arena_bytes: a static array, a mapping of the caller's */
  INGOT_ARENA_CALLER = 1,
  INGOT_ARENA_ALLOCATOR = 2  /* one block from options.allocator */
};

/** Flags of a session. */
enum {
  /* the caller binds every input and output before run(): not in the arena */
  INGOT_CALLER_BINDS_PORTS = 1,
  /* own arena: 2 MiB alignment, and a request to the system, which may decline */
  INGOT_HUGE_PAGES = 2,
  INGOT_LOCK_MEMORY = 4,        /* own arena: weights and all; INGOT_LOCK_FAILED when refused */
  /* bytes of its own for every value: any can be read after run(). Larger arena */
  INGOT_KEEP_VALUES = 8,
  /* fills the arena with a pattern at creation, for ingot_session_touched() */
  INGOT_POISON = 16,
  INGOT_PREFAULT = 32,          /* own arena: touches every page at creation, the weights' too */
  /* an arena for every binding within the bounds, for ingot_session_rebind() */
  INGOT_REBINDABLE = 64,
  /* INGOT_NO_KERNEL, with the instruction, where the device asked for cannot run all; else the
     CPU runs what it cannot, and the placement says so */
  INGOT_STRICT = 128,
  /* a GPU computes as its model has it, whatever `ingot tune` recorded in the file */
  INGOT_IGNORE_TUNINGS = 512,
  /* the CPU decides Ifs and Loops of a GPU between launches, although the driver could inside
     one */
  INGOT_HOST_BRANCHES = 1024,
  /* a thread that waits for a GPU sleeps; it wakes later than one that spins */
  INGOT_BLOCKING_WAIT = 2048,
  /* a thread of the session's own runs what ingot_session_start() begins, on the CPU and on
     several devices; a session wholly on a GPU needs none and makes none */
  INGOT_ASYNC = 256
};

typedef struct ingot_session_options {
  size_t size;
  const char* device;             /* null or "auto", "cpu", "cuda", "cuda:N", "null", "fake:N" */
  const ingot_binding* bindings;  /* one for each symbol without a number; may be null */
  size_t binding_count;
  /* of the team, the caller's included. 0: the pool's, or one for each processor, but 1 where a
     run is too short to share */
  int32_t threads;
  uint32_t flags;
  ingot_pool* pool;               /* null: threads of the session's own (none when threads is 1) */
  /* or the caller's threads; may be null. `threads` is then n of parallel() */
  const ingot_executor* executor;
  ingot_arena_kind arena_kind;
  void* arena;                    /* INGOT_ARENA_CALLER. Null is allowed in requirements() */
  uint64_t arena_bytes;           /* INGOT_ARENA_CALLER: its size. Otherwise a limit, 0: none */
  const ingot_allocator* allocator; /* INGOT_ARENA_ALLOCATOR */
  /* INGOT_REBINDABLE: of symbols, in place of the file's; may be null. Where neither has one,
     `bindings` must, and the symbol then keeps that value */
  const ingot_binding* upper_bounds;
  size_t upper_bound_count;
  /* in place of `device`, which is then null; may be null. Where it uses several devices,
     `arena` and `threads` are the CPU's, INGOT_CALLER_BINDS_PORTS leaves the ports their places,
     and each other device has one reservation of its own */
  const ingot_assignment* assignment;
  /* a CUstream of the caller's, on the device's GPU: runs are queued there, in its context; not
     CU_STREAM_PER_THREAD, which is another on each thread. Null: one of the session's own, in
     the primary context */
  void* gpu_stream;
} ingot_session_options;

/** Bytes, exact. The parts of the arena add up to arena_bytes. */
typedef struct ingot_requirements {
  size_t size;
  uint64_t arena_bytes;       /* one byte less is refused */
  uint64_t arena_alignment;   /* of the caller's arena */
  uint64_t weights_mapped;    /* pages of the file, shared, in the arena's range */
  uint64_t weights_copied;    /* into the arena, by choice of map or arena */
  /* as planned, inputs and outputs included unless the caller binds them */
  uint64_t activations;
  uint64_t state;             /* that lives from run to run */
  uint64_t scratch;           /* of kernels, all threads */
  uint64_t tables;            /* the resolved program, the session itself */
  uint64_t rounding;          /* alignment between the above, whole pages */
  uint64_t weights_in_place;  /* outside the arena: used where the caller's file memory lies */
  /* outside the arena: thread stacks, host copies of a device's ports */
  uint64_t outside_bytes;
  uint64_t activations_lower_bound; /* largest sum of live bytes at one step */
  uint32_t peak_instruction;  /* where that is */
  int32_t threads;            /* as resolved */
  /* of an assignment to several devices: outside the arena, on those that are not the CPU */
  uint64_t device_bytes;
  /* weights that the file stores as f16 or bf16, converted to f32 at load; of the arena, or of
     weights_shared */
  uint64_t weights_widened;
  /* outside the arena, in a GPU's memory: all of the model's there, for all of its sessions in
     this process */
  uint64_t weights_shared;
  /* instructions of a run at most, loops as often as their bounds allow; 2^64 - 1: more, or no
     bound */
  uint64_t steps;
} ingot_requirements;
/** What ingot_session_create() with equal options will take, to the byte. Allocates nothing. */
INGOT_API ingot_code ingot_model_requirements(const ingot_model* model,
                                              const ingot_session_options* options,
                                              ingot_requirements* out_requirements,
                                              ingot_error* error);

/** Lays out the arena and resolves the program in it. `options` may be null: all defaults.
    Allocates the arena once. */
INGOT_API ingot_code ingot_session_create(const ingot_model* model,
                                          const ingot_session_options* options,
                                          ingot_session** out_session, ingot_error* error);
INGOT_API void ingot_session_destroy(ingot_session* session);
/** The model that it is made of. */
INGOT_API const ingot_model* ingot_session_model(const ingot_session* session);

/** Other values for the symbols named in `bindings`, within the bounds of an INGOT_REBINDABLE
    session; the others keep theirs. Made in the arena that the session has: no allocation, no lock.
    Afterwards ask for inputs and outputs again: their extents have changed, ports that were bound
    are back in the arena (or unbound, with INGOT_CALLER_BINDS_PORTS), and state whose size changed
    has its initial value. On failure nothing has changed: INGOT_DIMENSION_OUT_OF_BOUNDS beyond the
    bounds; the error of a contract where the extents contradict each other. */
INGOT_API ingot_code ingot_session_rebind(ingot_session* session, const ingot_binding* bindings,
                                          size_t binding_count, ingot_error* error);

/** Views with the bound dimensions. Write inputs before every run: an input left in the arena may
    be overwritten by it. Outputs hold until the next run. data is null for a port that the caller
    has yet to bind. An extent that only the data decides is the largest before a run, and what it
    was resolved to after it; memory bound to such a port has room for the largest. */
INGOT_API ingot_code ingot_session_input(ingot_session* session, uint32_t index,
                                         ingot_tensor* out_tensor);
INGOT_API ingot_code ingot_session_output(ingot_session* session, uint32_t index,
                                          ingot_tensor* out_tensor);
INGOT_API ingot_code ingot_session_input_by_name(ingot_session* session, const char* name,
                                                 ingot_tensor* out_tensor);
INGOT_API ingot_code ingot_session_output_by_name(ingot_session* session, const char* name,
                                                  ingot_tensor* out_tensor);

/** From now on the port is the caller's memory: dtype, rank, dims, stride, size and alignment (64
    bytes) are checked. Inputs are only read. `tensor` null: back to the arena (INGOT_WRONG_STATE
    with INGOT_CALLER_BINDS_PORTS). INGOT_INVALID_ARGUMENT for an output whose memory overlaps
    another output's, or an input's that is read after the output was written; an input bound onto
    an output is looked at by the next run. Does not allocate. */
INGOT_API ingot_code ingot_session_bind_input(ingot_session* session, uint32_t index,
                                              const ingot_tensor* tensor, ingot_error* error);
INGOT_API ingot_code ingot_session_bind_output(ingot_session* session, uint32_t index,
                                               const ingot_tensor* tensor, ingot_error* error);

/** The same with memory of the session's GPU (tensor.data is its address): a run reads and writes
    it there, without a copy through the CPU. Binding other memory makes nothing anew.
    INGOT_WRONG_STATE for a session on the CPU or on several devices, INGOT_INVALID_ARGUMENT for
    memory of the host or of another context. Back to the arena: ingot_session_bind_input() with
    null. */
INGOT_API ingot_code ingot_session_bind_device_input(ingot_session* session, uint32_t index,
                                                     const ingot_tensor* tensor,
                                                     ingot_error* error);
INGOT_API ingot_code ingot_session_bind_device_output(ingot_session* session, uint32_t index,
                                                      const ingot_tensor* tensor,
                                                      ingot_error* error);

/** Computes the outputs. INGOT_DIMENSION_OUT_OF_BOUNDS: extents that the data decides pass their
    bound or contradict each other. After that, INGOT_CANCELLED, INGOT_DEADLINE_EXCEEDED,
    INGOT_BAD_INDEX_VALUE and INGOT_CONTROL_REFUSED outputs and state are unspecified and the
    session stays usable; after a device error it is dead (INGOT_WRONG_STATE). */
INGOT_API ingot_code ingot_session_run(ingot_session* session, ingot_error* error);
/** The same, given up between two instructions once ingot_clock_ns() passes deadline_ns. */
INGOT_API ingot_code ingot_session_run_until(ingot_session* session, uint64_t deadline_ns,
                                             ingot_error* error);
/** Any thread. Ends the run in progress, or else the next one, between two instructions. */
INGOT_API void ingot_session_cancel(ingot_session* session);
/** Begins a run and returns; ingot_session_wait() ends it. Between the two the session is running:
    binding, rebinding, state, another run or start are INGOT_WRONG_STATE; inputs that are not in
    the arena may be written again only after wait. A session wholly on a GPU copies its inputs from
    memory of the host, launches, and returns: one launch, no wait, no allocation, no lock of ours.
    On the CPU, on several devices and where the CPU decides branches for a GPU
    (ingot_session_branch()) the thread of INGOT_ASYNC runs it (one wake); without that flag start
    is the whole run, and wait tells its result. An error of start itself leaves nothing to wait
    for. Destroying a session that was started waits for the run. Hosts only. */
INGOT_API ingot_code ingot_session_start(ingot_session* session, ingot_error* error);
/** Called once when a started run has ended, well or not, by a thread of the driver's or the
    session's, or by start itself. It may not call into the session or the driver; wake up whoever
    calls ingot_session_wait(). A lost device may never call it: wait tells. */
typedef void (*ingot_ended_function)(void* user);
/** The same with a deadline (0: none) and a function (may be null). A GPU looks at the deadline and
    at ingot_session_cancel() before the run begins and where the CPU decides a branch for it, else
    never while it lasts. */
INGOT_API ingot_code ingot_session_start_with(ingot_session* session, uint64_t deadline_ns,
                                              ingot_ended_function ended, void* user,
                                              ingot_error* error);
/** The result of the run that was started, with its outputs; sleeps until it has ended. Errors are
    those of ingot_session_run(); INGOT_WRONG_STATE: nothing was started. On a GPU: one wait. */
INGOT_API ingot_code ingot_session_wait(ingot_session* session, ingot_error* error);
/** *out_ended: 1 when wait would not sleep, else 0. INGOT_WRONG_STATE: nothing was started. */
INGOT_API ingot_code ingot_session_poll(ingot_session* session, int32_t* out_ended,
                                        ingot_error* error);
/** Sets every state variable to its initial value; fresh sessions have it. */
INGOT_API ingot_code ingot_session_reset_state(ingot_session* session, ingot_error* error);

/** A variable that lives from run to run. */
typedef struct ingot_state {
  size_t size;
  /* type.name: of the variable, the source's input where a pair of ports became state */
  ingot_value_type type;
  const char* output_name;   /* of the source's output that it replaced, or "" */
  int32_t has_initial_value; /* 0: a fresh session has zeros */
} ingot_state;
INGOT_API ingot_code ingot_model_state(const ingot_model* model, uint32_t index,
                                       ingot_state* out_state);
/** Index by name, or -1. */
INGOT_API int32_t ingot_model_find_state(const ingot_model* model, const char* name);
/** The variable where it lies; may be written between runs. INGOT_WRONG_STATE on a device with
    memory of its own. */
INGOT_API ingot_code ingot_session_state(ingot_session* session, uint32_t index,
                                         ingot_tensor* out_tensor);
/** All variables as bytes that name no device and no instruction set (docs/state.md). With capacity
    0 only *out_bytes is set (out may be null); it is the same for every run. INGOT_BAD_STATE_VALUE:
    an element is not a number. */
INGOT_API ingot_code ingot_session_save_state(ingot_session* session, void* out, uint64_t capacity,
                                              uint64_t* out_bytes, ingot_error* error);
/** What a session of the same file with the same dims saved: the next run continues with the same
    bits. A failure leaves the state as it was. INGOT_STATE_MISMATCH: of another model, version or
    binding. INGOT_NOT_INGOT, INGOT_TRUNCATED, INGOT_HASH_MISMATCH, INGOT_STRUCTURE_INVALID,
    INGOT_UNSUPPORTED_VERSION: the bytes. INGOT_BAD_STATE_VALUE: an element is not a number. */
INGOT_API ingot_code ingot_session_restore_state(ingot_session* session, const void* state,
                                                 uint64_t bytes, ingot_error* error);
/** INGOT_BAD_STATE_VALUE, with the variable and the element, when one is not a number (NaN;
    infinities are let through). Such a state does not recover: reset or restore it. Reads every
    element; does not allocate. */
INGOT_API ingot_code ingot_session_check_state(ingot_session* session, ingot_error* error);
/** Gives the pages of activations and scratch back to the system, inputs and outputs in the arena
    with them; state, weights and tables stay. The next run takes them again, page by page, and
    gives the same answer. Own arenas only: INGOT_WRONG_STATE for a caller's arena, a device, or
    with INGOT_LOCK_MEMORY. Makes system calls, does not allocate. */
INGOT_API ingot_code ingot_session_park(ingot_session* session, ingot_error* error);

/** Monotonic nanoseconds; 0 on a system without a clock. */
INGOT_API uint64_t ingot_clock_ns(void);

/** Called on the calling thread after each instruction of a run. Null switches it off, and then it
    costs nothing. On a GPU: when the run has ended, with what its events say; the first such run
    makes a second graph, which allocates. Of ingot_session_run() alone, not of started runs and
    pipelines on a GPU. No exception may leave it: one that does leaves the session in the middle
    of a run; every later run is INGOT_WRONG_STATE, and the session can only be destroyed. */
typedef struct ingot_profile_event {
  uint32_t instruction;
  const char* op;
  const char* name;
  const char* kernel;
  uint64_t begin_ns, end_ns;
  int32_t team; /* threads that took part */
} ingot_profile_event;
typedef void (*ingot_profile_function)(void* user, const ingot_profile_event* event);
INGOT_API ingot_code ingot_session_set_profile(ingot_session* session,
                                               ingot_profile_function function, void* user);

/** Any value after a run: constants, inputs, outputs and state always; intermediates with
    INGOT_KEEP_VALUES (INGOT_WRONG_STATE without). A packed constant is given with its bytes and
    rank 1 of u8. */
INGOT_API ingot_code ingot_session_value(ingot_session* session, uint32_t value,
                                         ingot_tensor* out_tensor, ingot_error* error);
/** Index of a value by name, or -1. */
INGOT_API int32_t ingot_model_find_value(const ingot_model* model, const char* name);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "custom.h"       /* operators of the application's */
#include "log.h"          /* what the library chose and gave up, in lines */
#include "pool.h"         /* threads that sessions share */
#include "quantization.h" /* what the integers of a port stand for */
#include "report.h"       /* who holds what memory, what ran where, counters */

#endif /* INGOT_INGOT_H_ */
