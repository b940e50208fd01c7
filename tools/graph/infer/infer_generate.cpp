// tools/graph/infer/infer_generate.cpp - tensors made from shapes: Shape, Size, ConstantOfShape,
// Range, EyeLike, OneHot, Trilu.
#include <algorithm>
#include <cmath>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

void shape(Site& site) {
  const int64_t rank = site.rank(0);
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(site.node.integer("start", 0)),
                end = clamp(site.node.integer("end", rank));
  Contents contents;
  for (int64_t i = start; i < end; i++) contents.push_back(Scalar::of(site.dims(0)[size_t(i)]));
  site.node.attributes["start"] = start;
  site.node.attributes["end"] = start + int64_t(contents.size());
  site.set(0, DType::kI64, {int64_t(contents.size())});
  if (site.node.outputs[0] != kAbsent)
    site.run().set_contents(site.node.outputs[0], std::move(contents));
}
void size(Site& site) {
  const ValueId dims = site.make("Shape", {site.in(0)});
  site.finish("ReduceProd", {dims}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t(0)}});
}

void constant_of_shape(Site& site) {
  const Dims dims = site.need_dims("shape", 0);
  const auto found = site.node.attributes.find("value");
  const Constant* value =
      found == site.node.attributes.end() ? nullptr : std::get_if<Constant>(&found->second);
  if (!value) site.corrupt("lacks its value");
  Constant one = *value;
  one.dims.clear();
  site.finish_shaped("Expand", site.constant(std::move(one)), dims);
}

/// start, start + delta, ...: `count` elements, as an exclusive running sum where the count is
/// symbolic.
ValueId counted(Site& site, DType dtype, const Dim& count, double start, double delta) {
  if (const auto n = count.value(); n && *n <= (1 << 20)) {
    if (!is_floating(dtype)) {
      std::vector<int64_t> values(static_cast<size_t>(*n));
      for (size_t i = 0; i < values.size(); i++)
        values[i] = int64_t(start) + int64_t(i) * int64_t(delta);
      return site.constant(make_integer(dtype, {*n}, values));
    }
    std::vector<double> values(static_cast<size_t>(*n));
    for (size_t i = 0; i < values.size(); i++) values[i] = start + double(i) * delta;
    return site.constant(make_floating(dtype, {*n}, values));
  }
  const ValueId ones = site.expand(site.scalar(dtype, 1), {count});
  ValueId steps = site.make(
      "CumSum", {ones}, {{"axis", int64_t(0)}, {"exclusive", int64_t(1)}, {"reverse", int64_t(0)}});
  if (delta != 1) steps = site.make("Mul", {steps, site.scalar(dtype, delta)});
  return start == 0 ? steps : site.make("Add", {steps, site.scalar(dtype, start)});
}
/// How many whole numbers lie between two that only the run knows, where the one was made from the
/// other: start and start + n, or limit - n and limit.
std::optional<Dim> distance(Site& site) {
  const auto number = [&](ValueId id) -> std::optional<Dim> {
    const auto contents = site.run().contents(id);
    return contents && contents->size() == 1 ? (*contents)[0].dim() : std::nullopt;
  };
  const auto plain = [&](ValueId id) {  // behind reshapes: the value that is the same number
    for (const Node* node = site.run().maker(id); node && node->op == "Cast";
         node = site.run().maker(id)) {
      const DType from = site.run().value(node->inputs[0]).dtype;
      if (from != DType::kI64 && from != DType::kI32) break;
      id = node->inputs[0];
    }
    return id;
  };
  const auto is_same = [&](ValueId a, ValueId b) {
    const Node *x = site.run().maker(plain(a)), *y = site.run().maker(plain(b));
    return plain(a) == plain(b) || (x && x == y && x->outputs.size() == 1);
  };
  const Node* sum = site.run().maker(plain(site.in(1)));
  if (sum && sum->op == "Add" && sum->inputs.size() == 2)
    for (const size_t i : {size_t(0), size_t(1)})
      if (is_same(sum->inputs[i], site.in(0))) return number(sum->inputs[1 - i]);
  const Node* difference = site.run().maker(plain(site.in(0)));
  if (difference && difference->op == "Sub" && difference->inputs.size() == 2 &&
      is_same(difference->inputs[0], site.in(1)))
    return number(difference->inputs[1]);
  return std::nullopt;
}

/// start + 0, start + delta, ...: a start that only the run knows, with a known number of elements.
bool range_from_data(Site& site) {
  const auto delta = site.run().contents(site.in(2));
  const bool is_whole = site.dtype(0) == DType::kI64 || site.dtype(0) == DType::kI32;
  if (!is_whole || !delta || delta->size() != 1 || !(*delta)[0].number() ||
      *(*delta)[0].number() < 1)
    return false;
  const double step = *(*delta)[0].number();
  const auto length = distance(site);
  if (!length || step > 1 << 30) return false;
  const Dim count = max(Dim(0), ceil_div(*length, Dim(int64_t(step))));
  ValueId start = site.in(0);
  if (!site.dims(0).empty()) start = site.reshape(start, {});
  site.same(0, site.make("Add", {counted(site, site.dtype(0), count, 0, step), start}));
  return true;
}

