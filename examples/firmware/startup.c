/* SPDX-License-Identifier: Apache-2.0 */
/* startup.c - the vector table and the C start of a bare Cortex-M or RISC-V machine, and output
   through the debugger or the emulator (semihosting). No heap: nothing defines _sbrk, so that a
   link that needs malloc fails. */
#include <stddef.h>
#include <stdint.h>

extern uint32_t __data_start[], __data_end[], __data_load[], __bss_start[], __bss_end[],
    __stack_limit[], __stack_top[];
int main(void);

enum { kWrite0 = 0x04, kExitExtended = 0x20, kApplicationExit = 0x20026 };
static const uint32_t kPaint = 0xc0ffee11u;

static long semihost(long operation, const void* argument) {
#if defined(__riscv)
  register long a0 __asm__("a0") = operation;
  register const void* a1 __asm__("a1") = argument;
  __asm__ volatile(
      ".option push\n .option norvc\n .balign 16\n" /* the three on one page */
      " slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n .option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
#else
  register long r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
#endif
}

void board_print(const char* text) { semihost(kWrite0, text); }

void board_exit(int code) {
  const uint32_t block[2] = {kApplicationExit, (uint32_t)code};
  semihost(kExitExtended, block);
  for (;;) {
  }
}

/* Bytes of the stack that were used so far, of those that memory.ld keeps for it. */
uint32_t board_stack_used(void) {
  const uint32_t* at = __stack_limit;
  while (at < __stack_top && *at == kPaint) at++;
  return (uint32_t)((const char*)__stack_top - (const char*)at);
}
uint32_t board_stack_bytes(void) {
  return (uint32_t)((const char*)__stack_top - (const char*)__stack_limit);
}

/* Ticks since board_clock_start(): of the processor's clock (SysTick, 24 bits of it), on RISC-V
   instructions. An emulator that counts instructions (QEMU with -icount shift=0) lets a nanosecond
   pass for each, and a tick is as long as the board's clock says. */
#if defined(__riscv)
static uint32_t clock_start;
/* As numbers, since compilers disagree about whether rv32imac has these instructions by name. */
static uint32_t instructions(void) {
  uint32_t n; /* csrr n, minstret */
  __asm__ volatile(".insn i 0x73, 2, %0, x0, -1278" : "=r"(n));
  return n;
}
void board_clock_start(void) { clock_start = instructions(); }
uint32_t board_clock_ticks(void) { return instructions() - clock_start; }
#else
#define SYST_CSR (*(volatile uint32_t*)0xE000E010)
#define SYST_RVR (*(volatile uint32_t*)0xE000E014)
#define SYST_CVR (*(volatile uint32_t*)0xE000E018)
void board_clock_start(void) {
  SYST_CSR = 0;
  SYST_RVR = 0xffffffu;
  SYST_CVR = 0;
  SYST_CSR = 5; /* the processor's clock, no interrupt */
}
uint32_t board_clock_ticks(void) { return 0xffffffu - (SYST_CVR & 0xffffffu); }
#endif

__attribute__((used)) void fault(void) {
  board_print("FAULT\n");
  board_exit(3);
}

__attribute__((used, noreturn)) void start(void) {
  uint32_t* to;
  const uint32_t* from = __data_load;
#if defined(__arm__) && (defined(__ARM_FP) || defined(__ARM_FEATURE_MVE))
  *(volatile uint32_t*)0xE000ED88 |= 0xFu << 20; /* CPACR: floating point and vectors on */
  __asm__ volatile("dsb\n isb");
#endif
  for (to = __data_start; to < __data_end;) *to++ = *from++;
  for (to = __bss_start; to < __bss_end;) *to++ = 0;
  for (to = __stack_limit; (char*)to < (char*)__builtin_frame_address(0) - 64;) *to++ = kPaint;
  board_exit(main());
  for (;;) {
  }
}

#if defined(__riscv)
__asm__(
    ".section .vectors, \"ax\"\n.global reset\nreset:\n"
    " la t0, trap\n .insn i 0x73, 1, x0, t0, 0x305\n" /* csrw mtvec, t0 */
    " la sp, __stack_top\n j start\n"
    ".balign 4\ntrap: j fault\n.text\n");
#else
/* No frame of its own: the stack pointer is the vector table's. */
__attribute__((used)) void reset(void) { start(); }

/* What is not defined elsewhere is a fault. Of the processor: functions of these names. Of the
   board: Interrupt_Handler(number), for as many as the table has. */
#define HANDLER(name) __attribute__((weak, alias("fault"))) void name(void)
HANDLER(NMI_Handler);
HANDLER(HardFault_Handler);
HANDLER(MemManage_Handler);
HANDLER(BusFault_Handler);
HANDLER(UsageFault_Handler);
HANDLER(SecureFault_Handler);
HANDLER(SVC_Handler);
HANDLER(DebugMon_Handler);
HANDLER(PendSV_Handler);
HANDLER(SysTick_Handler);
__attribute__((weak)) void Interrupt_Handler(unsigned number) {
  (void)number;
  fault();
}
static void interrupt(void) {
  uint32_t number;
  __asm__ volatile("mrs %0, ipsr" : "=r"(number));
  Interrupt_Handler((unsigned)(number & 0x1ffu) - 16u);
}
#ifndef BOARD_INTERRUPTS
#define BOARD_INTERRUPTS 32 /* 32, or a multiple of 32 up to 224 */
#endif
#define INTERRUPTS_8 \
  interrupt, interrupt, interrupt, interrupt, interrupt, interrupt, interrupt, interrupt
#define INTERRUPTS_32 INTERRUPTS_8, INTERRUPTS_8, INTERRUPTS_8, INTERRUPTS_8
__attribute__((section(".vectors"), used)) void (*const vectors[16 + BOARD_INTERRUPTS])(void) = {
    (void (*)(void))(uintptr_t)__stack_top,
    reset,
    NMI_Handler,
    HardFault_Handler,
    MemManage_Handler,
    BusFault_Handler,
    UsageFault_Handler,
    SecureFault_Handler,
    0,
    0,
    0,
    SVC_Handler,
    DebugMon_Handler,
    0,
    PendSV_Handler,
    SysTick_Handler,
    INTERRUPTS_32,
#if BOARD_INTERRUPTS >= 64
    INTERRUPTS_32,
#endif
#if BOARD_INTERRUPTS >= 96
    INTERRUPTS_32,
#endif
#if BOARD_INTERRUPTS >= 128
    INTERRUPTS_32,
#endif
#if BOARD_INTERRUPTS >= 160
    INTERRUPTS_32,
#endif
#if BOARD_INTERRUPTS >= 192
    INTERRUPTS_32,
#endif
#if BOARD_INTERRUPTS >= 224
    INTERRUPTS_32,
#endif
};
#endif
