// SPDX-License-Identifier: Apache-2.0
// Reads a digit in setup() and says whether every byte of the answer is the host's.
#include <Ingot.h>

#include "read_digit.h"

static void print(const char* text) { Serial.print(text); }

void setup() {
  Serial.begin(115200);
  read_digit(print);
}

void loop() {}