void range(Site& site) {
  const auto is_known = [&](size_t i) {
    const auto contents = site.run().contents(site.in(i));
    return contents && contents->size() == 1 && (*contents)[0].known();
  };
  if (!is_known(0) && range_from_data(site)) return;
  Scalar given[3];
  for (size_t i = 0; i < 3; i++) {
    const auto contents = site.run().contents(site.in(i));
    if (!contents || contents->size() != 1 || !(*contents)[0].known()) {
      const bool is_whole = site.dtype(i) == DType::kI64 || site.dtype(i) == DType::kI32;
      const auto limit = i == 1 && is_whole ? site.stated(i, 0) : std::nullopt;
      if (limit) {
        given[i] = Scalar::of(*limit);
        continue;
      }
      site.refuse(
          "",
          "'" + site.value(i).name +
              "' is known only at run time: the length of the range depends on data",
          i == 1 ? "say the most that it can be: --dim '" + site.value(i).name + "=1..HIGH'" : "");
    }
    given[i] = (*contents)[0];
  }
  const auto start = given[0].number(), limit = given[1].number(), delta = given[2].number();
  if (!start || !delta) site.refuse("", "a symbolic start or delta is not supported");
  if (*delta == 0) site.corrupt("delta is 0");
  Dim count;
  if (limit) {
    const double n = std::ceil((*limit - *start) / *delta);
    if (n > double(int64_t(1) << 40)) site.corrupt("makes " + std::to_string(n) + " elements");
    count = Dim(n > 0 ? int64_t(n) : 0);
  } else {
    const auto stop = given[1].dim(), from = given[0].dim(), step = given[2].dim();
    if (!stop || !from || !step || *step->value() < 1)
      site.refuse("", "a range over fractions of a symbolic dimension is not supported");
    count = max(Dim(0), ceil_div(*stop - *from, *step));
  }
  site.same(0, counted(site, site.dtype(0), count, *start, *delta));
}

/// [rows, columns] of column - row.
ValueId diagonal_index(Site& site, const Dim& rows, const Dim& columns) {
  const ValueId down = site.reshape(counted(site, DType::kI64, rows, 0, 1), {rows, 1});
  const ValueId across = site.reshape(counted(site, DType::kI64, columns, 0, 1), {1, columns});
  return site.make("Sub", {across, down});
}
void trilu(Site& site) {
  if (site.rank(0) < 2)
    site.corrupt("its input has shape " + text(site.dims(0)) + ", expected at least 2 dimensions");
  int64_t k = 0;
  if (const auto given = site.integers("k", 1)) k = given->size() == 1 ? (*given)[0] : 0;
  const Dims in = site.dims(0);
  const DType dtype = site.dtype(0);
  const ValueId index = diagonal_index(site, in[in.size() - 2], in.back());
  const bool upper = site.node.integer("upper", 1) != 0;
  const ValueId keep = site.make(upper ? "GreaterOrEqual" : "LessOrEqual",
                                 {index, site.scalar(DType::kI64, double(k))});
  if (dtype == DType::kBool) return site.finish("And", {site.in(0), keep});
  site.finish("Where", {keep, site.in(0), site.scalar(dtype, 0)});
}
void eye_like(Site& site) {
  if (site.rank(0) != 2)
    site.corrupt("its input has shape " + text(site.dims(0)) + ", expected 2 dimensions");
  const DType dtype = site.node.has("dtype") ? DType(site.node.integer("dtype", 0)) : site.dtype(0);
  const Dims in = site.dims(0);
  const ValueId index = diagonal_index(site, in[0], in[1]);
  const ValueId hit =
      site.make("Equal", {index, site.scalar(DType::kI64, double(site.node.integer("k", 0)))});
  site.finish("Cast", {hit}, {{"to", int64_t(dtype)}});
}

void one_hot(Site& site) {
  const auto depth = site.integers("depth", 1);
  if (!depth || depth->size() != 1 || (*depth)[0] < 1)
    site.refuse("depth", "must be one constant number, at least 1");
  const int64_t rank = site.rank(0), axis = site.axis(site.node.integer("axis", -1), rank + 1);
  if (product(site.dims(2)) != Dim(2))
    site.corrupt("its values have shape " + text(site.dims(2)) + ", expected [2]");
  const Dims in = site.dims(0);
  const ValueId index = site.make("Cast", {site.in(0)}, {{"to", int64_t(DType::kI64)}});
  const ValueId negative = site.make("Less", {index, site.scalar(DType::kI64, 0)});
  const ValueId wrapped = site.make(
      "Where",
      {negative, site.make("Add", {index, site.scalar(DType::kI64, double((*depth)[0]))}), index});
  Dims wide = in, column(size_t(rank) + 1, Dim(1));
  wide.insert(wide.begin() + axis, Dim(1));
  column[size_t(axis)] = Dim((*depth)[0]);
  const ValueId classes = site.reshape(counted(site, DType::kI64, Dim((*depth)[0]), 0, 1), column);
  const ValueId hit = site.make("Equal", {site.reshape(wrapped, wide), classes});
  const auto pick = [&](int64_t i) {
    const ValueId one = site.make("Gather", {site.in(2), site.scalar(DType::kI64, double(i))},
                                  {{"axis", int64_t(0)}});
    return one;
  };
  const ValueId off = pick(0), on = pick(1);
  site.finish("Where", {hit, on, off});
}

}  // namespace

void add_generate_rules(InferTable& table) {
  table["Shape"] = shape;
  table["Size"] = size;
  table["ConstantOfShape"] = constant_of_shape;
  table["Range"] = range;
  table["Trilu"] = trilu;
  table["EyeLike"] = eye_like;
  table["OneHot"] = one_hot;
}

}  // namespace ingot::graph
