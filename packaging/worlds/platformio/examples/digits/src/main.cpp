// SPDX-License-Identifier: Apache-2.0
#include "read_digit.h"

#ifdef ARDUINO
#include <Arduino.h>

static void print(const char* text) { Serial.print(text); }
void setup() {
  Serial.begin(115200);
  read_digit(print);
}
void loop() {}
#else
#include <cstdio>

static void print(const char* text) { fputs(text, stdout); }
int main() { return read_digit(print); }
#endif
