// SPDX-License-Identifier: Apache-2.0
// runtime/text/template_run.cpp - the interpreter's loop: instructions, slots, calls. A call's
// slots and stack have the sizes that the file states and open_template() checked.
#include "runtime/base/check_memory.h"
#include "runtime/text/template_machine.h"

namespace ingot::text {
namespace {

using Op = TemplateOperation;
using Kind = ValueKind;

/// A function that is running; it lies below its slots, which lie below its stack.
struct Frame {
  Frame* caller;
  const TemplateFunctionRow* function;
  Value* slots;
  Value* stack;  // the next free place
  uint32_t next;
  uint64_t given[4];  // bits of the arguments that the caller gave
};

class Runner {
 public:
  Runner(Machine* m, Span<const ValuePair> inputs) : m_(*m), inputs_(inputs) {}

  Status run() {
    INGOT_TRY(enter(0));
    outer_ = frame_->slots;
    for (uint16_t i = 0; i < m_.t.inputs; i++) outer_[i] = input(m_.t.text(i));
    while (frame_) INGOT_TRY(step());
    return {};
  }

 private:
  Value input(Span<const uint8_t> name) const {
    for (const ValuePair& pair : inputs_)
      if (pair.key.is(Kind::kText) && equal(pair.key.span(), name)) return pair.value;
    if (equal(name, span_of("bos_token")) && m_.t.bos.data) return Value::text(m_.t.bos);
    if (equal(name, span_of("eos_token")) && m_.t.eos.data) return Value::text(m_.t.eos);
    return {};
  }

  Status enter(uint16_t function) {
    const TemplateFunctionRow& f = m_.t.functions[function];
    if (calls_ == kMaxCalls)
      return fail(m_.detail, Code::kLimitExceeded, "calls", kMaxCalls, calls_);
    const uint64_t values = uint64_t(f.slots) + f.stack;
    const uint64_t bytes = sizeof(Frame) + values * sizeof(Value);
    INGOT_TRY(m_.charge(bytes));
    if (m_.high - m_.low < bytes)
      return fail(m_.detail, Code::kArenaTooSmall, "memory",
                  m_.memory.size - (m_.high - m_.low) + bytes, m_.memory.size);
    m_.high -= bytes;
    auto* fresh = reinterpret_cast<Frame*>(m_.memory.data + m_.high);
    auto* slots = reinterpret_cast<Value*>(fresh + 1);
    *fresh = {frame_, &f, slots, slots + f.slots, f.entry, {}};
    for (uint64_t i = 0; i < values; i++) slots[i] = Value{};
    frame_ = fresh;
    calls_++;
    return {};
  }

  /// The value of the function is on its stack; its caller gets it.
  void leave() {
    const Value result = frame_->stack[-1];
    const TemplateFunctionRow& f = *frame_->function;
    m_.high += sizeof(Frame) + (uint64_t(f.slots) + f.stack) * sizeof(Value);
    frame_ = frame_->caller;
    calls_--;
    if (frame_) push(result);
  }

  void push(const Value& v) { *frame_->stack++ = v; }
  Value pop() { return *--frame_->stack; }
  Value& top() { return frame_->stack[-1]; }

  Status loop_at(const Value& v, Loop** loop) const {
    if (!v.is(Kind::kLoop)) return m_.error("no loop where one is");
    *loop = v.loop;
    return {};
  }

  Status iterate() {
    Span<const Value> items;
    INGOT_TRY(m_.items_of(top(), &items));
    Loop* loop = nullptr;
    INGOT_TRY(m_.take_array(1, &loop));
    loop->items = items.data, loop->count = uint32_t(items.size);
    top() = Value{};
    top().kind = Kind::kLoop;
    top().loop = loop;
    return {};
  }

