// tools/graph/infer/infer_elementwise.cpp - operators on each element, broadcasting.
#include "tools/graph/functions.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

void unary(Site& site) { site.set(0, site.dtype(0), site.dims(0)); }
void unary_to_bool(Site& site) { site.set(0, DType::kBool, site.dims(0)); }
void logical_not(Site& site) {
  if (site.dtype(0) != DType::kBool)
    site.corrupt(std::string("its input is ") + dtype_text(site.dtype(0)) + ", expected bool");
  unary(site);
}

void expect_same_dtype(Site& site, size_t a, size_t b) {
  if (site.dtype(a) == site.dtype(b)) return;
  site.corrupt(std::string("its inputs are ") + dtype_text(site.dtype(a)) + " ('" +
               site.value(a).name + "') and " + dtype_text(site.dtype(b)) + " ('" +
               site.value(b).name + "'), expected one type");
}
void binary(Site& site) {
  expect_same_dtype(site, 0, 1);
  site.set(0, site.dtype(0), broadcast(site, site.dims(0), site.dims(1)));
}
void compare(Site& site) {
  expect_same_dtype(site, 0, 1);
  site.set(0, DType::kBool, broadcast(site, site.dims(0), site.dims(1)));
}
void logical(Site& site) {
  if (site.dtype(0) != DType::kBool)
    site.corrupt(std::string("its input is ") + dtype_text(site.dtype(0)) + ", expected bool");
  compare(site);
}
void power(Site& site) {
  if (site.dtype(0) != site.dtype(1)) {  // the exponent may be of any type; computed in the base's
    const DType to =
        is_floating(site.dtype(1)) && !is_floating(site.dtype(0)) ? site.dtype(1) : site.dtype(0);
    const ValueId base = site.make("Cast", {site.in(0)}, {{"to", int64_t(to)}});
    const ValueId exponent = site.make("Cast", {site.in(1)}, {{"to", int64_t(to)}});
    if (to == site.dtype(0)) return site.finish("Pow", {base, exponent});
    const ValueId result = site.make("Pow", {base, exponent});
    return site.finish("Cast", {result}, {{"to", int64_t(site.dtype(0))}});
  }
  binary(site);
}
void prelu(Site& site) {
  expect_same_dtype(site, 0, 1);
  const Dims out = broadcast(site, site.dims(0), site.dims(1));
  if (out.size() != site.dims(0).size())
    site.corrupt("its slope has more dimensions than its input");
  site.set(0, site.dtype(0), site.dims(0));
}

/// Limits that are constants become attributes; others Max and Min.
void clip(Site& site) {
  const char* const kKeys[] = {"min", "max"};
  bool computed = false;
  for (size_t i = 0; i < 2; i++) {
    if (!site.has(i + 1)) continue;
    const Constant* limit = site.model().constant(site.in(i + 1));
    if (limit && limit->elements() == 1)
      site.node.attributes[kKeys[i]] = read_number(*limit, 0);
    else
      computed = true;
  }
  if (!computed) {
    site.drop_inputs_from(1);
    if (!site.node.has("min") && !site.node.has("max")) return site.same(0, site.in(0));
    return unary(site);
  }
  ValueId x = site.in(0);
  const bool both = site.has(1) && site.has(2);
  if (site.has(1) && both) x = site.make("Max", {x, site.in(1)});
  site.finish(site.has(2) ? "Min" : "Max", {x, site.has(2) ? site.in(2) : site.in(1)});
}

void where(Site& site) {
  if (site.dtype(0) != DType::kBool)
    site.corrupt(std::string("its condition is ") + dtype_text(site.dtype(0)) + ", expected bool");
  expect_same_dtype(site, 1, 2);
  site.set(0, site.dtype(1),
           broadcast(site, site.dims(0), broadcast(site, site.dims(1), site.dims(2))));
}
void cast(Site& site) {
  const DType to = DType(site.node.integer("to", 0));
  if (to == site.dtype(0)) return site.same(0, site.in(0));
  site.set(0, to, site.dims(0));
}
void cast_like(Site& site) { site.finish("Cast", {site.in(0)}, {{"to", int64_t(site.dtype(1))}}); }
void identity(Site& site) { site.same(0, site.in(0)); }

void mean(Site& site) {
  ValueId sum = site.in(0);
  for (size_t i = 1; i < site.node.inputs.size(); i++) sum = site.make("Add", {sum, site.in(i)});
  if (site.node.inputs.size() == 1) return site.same(0, sum);
  site.finish("Div", {sum, site.scalar(site.dtype(0), double(site.node.inputs.size()))});
}

}  // namespace

void add_elementwise_rules(InferTable& table) {
  for (const Function& row : kFunctions) {
    if (row.node.empty()) continue;
    switch (row.result) {
      case FunctionResult::kSame:
        table[std::string(row.node)] = row.operands == 1 ? unary : binary;
        break;
      case FunctionResult::kCompare:
        table[std::string(row.node)] = row.operands == 1 ? unary_to_bool : compare;
        break;
      case FunctionResult::kLogical:
        table[std::string(row.node)] = row.operands == 1 ? logical_not : logical;
        break;
    }
  }
  for (const char* op : {"Celu", "Elu", "Gelu", "HardSigmoid", "LeakyRelu", "Selu", "Shrink",
                         "Swish", "ThresholdedRelu"})
    table[op] = unary;
  for (const char* op : {"Mod", "BitShift"}) table[op] = binary;
  table["IsInf"] = unary_to_bool;
  table["Pow"] = power;
  table["PRelu"] = prelu;
  table["Clip"] = clip;
  table["Where"] = where;
  table["Cast"] = cast;
  table["CastLike"] = cast_like;
  table["Identity"] = identity;
  table["Mean"] = mean;
}

}  // namespace ingot::graph
