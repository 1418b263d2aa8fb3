#include "flags.hpp"

#include <algorithm>
#include <list>
#include <map>

#include "caffe/error.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/edit_distance.hpp"

namespace caffe {
namespace {

constexpr size_t kHelpColumn = 24, kWidth = 100;

std::map<std::string, std::string>& Values() {
  static std::map<std::string, std::string> values;
  return values;
}

std::string DefaultText(const gflags::CommandLineFlagInfo& flag) {
  std::string value = flag.default_value;
  if (flag.type == "double") {
    StringWriter digits;  // 0.05, which gflags shows with all of its 17
    digits << std::stod(value);
    value = digits.str();
  }
  if (value.empty() || value == "0" || value == "false") return "";
  return flag.description.find("default") == std::string::npos ? " (default " + value + ")" : "";
}

/// What is said of a flag at kHelpColumn, next to its name or below a long one.
std::string Described(std::string name, const std::string& text) {
  name += name.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - name.size(), ' ');
  return name + Wrapped(text, kHelpColumn, kWidth) + "\n";
}

/// The flag that an argument sets, with its value; "no" in front turns a switch off.
struct Argument {
  std::string name, value;
  bool has_value = false;
};

Argument Parsed(const std::string& text) {
  Argument argument;
  argument.name = text.substr(text.compare(0, 2, "--") == 0 ? 2 : 1);
  const size_t equals = argument.name.find('=');
  if (equals == std::string::npos) return argument;
  argument.value = argument.name.substr(equals + 1);
  argument.name.resize(equals);
  argument.has_value = true;
  return argument;
}

std::vector<std::string> AllFlags() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> names;
  for (const auto& flag : flags) names.push_back(flag.name);
  return names;
}

const char* Wanted(const std::string& type) {
  if (type == "bool") return "true or false";
  if (type == "double") return "a number";
  return "a whole number";
}

}  // namespace

FlagValue::FlagValue(const char* flag, const char* value) { Values()[flag] = value; }

std::string ValueOf(const std::string& flag) {
  const auto found = Values().find(flag);
  return found == Values().end() ? "" : found->second;
}

std::vector<std::string> OwnFlags() {
  std::vector<std::string> names;
  for (const auto& flag : Values()) names.push_back(flag.first);
  return names;
}

bool IsGiven(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

void RequireNotGiven(const std::vector<FlagUse>& flags, const std::string& why,
                     const std::string& remedy) {
  for (const FlagUse& flag : flags) {
    Require(!IsGiven(flag.name.c_str()), Error::Field{"-" + flag.name}, " ", why,
            Error::Remedy{remedy});
  }
}

std::string Wrapped(const std::string& text, size_t indent, size_t width) {
  std::string wrapped;
  size_t column = indent;
  StringReader words(text);
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > width) {
      wrapped += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped;
}

std::string TextOf(const FlagGroup& group) {
  std::string text = group.title.empty() ? "" : group.title + ":\n";
  text += group.about;
  for (const FlagUse& use : group.flags) {
    const auto flag = gflags::GetCommandLineFlagInfoOrDie(use.name.c_str());
    const std::string value = ValueOf(use.name);
    const std::string help = use.help.empty() ? flag.description : use.help;
    text += Described("  -" + use.name + (value.empty() ? "" : " " + value),
                      help + (use.help.empty() ? DefaultText(flag) : ""));
  }
  return text + group.notes;
}

void AddOptionalValues(int argc, char** argv) {
  static std::list<std::string> completed;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text == "--") return;
    if (text.size() < 2 || text[0] != '-') continue;
    const Argument argument = Parsed(text);
    if (argument.has_value || ValueOf(argument.name).compare(0, 1, "[") != 0) continue;
    if (i + 1 < argc && argv[i + 1][0] != '-') continue;
    completed.push_back(text + "=" + kGivenWithoutValue);
    argv[i] = completed.back().data();
  }
}

void CheckFlags(int argc, char** argv) {
  gflags::CommandLineFlagInfo flag;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text == "--") return;
    if (text.size() < 2 || text[0] != '-') continue;
    Argument argument = Parsed(text);
    if (!gflags::GetCommandLineFlagInfo(argument.name.c_str(), &flag)) {
      const bool off = argument.name.compare(0, 2, "no") == 0 &&
                       gflags::GetCommandLineFlagInfo(argument.name.substr(2).c_str(), &flag) &&
                       flag.type == "bool";
      // The user may have listed it as one that need not be known.
      if (!off && gflags::GetCommandLineFlagInfoOrDie("undefok").is_default) {
        const std::string guess = DidYouMean(argument.name, AllFlags(), "-");
        Fail("there is no flag -", argument.name, guess.empty() ? ";" : guess,
             " --help lists the flags");
      }
      continue;
    }
    if (!argument.has_value) {
      if (flag.type == "bool") continue;
      Require(i + 1 < argc, "-", argument.name, " needs a value");
      argument.value = argv[++i];
    }
    if (flag.type == "string") continue;
    Require(!gflags::SetCommandLineOption(argument.name.c_str(), argument.value.c_str()).empty(),
            "-", argument.name, " ", argument.value, ": it takes ", Wanted(flag.type));
  }
}

}  // namespace caffe
