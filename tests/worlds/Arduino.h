// SPDX-License-Identifier: Apache-2.0
// Arduino.h - of Arduino's interface what the example uses, over the board functions of a project
// of `ingot firmware`: a sketch as QEMU runs it.
#pragma once
#include <cstdint>

extern "C" void board_print(const char* text);
struct SerialPort {
  void begin(unsigned long) {}
  void print(const char* text) { board_print(text); }
};
extern SerialPort Serial;
void setup();
void loop();
