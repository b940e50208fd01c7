/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "read_digit.h"

static void print(const char* text) { fputs(text, stdout); }

void app_main(void) { read_digit(print); }
