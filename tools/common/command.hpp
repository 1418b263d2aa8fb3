#ifndef CAFFE_TOOLS_COMMON_COMMAND_HPP_
#define CAFFE_TOOLS_COMMON_COMMAND_HPP_

#include <functional>
#include <string>
#include <vector>

#include "flags.hpp"

namespace caffe {

/// A command of a program: what --help, man pages and completion show of it, and what it does.
struct Command {
  std::string name;
  std::string summary;             ///< "optimizes a trained net", without a full stop
  std::vector<std::string> usage;  ///< "-model FILE -plan FILE [flags]", one for each form
  std::string about;               ///< whole lines
  std::vector<FlagGroup> groups;
  std::string examples;  ///< lines that begin with two spaces

  /// Commands of Caffe's own take each other's flags, as Caffe did: scripts rely on it.
  bool is_caffes_own = false;
  bool takes_files = false;  ///< what is left of the command line is passed to `run`
  /// Nets log to the log files only, unless -verbose is given; warnings and errors are still shown.
  bool quiet = false;
  std::function<int(const std::vector<std::string>& files)> run;
};

/// What `PROGRAM COMMAND --help` prints; with program "" of a program that is this one command.
/// `shared` are flags of all commands.
std::string UsageOf(const std::string& program, const Command& command, const FlagGroup& shared);

/// Throws Error if the command line sets a flag that `command`, one of `commands`, does not take.
void CheckFlagsOf(const std::string& program, const Command& command,
                  const std::vector<Command>& commands, const FlagGroup& shared);

/// The main of a program that is one command.
int RunProgram(int argc, char** argv, const Command& program);

/// A script that completes commands, flags and their values in `shell`, bash or zsh; Error for
/// another one.
std::string CompletionScript(const std::string& shell, const std::string& program,
                             const std::vector<Command>& commands, const FlagGroup& shared);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_COMMAND_HPP_
