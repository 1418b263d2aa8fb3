#ifndef CAFFE_TOOLS_COMMAND_LINE_HPP_
#define CAFFE_TOOLS_COMMAND_LINE_HPP_

#include <gflags/gflags.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "caffe/common.hpp"
#include "caffe/util/printable.hpp"
#include "caffe/version.hpp"

namespace caffe {

/// True if the command line sets the flag, be it to its default.
inline bool IsGiven(const char* flag) {
  return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default;
}

/// One line on stderr that begins with the program's name, behind what was logged. Bytes of files
/// and arguments that a terminal would take for commands are shown as \xHH.
inline void TellError(const std::string& message) {
  google::FlushLogFiles(google::INFO);
  std::cerr << program_invocation_short_name << ": " << Printable(message) << std::endl;
}

/// What every tool does around its work: `--help` (also -help, -h) prints `usage` alone and
/// returns 0, `--version` prints "caffe version 1.0.0" and ends the program, flags are parsed, and
/// whatever goes wrong is one line on stderr and status 1. `work` gets what is left of the command
/// line, the program's name first.
template <typename Work>
int RunTool(int argc, char** argv, const std::string& usage, Work&& work) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-help" || argument == "-h") {
      std::cout << usage << std::flush;
      return 0;
    }
  }
  FLAGS_alsologtostderr = true;
  try {
    gflags::SetUsageMessage(usage);
    gflags::SetVersionString(Version());
    GlobalInit(&argc, &argv);
    return work(argc, argv);
  } catch (const std::exception& error) {
    TellError(error.what());
    return 1;
  }
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMAND_LINE_HPP_
