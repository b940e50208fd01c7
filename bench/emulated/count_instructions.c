/* SPDX-License-Identifier: Apache-2.0 */
/* count_instructions.c - a plugin of QEMU's user mode that prints how many instructions a program
   executed, of all its threads, when it ends. Threads add without a lock: exact with one thread.

     cc -shared -fPIC -O2 count_instructions.c -o count.so
     qemu-aarch64 -plugin ./count.so PROGRAM 2>&1 | tail -1       # instructions 5026028

   QEMU's header is not installed with it: what is used of its interface, version 1, is declared
   here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb; /* a block of translated code */
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t,
                                                            struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, enum qemu_plugin_op op,
                                              void* number, uint64_t immediate);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*),
                                    void* argument);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;

static uint64_t instructions;

static void see_block(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &instructions,
                                           qemu_plugin_tb_n_insns(block));
}

static void see_end(qemu_plugin_id_t id, void* unused) {
  (void)id, (void)unused;
  fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const void* target, int count, char** words) {
  (void)target, (void)count, (void)words;
  qemu_plugin_register_vcpu_tb_trans_cb(id, see_block);
  qemu_plugin_register_atexit_cb(id, see_end, NULL);
  return 0;
}
