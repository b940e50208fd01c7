/* SPDX-License-Identifier: Apache-2.0 */
#include <zephyr/sys/printk.h>

#include "read_digit.h"

static void print(const char* text) { printk("%s", text); }

int main(void) { return read_digit(print); }
