#ifndef CAFFE_TOOLS_COMMON_COMMAND_LINE_HPP_
#define CAFFE_TOOLS_COMMON_COMMAND_LINE_HPP_

#include <functional>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/util/text/split.hpp"
#include "flags.hpp"

DECLARE_bool(gpu_fallback);
DECLARE_bool(ignore_unknown_fields);

namespace caffe {

/// One line on stderr that begins with the program's name, behind what was logged. Bytes of files
/// and arguments that a terminal would take for commands are shown as \xHH.
void TellError(const std::string& message);

/// Lets Limits::With(list) hold from here on; nothing for an empty list. Errors name `flag`.
void ApplyLimits(const std::string& flag, const std::string& list);

/// Lets -gpu_fallback, -ignore_unknown_fields and -limits hold from here on.
void ApplySharedFlags();

/// Files between commas; a comma is part of a name where a file is called so. `path_of` gives the
/// path in a part that has more than that, as NAME=FILE has.
std::vector<std::string> SplitFiles(
    const std::string& text, const std::function<std::string(const std::string&)>& path_of = {});

/// A word as a shell takes it: in quotes where it needs them.
std::string ShellQuoted(const std::string& word);

/// A page for `man`, in roff, made of the text that --help prints: its first line is "NAME: what it
/// does.", then come "usage: ..." and parts under titles that end with a colon.
std::string ManPage(const std::string& usage);

/// What every tool does around its work: `--help` (also -help, -h) prints `usage` alone and
/// returns 0, `--man` the same as a page for `man`, `--version` prints "caffe version 1.0.0" and
/// ends the program, flags are checked and parsed, and whatever goes wrong, printing included, is
/// one line on stderr and status 1. `work` gets what is left of the command line, the program's
/// name first.
int RunTool(int argc, char** argv, const std::string& usage,
            const std::function<int(int argc, char** argv)>& work);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_COMMAND_LINE_HPP_
