// SPDX-License-Identifier: Apache-2.0
// runtime/format/template_codes.h - the instructions of a chat template and what they name
// (schema/text.fbs, ChatTemplate). Numbers are those of files: rows are added at the end only.
#pragma once
#include <cstdint>

namespace ingot {

constexpr uint8_t kTemplateVersion = 1;

// Name, values taken from the stack, values put on it. A and B are the operands.
// clang-format off
#define INGOT_TEMPLATE_OPERATIONS(X) \
  X(Label, 0, 0)           /* where jumps lead; b: values on the stack there */ \
  X(Return, 1, 0)          /* the value of a function */ \
  X(Jump, 0, 0)            /* to b */ \
  X(JumpIfFalse, 1, 0)     /* to b */ \
  X(JumpIfFalseOrPop, 1, 0) /* to b with the value, or without it on */ \
  X(JumpIfTrueOrPop, 1, 0) \
  X(JumpIfGiven, 0, 0)     /* to b where argument a was given */ \
  X(Print, 1, 0) \
  X(PrintText, 0, 0)       /* b: text */ \
  X(Text, 0, 1)            /* b: text */ \
  X(Integer, 0, 1)         /* b, signed */ \
  X(Simple, 0, 1)          /* a: TemplateSimple */ \
  X(Function, 0, 1)        /* a built-in function as a value */ \
  X(Macro, 0, 1)           /* b: function */ \
  X(Load, 0, 1)            /* b: slot */ \
  X(Store, 1, 0) \
  X(LoadOuter, 0, 1)       /* b: slot of function 0 */ \
  X(Pop, 1, 0) \
  X(Copy, 1, 2) \
  X(Unpack, 1, B)          /* the first of b values on top */ \
  X(Unary, 1, 1)           /* a: TemplateUnary */ \
  X(Binary, 2, 1)          /* a: TemplateBinary */ \
  X(Concatenate, B, 1) \
  X(Attribute, 1, 1)       /* b: text */ \
  X(Item, 2, 1) \
  X(Slice, 4, 1)           /* of a value: from, to, step */ \
  X(List, B, 1)            /* a: 1 of a tuple */ \
  X(Dict, 2 * B, 1)        /* b: pairs */ \
  X(Call, 1 + A + 2 * B, 1) /* a values, b pairs of name and value, over what is called */ \
  X(Method, 1 + A, 1)      /* a arguments; b: TemplateMethod */ \
  X(BuiltIn, A, 1)         /* a arguments; b: TemplateBuiltIn */ \
  X(Filter, 1 + A, 1)      /* a arguments; b: TemplateFilter */ \
  X(Test, 1 + A, 1)        /* a arguments; b: TemplateTest */ \
  X(Map, 1, 1)             /* of each b: TemplateFilter */ \
  X(MapAttribute, 3, 1)    /* of a list: name, default */ \
  X(Select, 3, 1)          /* of a list: attribute, argument; a: kSelect.., b: TemplateTest */ \
  X(Iterate, 1, 1)         /* a loop over a value */ \
  X(Next, 0, 1)            /* the next item, over the loop. Past the last: to b without the loop, \
                              or with the items that were kept in its place (a = 1) */ \
  X(Keep, 1, 0)            /* the item of the loop below if the value is true */ \
  X(SetAttribute, 2, 0)    /* of a namespace: value; b: text */ \
  X(Capture, 0, 1) \
  X(EndCapture, 1, 1)      /* what was printed since, as a value */

#define INGOT_TEMPLATE_FILTERS(X) \
  X(Trim, "trim") X(Length, "length") X(ToJson, "tojson") X(Join, "join") X(Upper, "upper") \
  X(Lower, "lower") X(Capitalize, "capitalize") X(Title, "title") X(Default, "default") \
  X(First, "first") X(Last, "last") X(Items, "items") X(Replace, "replace") X(String, "string") \
  X(List, "list") X(Indent, "indent") X(Safe, "safe") X(DictSort, "dictsort") X(Int, "int") \
  X(Float, "float") X(Abs, "abs") X(Unique, "unique") X(Sort, "sort") X(Min, "min") X(Max, "max") \
  X(Sum, "sum") X(Reverse, "reverse")
#define INGOT_TEMPLATE_TESTS(X) \
  X(Defined, "defined") X(Undefined, "undefined") X(None, "none") X(String, "string") \
  X(Mapping, "mapping") X(Iterable, "iterable") X(Sequence, "sequence") X(Boolean, "boolean") \
  X(True, "true") X(False, "false") X(Integer, "integer") X(Float, "float") X(Number, "number") \
  X(Callable, "callable") X(Odd, "odd") X(Even, "even") X(DivisibleBy, "divisibleby") \
  X(Equal, "eq") X(NotEqual, "ne") X(Less, "lt") X(LessEqual, "le") X(Greater, "gt") \
  X(GreaterEqual, "ge") X(In, "in")
#define INGOT_TEMPLATE_METHODS(X) \
  X(Strip, "strip") X(LeftStrip, "lstrip") X(RightStrip, "rstrip") X(Split, "split") \
  X(RightSplit, "rsplit") X(StartsWith, "startswith") X(EndsWith, "endswith") \
  X(Replace, "replace") X(Upper, "upper") X(Lower, "lower") X(Capitalize, "capitalize") \
  X(Title, "title") X(Format, "format") X(Find, "find") X(Count, "count") X(Join, "join") \
  X(Items, "items") X(Keys, "keys") X(Values, "values") X(Get, "get") X(Cycle, "cycle") \
  X(Append, "append") X(Pop, "pop") X(RemovePrefix, "removeprefix") X(RemoveSuffix, "removesuffix") \
  X(Index, "index")
#define INGOT_TEMPLATE_FUNCTIONS(X) \
  X(Namespace, "namespace") X(Range, "range") X(Raise, "raise_exception") \
  X(Now, "strftime_now") X(Dict, "dict")
// clang-format on

#define INGOT_TEMPLATE_ENUM(name, ...) k##name,
enum class TemplateOperation : uint8_t { INGOT_TEMPLATE_OPERATIONS(INGOT_TEMPLATE_ENUM) kEnd };
enum class TemplateFilter : uint8_t { INGOT_TEMPLATE_FILTERS(INGOT_TEMPLATE_ENUM) kEnd };
enum class TemplateTest : uint8_t { INGOT_TEMPLATE_TESTS(INGOT_TEMPLATE_ENUM) kEnd };
enum class TemplateMethod : uint8_t { INGOT_TEMPLATE_METHODS(INGOT_TEMPLATE_ENUM) kEnd };
enum class TemplateBuiltIn : uint8_t { INGOT_TEMPLATE_FUNCTIONS(INGOT_TEMPLATE_ENUM) kEnd };
#undef INGOT_TEMPLATE_ENUM

enum class TemplateSimple : uint8_t { kUndefined, kNone, kFalse, kTrue, kEnd };
enum class TemplateUnary : uint8_t { kNot, kMinus, kPlus, kEnd };
enum class TemplateBinary : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kEnd
};
constexpr uint8_t kSelectAttribute = 1, kSelectArgument = 2, kSelectRejects = 4, kSelectTruth = 8;
constexpr uint8_t kMaxFilterArguments = 4;

struct TemplateInstruction {
  TemplateOperation operation;
  uint8_t a;
  uint16_t b;
};
constexpr uint32_t pack_instruction(TemplateOperation operation, unsigned a, unsigned b) {
  return uint32_t(operation) | uint32_t(a & 255) << 8 | uint32_t(b & 65535) << 16;
}
constexpr TemplateInstruction unpack_instruction(uint32_t word) {
  return {TemplateOperation(word & 255), uint8_t(word >> 8 & 255), uint16_t(word >> 16)};
}

}  // namespace ingot
