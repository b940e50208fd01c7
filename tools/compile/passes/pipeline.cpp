// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/pipeline.h"

#include <algorithm>

#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/common/source_order.h"

namespace ingot::passes {
namespace {

using Pass = uint32_t (*)(Editor&, Remarks&);
enum class Unless { kNever, kWeightsStay, kNoDynamicIntegers, kDynamicIntegers };
struct Named {
  const char* name;
  Pass run;
  Unless unless = Unless::kNever;
};
bool is_left_out(const Named& pass, const PassOptions& options) {
  return (pass.unless == Unless::kWeightsStay && !options.fold_weights) ||
         (pass.unless == Unless::kNoDynamicIntegers && !options.dynamic_integers) ||
         (pass.unless == Unless::kDynamicIntegers && options.dynamic_integers);
}

// On the operators of the source.
const Named kRecognition[] = {
    {"materialize weights", materialize_weights},
    {"merge equal nodes", merge_equal},
    {"recognize dynamic quantization", recognize_dynamic_quantization, Unless::kNoDynamicIntegers},
    {"recognize quantization", recognize_quantization},
    {"recognize quantized weights", recognize_quantized_weights, Unless::kNoDynamicIntegers},
    {"expand quantized weights", expand_quantized_weights, Unless::kDynamicIntegers},
    {"decompose quantization", decompose_quantization},
    {"recognize activations", recognize_activations},
    {"recognize norms", recognize_norms},
    {"recognize softmax", recognize_softmax},
    {"recognize channel shuffle", recognize_channel_shuffle},
};

// On core form. Layout first: afterwards channels are last everywhere and one kind of folding
// serves images and rows.
const Named kCorePasses[] = {
    {"simplify", simplify},
    {"merge equal nodes", merge_equal},
    {"recognize strided slices", recognize_strided_slices},
    {"recognize box writes", recognize_box_writes},
    {"simplify", simplify},
    {"recognize attention", recognize_attention},
    {"simplify", simplify},
    {"fold sequence order", fold_sequence_order},
    {"choose layout", choose_layout},
    {"absorb flattening", absorb_flattening},
    {"hoist unary", hoist_unary},
    {"fold products", fold_products},
    {"simplify", simplify},
    {"fold affine", fold_affine, Unless::kWeightsStay},
    {"fold padding", fold_padding},
    {"fold activation", fold_activation},
    {"fold residual", fold_residual},
    {"fold activation", fold_activation},
    {"simplify", simplify},
    {"merge equal nodes", merge_equal},
    {"fuse projections", fuse_projections},
    {"fuse elementwise", fuse_elementwise},
    {"fold nhwc layout", fold_nhwc_layout},
    {"fold input layout", fold_input_layout},
    {"lay columns down", lay_columns_down},
    {"lift one dimension", lift_one_dimension},
    {"drop constant channels", drop_constant_channels, Unless::kWeightsStay},
    {"simplify", simplify},
};

class Records {
 public:
  void add(const std::string& name, uint32_t changed, Remarks remarks) {
    auto at =
        std::find_if(all_.begin(), all_.end(), [&](const PassRecord& r) { return r.name == name; });
    if (at == all_.end()) at = all_.insert(all_.end(), {name, 0, {}});
    at->changed += changed;
    at->remarks.insert(at->remarks.end(), remarks.begin(), remarks.end());
  }
  std::vector<PassRecord> take() { return std::move(all_); }

