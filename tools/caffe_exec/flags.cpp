#include "flags.hpp"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdlib>

#include "../common/command_line.hpp"
#include "caffe/error.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/listed.hpp"

namespace caffe::exec {
namespace {

const Flag* Find(const std::string& name) {
  for (const FlagGroup& group : FlagGroups()) {
    for (const Flag& flag : group.flags) {
      if (name == flag.name) return &flag;
    }
  }
  return nullptr;
}

const Flag& Known(const std::string& name) {
  const Flag* flag = Find(name);
  Require(flag != nullptr, "the table of flags lacks --", name);
  return *flag;
}

bool IsSwitch(const Flag& flag) { return *flag.argument == '\0'; }

/// Of a flag of gflags, which has it. A switch is set by its name alone.
void SetOther(const gflags::CommandLineFlagInfo& flag, const std::string& value) {
  // gflags ends the program where a file or a variable is missing, or where flags in it are wrong.
  static const std::vector<std::string> kElsewhere = {"flagfile", "fromenv", "tryfromenv"};
  Require(std::find(kElsewhere.begin(), kElsewhere.end(), flag.name) == kElsewhere.end(), "--",
          flag.name, ": flags are given on the command line only");
  Require(!gflags::SetCommandLineOption(flag.name.c_str(), value.c_str()).empty(), "--", flag.name,
          ": '", value, "' is no ", flag.type);
}

std::string Spelled(const Flag& flag) {
  return Join("--", flag.name, IsSwitch(flag) ? "" : "=", flag.argument);
}

/// For a cell of a table.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string EffectText(const Flag& flag) {
  const std::string fallback = *flag.fallback ? Join(" (default ", flag.fallback, ")") : "";
  switch (flag.effect) {
    case Effect::DONE:
      return flag.text + fallback;
    case Effect::GPU:
      return Join("on a GPU: ", flag.text);
    case Effect::IGNORED:
      return Join("ignored: ", flag.text);
    default:
      return Join("refused: ", flag.text);
  }
}

}  // namespace

std::string Usage() {
  constexpr size_t kColumn = 34, kWidth = 100;
  std::string text =
      R"(caffe_exec: builds an engine from a net, or loads one, and times it, with trtexec's flags.

usage: caffe_exec --deploy=FILE [--model=FILE] [flags]
       caffe_exec --loadEngine=FILE [flags]

-x VALUE, -x=VALUE, --x VALUE and --x=VALUE are the same. All flags of trtexec from TensorRT 5 to 10
are taken; of those that mean nothing here a warning says why.
)";
  for (const FlagGroup& group : FlagGroups()) {
    text += Join("\n=== ", group.title, " ===\n");
    for (const Flag& flag : group.flags) {
      std::string line = "  " + Spelled(flag);
      line += line.size() + 2 > kColumn ? "\n" + std::string(kColumn, ' ')
                                        : std::string(kColumn - line.size(), ' ');
      text += line + Wrapped(EffectText(flag), kColumn, kWidth) + '\n';
    }
  }
  return text + R"(
example:
  caffe_exec --deploy=deploy.prototxt --model=net.caffemodel --output=prob --batch=8 --int8 \
    --calib=net.cache --saveEngine=net.plan
  caffe_exec --loadEngine=net.plan --infStreams=2 --threads --dumpProfile
)";
}