  Status next(const TemplateInstruction& i) {
    Loop* loop = nullptr;
    INGOT_TRY(loop_at(top(), &loop));
    if (loop->at < loop->count) {
      push(loop->items[loop->at++]);
      return {};
    }
    if (i.a)
      top() = Value::list({loop->kept, loop->kept_count});
    else
      frame_->stack--;
    frame_->next = i.b;
    return {};
  }

  Status keep() {
    const bool keeps = m_.truth(pop());
    Loop* loop = nullptr;
    INGOT_TRY(loop_at(top(), &loop));
    if (!keeps) return {};
    if (!loop->kept) INGOT_TRY(m_.take_array(loop->count, &loop->kept));
    if (loop->at == 0 || loop->kept_count == loop->count) return m_.error("no item of this loop");
    loop->kept[loop->kept_count++] = loop->items[loop->at - 1];
    return {};
  }

  /// Over what is called: `a` values, then `b` pairs of a name and a value.
  Status call(const TemplateInstruction& i) {
    const Value* arguments = frame_->stack - i.a - 2 * i.b;
    const Value callee = arguments[-1];
    if (!callee.is(Kind::kMacro))
      return callee.is(Kind::kUndefined) ? m_.undefined({})
                                         : m_.error("what is called is no macro");
    const uint16_t index = uint16_t(callee.integer);
    const TemplateFunctionRow& f = m_.t.functions[index];
    if (i.a > f.arguments) return m_.error("a macro got more arguments than it takes");
    frame_->stack -= 1 + i.a + 2 * i.b;
    INGOT_TRY(enter(index));
    const auto give = [&](uint16_t slot, const Value& v) {
      frame_->slots[slot] = v;
      frame_->given[slot / 64] |= uint64_t{1} << slot % 64;
    };
    for (uint16_t k = 0; k < i.a; k++) give(k, arguments[k]);
    for (uint16_t k = 0; k < i.b; k++) {
      const Value &name = arguments[i.a + 2 * k], &value = arguments[i.a + 2 * k + 1];
      uint16_t slot = 0;
      while (slot < f.arguments &&
             !(name.is(Kind::kText) && equal(name.span(), m_.t.text(uint32_t(f.names) + slot))))
        slot++;
      if (slot == f.arguments || frame_->given[slot / 64] >> slot % 64 & 1)
        return m_.error("a macro has no argument of that name",
                        name.is(Kind::kText) ? name.span() : Span<const uint8_t>{});
      give(slot, value);
    }
    return {};
  }

  Status unpack(uint16_t count) {
    Span<const Value> items;
    if (top().is(Kind::kUndefined)) return m_.undefined({});
    INGOT_TRY(m_.items_of(top(), &items));
    if (items.size != count) return m_.error("a value has another number of parts than names");
    frame_->stack--;
    for (uint16_t k = count; k > 0; k--) push(items[k - 1]);
    return {};
  }

  Status set_attribute(uint16_t text) {
    const Span<const uint8_t> name = m_.t.text(text);
    const Value space = pop(), value = pop();
    if (!space.is(Kind::kNamespace)) return m_.error("attributes are set of a namespace", name);
    NamedValue** at = &space.space->first;
    for (; *at; at = &(*at)->next) {
      INGOT_TRY(m_.charge(name.size));
      if (equal((*at)->name, name)) return (*at)->value = value, Status();
    }
    INGOT_TRY(m_.take_array(1, at));
    (*at)->name = name, (*at)->value = value;
    return {};
  }

  Status list(const TemplateInstruction& i) {
    Value* items = nullptr;
    INGOT_TRY(m_.take_array(i.b, &items));
    frame_->stack -= i.b;
    for (uint16_t k = 0; k < i.b; k++) items[k] = frame_->stack[k];
    Value v = Value::list({items, i.b});
    v.list_kind = i.a ? ListKind::kTuple : ListKind::kPlain;
    push(v);
    return {};
  }

  Status concatenate(uint16_t count) {
    const uint64_t begin = m_.out_count;
    frame_->stack -= count;
    for (uint16_t k = 0; k < count; k++) INGOT_TRY(m_.put_value(frame_->stack[k]));
    Value v;
    INGOT_TRY(m_.take_text(begin, &v));
    push(v);
    return {};
  }

