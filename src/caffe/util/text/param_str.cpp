#include "caffe/util/text/param_str.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "caffe/error.hpp"

namespace caffe {

struct ParamStr::Parser {
  explicit Parser(const std::string& given) : text(given) {}

  [[noreturn]] void Refuse(const std::string& wanted) const {
    Fail("param_str: \"", text, "\": ", wanted, " is wanted at '", text.substr(at, 20), "'");
  }
  void SkipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  }
  bool Take(char wanted) {
    SkipSpace();
    if (at == text.size() || text[at] != wanted) return false;
    ++at;
    return true;
  }
  bool AtEnd() {
    SkipSpace();
    return at == text.size();
  }

  std::string Word() {
    const size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) ||
                                std::string("_+-.").find(text[at]) != std::string::npos)) {
      ++at;
    }
    return text.substr(begin, at - begin);
  }
  std::string Name() {
    const char quote = Take('\'') ? '\'' : Take('"') ? '"' : 0;
    const std::string name = Word();
    if (name.empty()) Refuse("a name");
    if (quote && !Take(quote)) Refuse("the closing quote");
    return name;
  }
  float Scalar() {
    SkipSpace();
    const size_t begin = at;
    const std::string word = Word();
    if (word == "True" || word == "true") return 1;
    if (word == "False" || word == "false") return 0;
    char* end = nullptr;
    const float value = std::strtof(word.c_str(), &end);
    if (word.empty() || *end) {
      at = begin;
      Refuse("a number");
    }
    return value;
  }
  std::vector<float> Value() {
    const char closing = Take('[') ? ']' : Take('(') ? ')' : 0;
    if (!closing) return {Scalar()};
    std::vector<float> numbers;
    while (!Take(closing)) {
      numbers.push_back(Scalar());
      if (Take(',')) continue;
      if (!Take(closing)) Refuse(std::string("',' or '") + closing + "'");
      break;
    }
    return numbers;
  }
  std::map<std::string, std::vector<float>> Settings() {
    std::map<std::string, std::vector<float>> values;
    const bool braces = Take('{');
    while (!AtEnd() && !(braces && text[at] == '}')) {
      const std::string name = Name();
      if (!Take(':')) Refuse("':'");
      values[name] = Value();
      if (!Take(',')) break;
    }
    if (braces && !Take('}')) Refuse("',' or '}'");
    if (!AtEnd()) Refuse("','");
    return values;
  }

  const std::string& text;
  size_t at = 0;
};

ParamStr::ParamStr(const std::string& text) : text_(text), values_(Parser(text).Settings()) {}

const std::vector<float>* ParamStr::Find(const std::string& name) {
  known_.insert(name);
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

float ParamStr::Number(const std::string& name, float otherwise) {
  const std::vector<float>* value = Find(name);
  if (!value) return otherwise;
  Require(value->size() == 1, "param_str: '", name, "' is one number, not ", value->size());
  return value->front();
}

bool ParamStr::Flag(const std::string& name, bool otherwise) {
  return Number(name, otherwise) != 0;
}

std::vector<float> ParamStr::Numbers(const std::string& name, const std::vector<float>& otherwise) {
  const std::vector<float>* value = Find(name);
  return value ? *value : otherwise;
}

void ParamStr::RequireAllKnown() const {
  std::string known;
  for (const std::string& name : known_) known += (known.empty() ? "" : ", ") + name;
  for (const auto& value : values_) {
    Require(known_.count(value.first), "param_str: there is no setting '", value.first,
            "'; there are ", known);
  }
}

}  // namespace caffe
