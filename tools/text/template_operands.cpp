// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_build.h"

namespace ingot::chat {

/// Of 16 bits, or put together.
void Compiler::integer(const Node& node, int64_t number) {
  if (number >= -32768 && number < 32768) {
    emit(Op::kInteger, 0, uint16_t(number));
    return;
  }
  integer(node, number / 16384);
  emit(Op::kInteger, 0, 16384);
  emit(Op::kBinary, unsigned(TemplateBinary::kMultiply));
  emit(Op::kInteger, 0, uint16_t(number % 16384));
  emit(Op::kBinary, unsigned(TemplateBinary::kAdd));
}

void Compiler::value(const Node& node) {
  line_ = node.line;
  const auto simple = [&](TemplateSimple which) { emit(Op::kSimple, unsigned(which)); };
  switch (node.kind) {
    case NodeKind::kName: return load(node, node.text);
    case NodeKind::kConstant: emit(Op::kText, 0, text(node.text)); return;
    case NodeKind::kInteger:
      if (node.text.size() > 18) refuse(node, "a number of so many digits");
      return integer(node, std::stoll(node.text));
    case NodeKind::kFloat:
      emit(Op::kText, 0, text(node.text));
      emit(Op::kFilter, 0, unsigned(TemplateFilter::kFloat));
      return;
    case NodeKind::kTrue: return simple(TemplateSimple::kTrue);
    case NodeKind::kFalse: return simple(TemplateSimple::kFalse);
    case NodeKind::kNone: return simple(TemplateSimple::kNone);
    case NodeKind::kUndefined: return simple(TemplateSimple::kUndefined);
    case NodeKind::kList:
    case NodeKind::kTuple:
      values(node);
      emit(Op::kList, node.kind == NodeKind::kTuple, unsigned(node.kids.size()));
      return;
    case NodeKind::kDict:
      values(node);
      emit(Op::kDict, 0, unsigned(node.kids.size() / 2));
      return;
    case NodeKind::kAttribute:
      value(*node.kids[0]);
      emit(Op::kAttribute, 0, text(node.text));
      return;
    case NodeKind::kItem:
      values(node);
      emit(Op::kItem);
      return;
    case NodeKind::kSlice:
      values(node);
      emit(Op::kSlice);
      return;
    case NodeKind::kCall: return call(node);
    case NodeKind::kFilter: return filter(node);
    case NodeKind::kTest: return test(node);
    case NodeKind::kNot:
    case NodeKind::kMinus:
    case NodeKind::kPlus:
      value(*node.kids[0]);
      emit(Op::kUnary, unsigned(node.kind == NodeKind::kNot     ? TemplateUnary::kNot
                                : node.kind == NodeKind::kMinus ? TemplateUnary::kMinus
                                                                : TemplateUnary::kPlus));
      return;
    case NodeKind::kBinary: {
      static const std::map<std::string, TemplateBinary> kOperators = {
          {"+", TemplateBinary::kAdd},          {"-", TemplateBinary::kSubtract},
          {"*", TemplateBinary::kMultiply},     {"/", TemplateBinary::kDivide},
          {"//", TemplateBinary::kFloorDivide}, {"%", TemplateBinary::kRemainder}};
      values(node);
      emit(Op::kBinary, unsigned(kOperators.at(node.text)));
      return;
    }
    case NodeKind::kCompare: return compare(node);
    case NodeKind::kAnd:
    case NodeKind::kOr: {
      Label end;
      value(*node.kids[0]);
      jump(node.kind == NodeKind::kAnd ? Op::kJumpIfFalseOrPop : Op::kJumpIfTrueOrPop, &end);
      value(*node.kids[1]);
      return bind(&end);
    }
    case NodeKind::kJoin:
      values(node);
      emit(Op::kConcatenate, 0, unsigned(node.kids.size()));
      return;
    case NodeKind::kCondition: {
      const Leniency inside(this, true);
      Label otherwise, end;
      value(*node.kids[0]);
      jump(Op::kJumpIfFalse, &otherwise);
      value(*node.kids[1]);
      jump(Op::kJump, &end);
      bind(&otherwise);
      value(*node.kids[2]);
      return bind(&end);
    }
    default: refuse(node, "this expression");
  }
}

/// a < b < c: each operand once.
void Compiler::compare(const Node& node) {
  static const std::map<std::string, TemplateBinary> kOperators = {
      {"==", TemplateBinary::kEqual},  {"!=", TemplateBinary::kNotEqual},
      {"<", TemplateBinary::kLess},    {"<=", TemplateBinary::kLessEqual},
      {">", TemplateBinary::kGreater}, {">=", TemplateBinary::kGreaterEqual},
      {"in", TemplateBinary::kIn},     {"not in", TemplateBinary::kNotIn}};
  Label end;
  value(*node.kids[0]);
  for (size_t i = 0; i < node.operators.size(); i++) {
    const bool is_last = i + 1 == node.operators.size();
    value(*node.kids[i + 1]);
    const uint16_t kept = is_last ? 0 : new_slot();
    if (!is_last) emit(Op::kStore, 0, kept);
    if (!is_last) emit(Op::kLoad, 0, kept);
    emit(Op::kBinary, unsigned(kOperators.at(node.operators[i])));
    if (is_last) break;
    jump(Op::kJumpIfFalseOrPop, &end);
    emit(Op::kLoad, 0, kept);
  }
  bind(&end);
}

/// Arguments in the places of their names, undefined where there is none; how many there are.
unsigned Compiler::named_arguments(const Node& node, const std::vector<std::string>& names) {
  std::vector<const Node*> given;
  for (size_t i = 1; i < node.kids.size(); i++) {
    const Node& argument = *node.kids[i];
    const bool is_named = argument.kind == NodeKind::kKeyword;
    const size_t place =
        is_named ? size_t(std::find(names.begin(), names.end(), argument.text) - names.begin())
                 : i - 1;
    if (place >= names.size())
      refuse(argument, is_named ? "the argument '" + argument.text + "' of '" + node.text + "'"
                                : "an argument more of '" + node.text + "'");
    if (given.size() <= place) given.resize(place + 1);
    if (given[place]) refuse(argument, "an argument of '" + node.text + "' twice");
    given[place] = is_named ? argument.kids[0].get() : &argument;
  }
  for (const Node* each : given) {
    if (each)
      value(*each);
    else
      emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
  }
  return unsigned(given.size());
}

void Compiler::call(const Node& node) {
  const Node& callee = *node.kids[0];
  const unsigned count = unsigned(node.kids.size() - 1);
  if (callee.kind == NodeKind::kAttribute) {
    TemplateMethod method;
    if (!find_method(callee.text, &method)) {
      if (is_foreign_method(callee.text)) refuse(callee, "the method '" + callee.text + "'");
      return call_value(node);  // a macro in a namespace, or none: an error once it is reached
    }
    value(*callee.kids[0]);
    unsigned given = count;
    bool has_names = false;
    for (unsigned i = 1; i <= count; i++)
      has_names = has_names || node.kids[i]->kind == NodeKind::kKeyword;
    if (has_names)
      given = named_arguments(node, arguments_of(method));
    else
      values(node, 1);
    line_ = node.line;
    emit(Op::kMethod, given, unsigned(method));
    return;
  }
  TemplateBuiltIn function;
  const bool is_local = callee.kind != NodeKind::kName ||
                        std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& scope) {
                          return scope.count(callee.text) != 0;
                        });
  if (!is_local && is_built_in(callee.text) && find_built_in(callee.text, &function)) {
    const bool takes_names =
        function == TemplateBuiltIn::kNamespace || function == TemplateBuiltIn::kDict;
    for (unsigned i = 1; i <= count; i++) {
      const Node& argument = *node.kids[i];
      if ((argument.kind == NodeKind::kKeyword) != takes_names)
        refuse(argument, "this argument of '" + callee.text + "'");
      if (takes_names) emit(Op::kText, 0, text(argument.text));
      value(takes_names ? *argument.kids[0] : argument);
    }
    line_ = node.line;
    emit(Op::kBuiltIn, takes_names ? 2 * count : count, unsigned(function));
    return;
  }
  call_value(node);
}

