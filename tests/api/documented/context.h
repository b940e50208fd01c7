/* SPDX-License-Identifier: Apache-2.0 */
/* What the blocks of the documents take from the text around them. */
#include <ingot/cpu.h>
#include <ingot/ingot.h>
#include <stdio.h>

#ifndef __cplusplus
static ingot_model* model;
static ingot_session* session;
static ingot_session_options options;
static ingot_requirements need;
static ingot_tensor input;
static ingot_error error;
void write_line(void* user, ingot_log_level level, const char* text);
#else
#include <algorithm>
#include <cstring>
#include <ingot/ingot.hpp>
#include <ingot/pipeline.hpp>
#include <string>
#include <vector>

static int fail(const std::string&) { return 1; }
static ingot::Result<ingot::Model> model =
    ingot::Model::open("net.ingot", ingot_cpu_kernels(nullptr));
static ingot::Result<ingot::Session> session = model->session();
static std::vector<float> samples;
template <class View>
void use(const View&) {}
struct Camera {
  template <class View>
  bool decode(const View&) {
    return true;
  }
};
static Camera camera;
#endif