 private:
  std::vector<PassRecord> all_;
};

void tell(const PassOptions& options, const char* pass, Model& model) {
  if (options.observe) options.observe(pass, model);
}

template <size_t N>
void run_all(const Named (&passes)[N], Model& model, Graph& graph, const PassOptions& options,
             Records& records) {
  for (const Named& pass : passes) {
    if (is_left_out(pass, options)) continue;
    Remarks remarks;
    uint32_t changed = 0;
    {
      Editor editor(model, graph);
      changed = pass.run(editor, remarks);
      editor.commit();  // not by its end alone, which may not refuse
    }
    records.add(pass.name, changed, std::move(remarks));
    tell(options, pass.name, model);
  }
}

bool wants(const PassOptions& options, const std::string& port, const char* layout) {
  auto found = options.io_layout.find(port);
  return found != options.io_layout.end() && found->second == layout;
}

// Ports that the user wants channels last get the name and the dims; a Transpose makes the source's
// order out of them.
uint32_t place_ports(Editor& e, const PassOptions& options) {
  uint32_t changed = 0;
  Node place;
  for (size_t i = 0; i < e.graph.inputs.size(); i++) {
    const ValueId x = e.graph.inputs[i];
    if (!wants(options, e.value(x).name, "nhwc") || e.rank(x) < 3) continue;
    std::string name = e.value(x).name;
    Integers perm = to_channels_last(e.rank(x));
    ValueId port = e.new_value(name, e.value(x).dtype, permuted(e.dims(x), perm));
    e.value(port).layout = "NHWC";
    e.value(x).name = name + "/source order";
    place.name = name;
    e.add(op::Transpose, {port}, {x}, place, {{attr::perm, inverse(perm)}});
    e.set_graph_input(i, port);
    changed++;
  }
  for (size_t i = 0; i < e.graph.outputs.size(); i++) {
    const ValueId y = e.graph.outputs[i];
    if (!wants(options, e.value(y).name, "nhwc") || e.rank(y) < 3) continue;
    std::string name = e.value(y).name;
    Integers perm = to_channels_last(e.rank(y));
    ValueId port = e.new_value(name, e.value(y).dtype, permuted(e.dims(y), perm));
    e.value(port).layout = "NHWC";
    e.value(y).name = name + "/source order";
    place.name = name;
    e.add(op::Transpose, {y}, {port}, place, {{attr::perm, perm}});
    e.set_graph_output(i, port);
    changed++;
  }
  return changed;
}

void check_ports(const Model& model, const PassOptions& options) {
  for (auto& [port, layout] : options.io_layout) {
    auto is = [&, &name = port](ValueId id) { return model.values[size_t(id)].name == name; };
    bool known = std::any_of(model.graph.inputs.begin(), model.graph.inputs.end(), is) ||
                 std::any_of(model.graph.outputs.begin(), model.graph.outputs.end(), is);
    if (!known)
      graph::fail_mismatch("--io-layout: the model has no input or output named '" + port + "'");
    for (const graph::Value& value : model.values)
      if (value.name == port && value.dims.size() < 3 && layout == "nhwc")
        graph::fail_mismatch("--io-layout " + port + "=nhwc: it has " +
                             std::to_string(value.dims.size()) +
                             " dimensions, and a layout is of three or more; leave the option out");
    if (layout != "nchw" && layout != "nhwc")
      graph::fail_usage("--io-layout: '" + layout + "' is neither nchw nor nhwc");
  }
}

std::string perm_text(const Integers& perm) {
  std::string text;
  for (int64_t p : perm) text += (text.empty() ? "" : " ") + std::to_string(p);
  return text;
}

std::string described(const Editor& e, ValueId id, bool made) {
  Node* node = made ? e.producer(id) : e.readers(id).empty() ? nullptr : e.readers(id)[0];
  if (node) return text(node->op) + " '" + node->name + "'";
  return made ? (e.is_input(id) ? "input '" + e.value(id).name + "'" : "a constant")
              : "output '" + e.value(id).name + "'";
}

// Which transposes are left, between what.
void remark_transposes(Model& model, Graph& graph, Records& records) {
  Editor e(model, graph);
  Remarks remarks;
  for (Node* node : e.nodes()) {
    if (node->op != op::Transpose) continue;
    ValueId x = node->inputs[0], y = node->outputs[0];
    std::string dims;
    for (const Dim& d : e.dims(x)) dims += (dims.empty() ? "" : ",") + d.text();
    std::string why = e.is_output(y) || e.is_input(x)
                          ? "the port keeps the source's order (see --io-layout)"
                          : "neither side can work in the other's order";
    remarks.push_back("Transpose [" + dims + "] by " + perm_text(node->integers(attr::perm)) +
                      " between " + described(e, x, true) + " and " + described(e, y, false) +
                      ": " + why);
  }
  e.commit();
  records.add("choose layout", 0, std::move(remarks));
}

void run_on_graph(Model& model, Graph& graph, const PassOptions& options, Records& records,
                  std::vector<graph::Unsupported>& refused) {
  run_all(kRecognition, model, graph, options, records);
  {
    Editor editor(model, graph);
    records.add("canonicalize", canonicalize(editor, refused), {});
    editor.commit();
  }
  if (!refused.empty()) return;
  tell(options, "canonicalize", model);
  if (&graph == &model.graph) {
    {
      Editor editor(model, graph);
      records.add("place ports", place_ports(editor, options), {});
      editor.commit();
    }
    tell(options, "place ports", model);
  }
  run_all(kCorePasses, model, graph, options, records);
  remark_transposes(model, graph, records);
}

}  // namespace

std::vector<PassRecord> run_passes(Model& model, const PassOptions& options) {
  check_ports(model, options);
  begin_source_orders(model);
  Records records;
  std::vector<graph::Unsupported> refused;
  records.add("inline constant conditions", inline_constant_conditions(model, model.graph), {});
  tell(options, "inline constant conditions", model);
  for (Graph* graph : graphs_inside_out(model.graph))
    run_on_graph(model, *graph, options, records, refused);
  if (!refused.empty()) {
    graph::ConversionError error;
    error.exit_code = host::Exit::kUnsupported;
    error.message = "the model has " + std::to_string(refused.size()) + " node" +
                    (refused.size() > 1 ? "s" : "") + " that cannot be converted yet";
    error.unsupported = std::move(refused);
    throw error;
  }
  std::string why = why_not_core_form(model);
  if (!why.empty())
    graph::fail_internal("passes left the model outside core form: " + why +
                         "; please report this model");
  return records.take();
}

}  // namespace ingot::passes