void Compiler::call_value(const Node& node) {
  const unsigned count = unsigned(node.kids.size() - 1);
  value(*node.kids[0]);
  unsigned named = 0;
  for (unsigned i = 1; i <= count; i++) {
    const Node& argument = *node.kids[i];
    const bool is_named = argument.kind == NodeKind::kKeyword;
    if (is_named) emit(Op::kText, 0, text(argument.text));
    value(is_named ? *argument.kids[0] : argument);
    named += is_named;
  }
  line_ = node.line;
  emit(Op::kCall, count - named, named);
}

void Compiler::filter(const Node& node) {
  if (node.kids[0]) value(*node.kids[0]);  // else it is on the stack
  line_ = node.line;
  const std::string& name = node.text;
  if (name == "select" || name == "reject") return select(node, false, name == "reject");
  if (name == "selectattr" || name == "rejectattr") return select(node, true, name == "rejectattr");
  TemplateFilter which;
  if (name == "map") {
    const size_t count = node.kids.size() - 1;
    const Node* first = count > 0 ? node.kids[1].get() : nullptr;
    if (first && first->kind == NodeKind::kKeyword) {
      if (named_arguments(node, {"attribute", "default"}) == 1)
        emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
      emit(Op::kMapAttribute);
      return;
    }
    if (count != 1 || first->kind != NodeKind::kConstant || !find_filter(first->text, &which) ||
        which == TemplateFilter::kReplace)
      refuse(node, "this form of 'map'");
    emit(Op::kMap, 0, unsigned(which));
    return;
  }
  if (!find_filter(name, &which)) {
    if (!is_lenient_ || is_foreign_filter(name)) refuse(node, "the filter '" + name + "'");
    emit(Op::kPop);
    return raise("No filter named '" + name + "' found.");
  }
  const unsigned count = named_arguments(node, arguments_of(which));
  if (which == TemplateFilter::kReplace && count < 2) refuse(node, "'replace' of one argument");
  line_ = node.line;
  emit(Op::kFilter, count, unsigned(which));
}

