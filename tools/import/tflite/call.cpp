// SPDX-License-Identifier: Apache-2.0
#include "tools/import/tflite/call.h"

#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/no_effect.h"

namespace ingot::tflite {

Call::Call(Translator& t, Scope& s, const fb::Operator& o, const OperatorRow& r, Options options,
           Reads reads)
    : translator(t),
      net(t.net),
      b(t.net.b),
      scope(s),
      op(o),
      row(r),
      options_(std::move(options)),
      reads_(reads) {}

void Call::corrupt(const std::string& why) const {
  graph::fail_corrupt(std::string(row.name), why);
}

bool Call::has(size_t i) const { return i < input_count() && op.inputs()->Get(uint32_t(i)) >= 0; }
int64_t Call::tensor_index(size_t i) const {
  if (!has(i))
    corrupt("has no input " + std::to_string(i) + ", " + std::to_string(input_count()) +
            " are there");
  return op.inputs()->Get(uint32_t(i));
}
const fb::Tensor& Call::tensor(size_t i) const {
  return translator.file().tensor(*scope.graph, tensor_index(i));
}
const fb::Tensor& Call::output_tensor(size_t i) const {
  if (i >= output_count()) corrupt("has no output " + std::to_string(i));
  return translator.file().tensor(*scope.graph, op.outputs()->Get(uint32_t(i)));
}
DType Call::output_dtype(size_t i) const {
  const fb::Tensor& t = output_tensor(i);
  if (!is_int8_type(t) || reads_ == Reads::kIntegers) return ModelFile::dtype(t.type());
  return reads_ == Reads::kFloats ? DType::kF32 : DType::kU8;
}
double Call::zero_of(size_t i) const {
  const auto x = reads_ == Reads::kBytes ? quant_params(i) : std::nullopt;
  return x ? x->zero : 0;
}
Slot& Call::slot(size_t i) {
  read_.insert(i);
  return translator.slot(scope, tensor_index(i));
}
ValueId Call::input(size_t i) {
  const int64_t index = tensor_index(i);
  read_.insert(i);
  const ValueId id = reads_ == Reads::kFloats     ? translator.read_floats(scope, index)
                     : reads_ == Reads::kIntegers ? translator.read_integers(scope, index)
                                                  : translator.read(scope, index);
  if (id == kAbsent) {
    // Refused before and reported there.
    if (translator.slot(scope, index).refused) throw aten::Reported{};
    corrupt("reads '" + ModelFile::name(tensor(i), size_t(index)) + "', which nothing makes");
  }
  return id;
}

void Call::expect_rank(size_t i, int64_t wanted) {
  if (rank(i) != wanted)
    corrupt("its input " + std::to_string(i) + " has shape " + graph::text(b.dims(input(i))) +
            ", expected " + std::to_string(wanted) + " dimensions");
}
graph::Dims Call::dims(size_t i) {
  graph::Dims all = b.dims(input(i));
  if (!is_complex(i)) return all;
  if (all.empty() || all.back() != graph::Dim(2))  // made from numbers that have one part
    corrupt("its input " + std::to_string(i) + " is not complex");
  all.pop_back();
  return all;
}
ValueId Call::reshaped(size_t i, graph::Dims dims) {
  if (is_complex(i)) dims.push_back(2);
  return b.reshape(input(i), dims);
}
ValueId Call::part_of_complex(size_t i, int64_t which) {
  const graph::Dims all = dims(i);
  const graph::Dim from(which), to(which + 1);
  return b.reshape(b.slice(input(i), int64_t(all.size()), from, to), all);
}
void Call::expect_inputs(size_t least, size_t most) const {
  if (input_count() < least || input_count() > most)
    corrupt("has " + std::to_string(input_count()) + " inputs, expected " + std::to_string(least) +
            (most == least      ? ""
             : most == SIZE_MAX ? " or more"
                                : " to " + std::to_string(most)));
  for (size_t i = 0; i < least; i++) (void)tensor_index(i);
}

graph::Dims Call::known_dims(size_t i, const char* what) {
  const auto contents = b.contents(input(i));
  graph::Dims out;
  if (contents)
    for (const graph::Scalar& each : *contents) {
      const auto dim = each.dim();
      if (!dim) break;
      out.push_back(*dim);
    }
  if (!contents || out.size() != contents->size())
    refuse(what, "is computed by the program, expected a constant or dimensions",
           "bind its dimensions with --dim or --input-shape");
  return out;
}
std::vector<int64_t> Call::known_integers(size_t i, const char* what) {
  if (const graph::Constant* constant = b.model.constant(input(i)))
    return graph::read_integers(*constant);
  std::vector<int64_t> out;
  for (const graph::Dim& d : known_dims(i, what)) {
    if (!d.is_static())
      refuse(what, "is the symbolic dimension " + d.text(), "bind it with --dim or --input-shape");
    out.push_back(*d.value());
  }
  return out;
}
int64_t Call::known_integer(size_t i, const char* what) {
  const std::vector<int64_t> all = known_integers(i, what);
  if (all.size() != 1)
    corrupt(std::string(what) + " has " + std::to_string(all.size()) + " numbers, expected one");
  return all[0];
}
double Call::known_number(size_t i, const char* what) {
  const graph::Constant* constant = b.model.constant(input(i));
  if (constant && constant->elements() == 1) return graph::read_number(*constant, 0);
  const auto content = b.content(input(i));
  const auto number = content ? content->number() : std::nullopt;
  if (!number) refuse(what, "is computed by the program, expected a constant");
  return *number;
}
int64_t Call::axis(int64_t given, int64_t rank) const {
  const int64_t at = given < 0 ? given + rank : given;
  if (at < 0 || at >= rank)
    corrupt("its axis is " + std::to_string(given) + " of " + std::to_string(rank) + " dimensions");
  return at;
}

void Call::refuse_unread() const {
  for (const Options::Unread& each : options_.unread()) {
    const std::string kind = options_.kind() ? options_.kind()->name : "";
    if (no_effect(row.name, kind, each.name)) continue;
    refuse(each.name, "is " + each.value + ", which is not supported",
           "export the model with this option at its default");
  }
  for (size_t i = 0; i < input_count(); i++)
    if (has(i) && !read_.count(i))
      refuse("", "has " + std::to_string(input_count()) + " inputs, of which number " +
                     std::to_string(i) + " is not read");
}

void Call::give_all(const std::vector<ValueId>& values) {
  outputs.clear();
  for (const ValueId id : values) outputs.push_back(Slot{id, false, ""});
}

ValueId Call::activated(ValueId x) { return activated(x, integer("fused_activation_function")); }
ValueId Call::activated(ValueId x, int64_t function) const {
  switch (function) {
    case 0: return x;
    case 1: return b.emit(op::Relu, {x});
    case 2: return b.emit(op::Clip, {x}, {{attr::min, -1.0}, {attr::max, 1.0}});
    case 3: return b.emit(op::Clip, {x}, {{attr::min, 0.0}, {attr::max, 6.0}});
    case 4: return b.emit(op::Tanh, {x});
    default:
      refuse("fused_activation_function",
             "is number " + std::to_string(function) + ", supported are 0 to 4");
  }
}

ValueId Call::channels_second(ValueId x) {
  const int64_t rank = b.rank(x);
  std::vector<int64_t> perm = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; d++) perm.push_back(d);
  return b.transpose(x, perm);
}
ValueId Call::channels_last(ValueId x) {
  std::vector<int64_t> perm = {0};
  for (int64_t d = 2; d < b.rank(x); d++) perm.push_back(d);
  perm.push_back(1);
  return b.transpose(x, perm);
}

}  // namespace ingot::tflite
