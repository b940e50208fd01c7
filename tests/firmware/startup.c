/* SPDX-License-Identifier: Apache-2.0 */
/* startup.c - vector table, C start and semihosting for a bare Cortex-M4 (QEMU's netduinoplus2: 1
   MiB flash, 128 KiB RAM). No heap: nothing here defines _sbrk, so that a link that needs malloc
   fails. */
#include <stddef.h>
#include <stdint.h>

extern uint32_t __data_start[], __data_end[], __data_load[], __bss_start[], __bss_end[],
    __stack_top[];
int main(void);

static int semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_print(const char* text) { semihost(0x04, text); }

void board_exit(int code) {
  const uint32_t block[2] = {0x20026, (uint32_t)code}; /* ADP_Stopped_ApplicationExit */
  semihost(0x20, block);
  for (;;) {
  }
}

static void fault(void) {
  board_print("FAULT\n");
  board_exit(3);
}

void reset(void) {
  *(volatile uint32_t*)0xE000ED88 |= 0xFu << 20; /* CPACR: the FPU on */
  __asm__ volatile("dsb\n isb");
  for (uint32_t *to = __data_start, *from = __data_load; to < __data_end;) *to++ = *from++;
  for (uint32_t* to = __bss_start; to < __bss_end;) *to++ = 0;
  board_exit(main());
}

__attribute__((section(".vectors"), used)) void (*const vectors[16])(void) = {
    (void (*)(void))(uintptr_t)__stack_top, reset, fault, fault, fault, fault, fault};