/// selectattr(attribute, test, argument), select(test, argument)
void Compiler::select(const Node& node, bool by_attribute, bool rejects) {
  const size_t first = by_attribute ? 2 : 1, count = node.kids.size();
  for (size_t i = 1; i < count; i++)
    if (node.kids[i]->kind == NodeKind::kKeyword)
      refuse(node, "a named argument of '" + node.text + "'");
  if (count < first || count > first + 2) refuse(node, "these arguments of '" + node.text + "'");
  TemplateTest which = TemplateTest::kDefined;
  unsigned how = (by_attribute ? kSelectAttribute : 0) | (rejects ? kSelectRejects : 0);
  if (count == first)
    how |= kSelectTruth;
  else if (node.kids[first]->kind != NodeKind::kConstant ||
           !find_test(node.kids[first]->text, &which))
    refuse(node, "this test of '" + node.text + "'");
  if (count == first + 2) how |= kSelectArgument;
  if (count > first && (which >= TemplateTest::kDivisibleBy) != (count == first + 2))
    refuse(node, "the arguments of the test in '" + node.text + "'");
  if (by_attribute)
    value(*node.kids[1]);
  else
    emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
  if (how & kSelectArgument)
    value(*node.kids[first + 1]);
  else
    emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
  emit(Op::kSelect, how, unsigned(which));
}

void Compiler::test(const Node& node) {
  TemplateTest which;
  if (!find_test(node.text, &which)) {
    if (!is_lenient_ || is_foreign_test(node.text)) refuse(node, "the test '" + node.text + "'");
    return raise("No test named '" + node.text + "' found.");
  }
  const size_t count = node.kids.size() - 1;
  if (count != size_t(which >= TemplateTest::kDivisibleBy) ||
      (count && node.kids[1]->kind == NodeKind::kKeyword))
    refuse(node, "these arguments of the test '" + node.text + "'");
  values(node);
  line_ = node.line;
  emit(Op::kTest, unsigned(count), unsigned(which));
}

}  // namespace ingot::chat