  Status end_capture() {
    const Value mark = pop();
    if (!mark.is(Kind::kMark) || uint64_t(mark.integer) > m_.out_count)
      return m_.error("no capture where one ends");
    Value v;
    INGOT_TRY(m_.take_text(uint64_t(mark.integer), &v));
    push(v);
    return {};
  }

  /// An instruction that makes one value of `count` on the stack.
  template <class Make>
  Status reduce(uint32_t count, const Make& make) {
    Value result;
    const Value* from = frame_->stack - count;
    INGOT_TRY(make(from, &result));
    frame_->stack -= count;
    push(result);
    return {};
  }

  Status step();

  Machine& m_;
  Span<const ValuePair> inputs_;
  Frame* frame_ = nullptr;
  Value* outer_ = nullptr;
  uint32_t calls_ = 0;
};

Status Runner::step() {
  const uint32_t at = frame_->next++;
  const TemplateInstruction i = unpack_instruction(m_.t.code[at]);
  m_.line = m_.t.lines[at];
  INGOT_TRY(m_.charge(0));
  switch (i.operation) {
    case Op::kLabel: return {};
    case Op::kReturn: return leave(), Status();
    case Op::kJump: frame_->next = i.b; return {};
    case Op::kJumpIfFalse:
      if (!m_.truth(pop())) frame_->next = i.b;
      return {};
    case Op::kJumpIfFalseOrPop:
    case Op::kJumpIfTrueOrPop:
      if (m_.truth(top()) == (i.operation == Op::kJumpIfTrueOrPop))
        frame_->next = i.b;
      else
        frame_->stack--;
      return {};
    case Op::kJumpIfGiven:
      if (frame_->given[i.a / 64] >> i.a % 64 & 1) frame_->next = i.b;
      return {};
    case Op::kPrint: return m_.put_value(pop());
    case Op::kPrintText: return m_.put(m_.t.text(i.b));
    case Op::kText: return push(Value::text(m_.t.text(i.b))), Status();
    case Op::kInteger: return push(Value::whole(int16_t(i.b))), Status();
    case Op::kSimple:
      switch (TemplateSimple(i.a)) {
        case TemplateSimple::kNone: push(Value::none()); break;
        case TemplateSimple::kFalse: push(Value::boolean(false)); break;
        case TemplateSimple::kTrue: push(Value::boolean(true)); break;
        default: push({});
      }
      return {};
    case Op::kFunction: return push(Value::of(Kind::kFunction, 0)), Status();
    case Op::kMacro: return push(Value::of(Kind::kMacro, i.b)), Status();
    case Op::kLoad: return push(frame_->slots[i.b]), Status();
    case Op::kStore: return frame_->slots[i.b] = pop(), Status();
    case Op::kLoadOuter: return push(outer_[i.b]), Status();
    case Op::kPop: return frame_->stack--, Status();
    case Op::kCopy: return push(Value(top())), Status();
    case Op::kUnpack: return unpack(i.b);
    case Op::kUnary:
      return reduce(
          1, [&](const Value* v, Value* out) { return m_.unary(TemplateUnary(i.a), *v, out); });
    case Op::kBinary:
      return reduce(2, [&](const Value* v, Value* out) {
        return m_.binary(TemplateBinary(i.a), v[0], v[1], out);
      });
    case Op::kConcatenate: return concatenate(i.b);
    case Op::kAttribute:
      return reduce(
          1, [&](const Value* v, Value* out) { return m_.attribute(*v, m_.t.text(i.b), out); });
    case Op::kItem:
      return reduce(2, [&](const Value* v, Value* out) { return m_.item(v[0], v[1], out); });
    case Op::kSlice: return reduce(4, [&](const Value* v, Value* out) { return m_.slice(v, out); });
    case Op::kList: return list(i);
    case Op::kDict:
      return reduce(2u * i.b, [&](const Value* v, Value* out) { return m_.dict_of(v, i.b, out); });
    case Op::kCall: return call(i);
    case Op::kMethod:
      return reduce(1u + i.a, [&](const Value* v, Value* out) {
        return m_.method(TemplateMethod(i.b), v[0], {v + 1, i.a}, out);
      });
    case Op::kBuiltIn:
      return reduce(i.a, [&](const Value* v, Value* out) {
        return m_.built_in(TemplateBuiltIn(i.b), {v, i.a}, out);
      });
    case Op::kFilter:
      return reduce(1u + i.a, [&](const Value* v, Value* out) {
        return m_.filter(TemplateFilter(i.b), v[0], {v + 1, i.a}, out);
      });
    case Op::kTest:
      return reduce(1u + i.a, [&](const Value* v, Value* out) {
        bool holds = false;
        INGOT_TRY(m_.test(TemplateTest(i.b), v[0], i.a ? v + 1 : nullptr, &holds));
        *out = Value::boolean(holds);
        return Status();
      });
    case Op::kMap:
      return reduce(1, [&](const Value* v, Value* out) {
        return m_.map_filter(TemplateFilter(i.b), *v, out);
      });
    case Op::kMapAttribute:
      return reduce(3, [&](const Value* v, Value* out) { return m_.map_attribute(v, out); });
    case Op::kSelect:
      return reduce(3, [&](const Value* v, Value* out) { return m_.select(i, v, out); });
    case Op::kIterate: return iterate();
    case Op::kNext: return next(i);
    case Op::kKeep: return keep();
    case Op::kSetAttribute: return set_attribute(i.b);
    case Op::kCapture: return push(Value::of(Kind::kMark, int64_t(m_.out_count))), Status();
    case Op::kEndCapture: return end_capture();
    case Op::kEnd: break;
  }
  return m_.error("no instruction");
}

}  // namespace

Value Value::text(const char* text) { return Value::text(span_of(text)); }

RenderNeed estimate_render(const TemplateView& t, Span<const ValuePair> inputs) {
  // Bytes of the inputs, to a depth that most have; the template copies some of them.
  struct Count {
    static uint64_t bytes(const Value& v, int depth) {
      uint64_t sum = sizeof(Value);
      if (v.is(Kind::kText)) sum += v.count;
      if (depth == 0) return sum;
      for (uint32_t i = 0; v.is(Kind::kList) && i < v.count; i++)
        sum += bytes(v.items[i], depth - 1);
      for (uint32_t i = 0; v.is(Kind::kDict) && i < v.count; i++)
        sum += bytes(v.pairs[i].key, 0) + bytes(v.pairs[i].value, depth - 1);
      return sum;
    }
  };
  uint64_t sum = 0;
  for (const ValuePair& pair : inputs) sum += Count::bytes(pair.value, 8);
  constexpr uint64_t kCopies = 16, kLeast = 1 << 16;
  return {kLeast + kCopies * (sum + t.text_bytes.size), kLeast + 4 * (sum + t.text_bytes.size)};
}

Status render(const TemplateView& t, Span<const ValuePair> inputs, const RenderOptions& options,
              Span<uint8_t> memory, Span<uint8_t> out, size_t* count, ErrorDetail* detail) {
  *count = 0;
  if (!t.refused.empty() || t.functions.empty())
    return fail(detail, Code::kUnsupportedFeature, "text.chat.refused");
  INGOT_TRY(check_memory(memory, 0, "memory", detail));
  Machine m{t, options, memory, out, detail};
  m.high = memory.size & ~uint64_t{15};
  m.steps = options.steps;
  const Status status = Runner(&m, inputs).run();
  if (detail && !status.ok()) detail->operand = int32_t(m.line);
  if (status.ok() || status.code() == Code::kInvalidArgument) *count = size_t(m.out_count);
  return status;
}

}  // namespace ingot::text