std::string MarkdownTable() {
  std::string text = "| flag | here |\n| --- | --- |\n";
  for (const FlagGroup& group : FlagGroups()) {
    text += Join("| **", group.title, "** | |\n");
    for (const Flag& flag : group.flags) {
      text += Join("| `", Escaped(Spelled(flag)), "` | ", Escaped(EffectText(flag)), " |\n");
    }
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> NamesAndValues(const std::string& flag,
                                                                const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t at = 0; at < text.size();) {
    const bool quoted = text[at] == '\'';
    const size_t end = text.find(quoted ? '\'' : ':', at + quoted);
    const size_t colon = quoted && end != std::string::npos ? end + 1 : end;
    Require(
        end != std::string::npos && end > at + quoted && colon < text.size() && text[colon] == ':',
        "--", flag, ": '", text.substr(at, text.find(',', at) - at), "' is not NAME:VALUE");
    const size_t comma = std::min(text.find(',', colon), text.size());
    pairs.emplace_back(text.substr(at + quoted, end - at - quoted),
                       text.substr(colon + 1, comma - colon - 1));
    at = comma + 1;
  }
  return pairs;
}

Flags::Flags(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    Require(argument.size() > 1 && argument[0] == '-', "'", argument,
            "' is not expected: all is said by flags; --help shows them");
    const size_t begin = argument[1] == '-' ? 2 : 1, equals = argument.find('=');
    const std::string name = argument.substr(begin, equals - begin);
    const Flag* flag = Find(name);
    gflags::CommandLineFlagInfo other;
    if (!flag && !gflags::GetCommandLineFlagInfo(name.c_str(), &other)) {
      std::vector<std::string> names;
      for (const FlagGroup& group : FlagGroups()) {
        for (const Flag& known : group.flags) names.push_back(known.name);
      }
      const std::string guess = DidYouMean(name, names, "--");
      Fail("there is no flag '--", name, "'", guess.empty() ? ";" : guess,
           " --help shows all of them");
    }
    const bool is_switch = flag ? IsSwitch(*flag) : other.type == "bool";
    std::string value = "true";
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (!is_switch) {
      Require(i + 1 < arguments.size(), "--", name, " needs a value: --", name, "=",
              flag ? flag->argument : "VALUE");
      value = arguments[++i];
    }
    if (!flag) {
      SetOther(other, value);
      continue;
    }
    if (is_switch) {
      static const std::vector<std::string> kSaid = {"true", "false", "1", "0"};
      Require(std::find(kSaid.begin(), kSaid.end(), value) != kSaid.end(), "--", name, "=", value,
              ": it is a switch and takes no value");
    }
    given_.push_back({flag, value});
  }
}

bool Flags::IsGiven(const std::string& name) const { return !All(name).empty(); }

std::vector<std::string> Flags::All(const std::string& name) const {
  const Flag& flag = Known(name);
  std::vector<std::string> values;
  for (const Given& given : given_) {
    if (given.flag == &flag) values.push_back(given.value);
  }
  return values;
}

std::string Flags::Text(const std::string& name) const {
  const std::vector<std::string> all = All(name);
  return all.empty() ? Known(name).fallback : all.back();
}

bool Flags::IsOn(const std::string& name) const {
  const std::string value = Text(name);
  return value == "true" || value == "1";
}

std::vector<std::string> Flags::List(const std::string& name) const {
  std::vector<std::string> all = All(name), parts;
  if (all.empty()) all.push_back(Known(name).fallback);
  for (const std::string& value : all) {
    for (const std::string& part : SplitAtCommas(value)) parts.push_back(part);
  }
  return parts;
}

double Flags::Number(const std::string& name, double least) const {
  const std::string text = Text(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  Require(!text.empty() && *end == '\0', "--", name, ": '", text, "' is not a number");
  Require(value >= least, "--", name, " must be ", least, " or more, got ", text);
  return value;
}

int Flags::Int(const std::string& name, int least, int most) const {
  const double value = Number(name, least);
  Require(value <= most, "--", name, " must be ", most, " or less, got ", Text(name));
  Require(value == static_cast<int>(value), "--", name, ": '", Text(name), "' is not an integer");
  return static_cast<int>(value);
}

std::string Flags::OneOf(const std::string& name, const std::vector<std::string>& names) const {
  const std::string text = Text(name);
  Require(std::find(names.begin(), names.end(), text) != names.end(), "--", name, ": '", text,
          "' is not one of ", Listed(names));
  return text;
}

std::vector<Flag> Flags::With(Effect effect) const {
  std::vector<Flag> flags;
  for (const Given& given : given_) {
    const bool changes =
        IsSwitch(*given.flag) ? IsOn(given.flag->name) : given.value != given.flag->fallback;
    if (changes && given.flag->effect == effect) flags.push_back(*given.flag);
  }
  return flags;
}

}  // namespace caffe::exec
