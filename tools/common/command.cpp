#include "command.hpp"

#include <algorithm>
#include <set>

#include "caffe/error.hpp"
#include "caffe/util/string_stream.hpp"
#include "command_line.hpp"

namespace caffe {
namespace {

std::set<std::string> FlagsOf(const Command& command, const FlagGroup& shared) {
  std::set<std::string> flags;
  for (const FlagUse& use : shared.flags) flags.insert(use.name);
  for (const FlagGroup& group : command.groups) {
    for (const FlagUse& use : group.flags) flags.insert(use.name);
  }
  return flags;
}

/// "fp32 fp16" of "fp32|fp16"; "" for what is not a choice.
std::string Choices(const std::string& value) {
  if (value.find('|') == std::string::npos || value.find_first_of(" ,=.") != std::string::npos) {
    return "";
  }
  std::string words = value;
  std::replace(words.begin(), words.end(), '|', ' ');
  return words;
}

std::string BashScript(const std::string& program, const std::vector<Command>& commands,
                       const FlagGroup& shared) {
  StringWriter script;
  script << "# bash completion of " << program << "; " << program
         << " completion bash prints it.\n_" << program
         << "() {\n"
            "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} flags\n"
            "  COMPREPLY=()\n"
            "  if [ \"$COMP_CWORD\" = 1 ]; then\n    COMPREPLY=($(compgen -W '";
  for (const Command& command : commands) script << command.name << ' ';
  script << "' -- \"$current\"))\n    return\n  fi\n  case $previous in\n";
  std::set<std::string> all;
  for (const Command& command : commands) {
    for (const std::string& flag : FlagsOf(command, shared)) all.insert(flag);
  }
  for (const std::string& flag : all) {
    const std::string choices = Choices(ValueOf(flag));
    if (choices.empty()) continue;
    script << "    -" << flag << " | --" << flag << ")\n      COMPREPLY=($(compgen -W '" << choices
           << "' -- \"$current\"))\n      return ;;\n";
  }
  script << "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands) {
    script << "    " << command.name << ") flags='";
    for (const std::string& flag : FlagsOf(command, shared)) script << '-' << flag << ' ';
    script << "--help' ;;\n";
  }
  script << "  esac\n  if [ \"${current:0:1}\" = - ]; then\n"
            "    COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n  else\n"
            "    COMPREPLY=($(compgen -f -- \"$current\"))\n  fi\n}\n"
            "complete -o filenames -F _"
         << program << ' ' << program << '\n';
  return script.str();
}

/// Text inside of '...[text]...' of zsh's _arguments.
std::string ZshText(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      safe += std::string("\\") + c;
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string ZshScript(const std::string& program, const std::vector<Command>& commands,
                      const FlagGroup& shared) {
  StringWriter script;
  script << "#compdef " << program << "\n# zsh completion; " << program
         << " completion zsh prints it.\n_" << program
         << "() {\n  local -a commands\n  commands=(\n";
  for (const Command& command : commands) {
    script << "    '" << command.name << ':' << ZshText(command.summary) << "'\n";
  }
  script << "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
            "  case $words[2] in\n";
  for (const Command& command : commands) {
    script << "    " << command.name << ") _arguments \\\n";
    for (const std::string& flag : FlagsOf(command, shared)) {
      const auto info = gflags::GetCommandLineFlagInfoOrDie(flag.c_str());
      const std::string value = ValueOf(flag), choices = Choices(value);
      script << "      '-" << flag << '[' << ZshText(info.description) << ']';
      if (!choices.empty()) {
        script << ':' << flag << ":(" << choices << ')';
      } else if (!value.empty()) {
        script << ':' << ZshText(value) << ":_files";
      }
      script << "' \\\n";
    }
    script << "      '*:file:_files' ;;\n";
  }
  script << "  esac\n}\n_" << program << " \"$@\"\n";
  return script.str();
}

}  // namespace

std::string UsageOf(const std::string& program, const Command& command, const FlagGroup& shared) {
  const std::string name = (program.empty() ? "" : program + " ") + command.name;
  std::string text = name + ": " + command.summary + ".\n\n";
  for (size_t i = 0; i < command.usage.size(); ++i) {
    text += (i == 0 ? "usage: " : "       ") + name + (command.usage[i].empty() ? "" : " ") +
            command.usage[i] + "\n";
  }
  if (!command.about.empty()) text += "\n" + command.about;
  for (const FlagGroup& group : command.groups) text += "\n" + TextOf(group);
  if (!shared.flags.empty()) text += "\n" + TextOf(shared);
  if (!command.examples.empty()) text += "\nexample:\n" + command.examples;
  return text;
}

void CheckFlagsOf(const std::string& program, const Command& command,
                  const std::vector<Command>& commands, const FlagGroup& shared) {
  std::set<std::string> taken = FlagsOf(command, shared);
  for (const Command& other : commands) {
    if (command.is_caffes_own && other.is_caffes_own) taken.merge(FlagsOf(other, shared));
  }
  for (const std::string& flag : OwnFlags()) {
    Require(!IsGiven(flag.c_str()) || taken.count(flag) > 0, program, " ", command.name,
            " has no flag -", flag, ": ", program, " ", command.name, " --help lists those it has");
  }
}

int RunProgram(int argc, char** argv, const Command& program) {
  const FlagGroup shared = {"all programs", "", {"limits"}, ""};
  return RunTool(argc, argv, UsageOf("", program, shared), [&](int count, char** arguments) {
    ApplySharedFlags();
    return program.run({arguments + 1, arguments + count});
  });
}

std::string CompletionScript(const std::string& shell, const std::string& program,
                             const std::vector<Command>& commands, const FlagGroup& shared) {
  if (shell == "bash") return BashScript(program, commands, shared);
  if (shell == "zsh") return ZshScript(program, commands, shared);
  Fail("completion '", shell, "': valid are bash and zsh");
}

}  // namespace caffe
