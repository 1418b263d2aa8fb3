// The program `caffe`: trains, tests and times nets, and builds engines.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "../common/command.hpp"
#include "../common/command_line.hpp"
#include "../common/threads_flag.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/listed.hpp"
#include "commands.hpp"
#include "net_flags.hpp"

DECLARE_bool(verbose);

namespace {

using caffe::Command;
using std::string;
using std::vector;

constexpr char kProgram[] = "caffe";

Command CompletionCommand();

vector<Command> Commands() {
  return {caffe::TrainCommand(),     caffe::TestCommand(),    caffe::TestDetectionCommand(),
          caffe::TimeCommand(),      caffe::BuildCommand(),   caffe::InspectCommand(),
          caffe::InferCommand(),     caffe::CompareCommand(), caffe::CalibrateCommand(),
          caffe::CheckFp16Command(), caffe::LayersCommand(),  caffe::DeviceQueryCommand(),
          CompletionCommand()};
}

Command CompletionCommand() {
  Command command;
  command.name = "completion";
  command.summary = "prints a script by which a shell completes commands and flags";
  command.usage = {"bash|zsh"};
  command.examples =
      "  caffe completion bash > ~/.local/share/bash-completion/completions/caffe\n"
      "  caffe completion zsh > ~/.zfunc/_caffe\n";
  command.takes_files = true;
  command.run = [](const vector<string>& shells) {
    caffe::Require(shells.size() == 1, "for which shell? caffe completion bash, or zsh");
    std::cout << caffe::CompletionScript(shells[0], kProgram, Commands(), caffe::SharedFlags());
    return 0;
  };
  return command;
}

/// What `caffe --help` prints, and `caffe` alone.
string Overview() {
  string text =
      "caffe: trains, tests and times nets from their prototxt files, and builds "
      "engines.\n\n"
      "usage: caffe COMMAND [flags]\n"
      "       caffe COMMAND --help\n\ncommands:\n";
  for (const Command& command : Commands()) {
    string name = "  " + command.name;
    name.resize(18, ' ');
    text += name + command.summary + "\n";
  }
  text += "\n" + TextOf(caffe::SharedFlags());
  return text + R"(
example:
  caffe train -solver models/lenet/solver.prototxt
  caffe test -model models/lenet/lenet_train_test.prototxt -weights lenet_iter_1000.caffemodel
  caffe build -model models/lenet/deploy.prototxt -weights lenet_iter_1000.caffemodel \
    -plan lenet.plan -max_batch 100
  caffe time -plan lenet.plan -batch 1
)";
}

/// Warnings and errors go to stderr, what nets log to the log files.
void LogQuietly() {
  FLAGS_alsologtostderr = false;
  FLAGS_stderrthreshold = google::WARNING;
}

int Run(const vector<Command>& commands, int argc, char** argv) {
  if (argc < 2) {
    std::cout << Overview();
    return 1;
  }
  vector<string> names;
  for (const Command& command : commands) names.push_back(command.name);
  const size_t index = std::find(names.begin(), names.end(), argv[1]) - names.begin();
  const string guess = caffe::DidYouMean(argv[1], names);
  caffe::Require(index < names.size(), "unknown command '", argv[1], "'",
                 guess.empty() ? "." : guess, " Valid are ", caffe::Listed(names));
  const Command& command = commands[index];
  const vector<string> rest(argv + 2, argv + argc);
  caffe::Require(rest.empty() || command.takes_files, "'", rest.empty() ? "" : rest[0],
                 "' is not expected: flags begin with -; caffe ", command.name,
                 " --help shows them");
  CheckFlagsOf(kProgram, command, commands, caffe::SharedFlags());
  if (command.quiet && !FLAGS_verbose) LogQuietly();
  caffe::TranslateOldFlags();
  caffe::ApplySharedFlags();
  caffe::ApplyThreadsFlag();
  caffe::LoadPlugins();
  return command.run(rest);
}

}  // namespace

int main(int argc, char** argv) {
  const vector<Command> commands = Commands();
  string usage = Overview();
  for (const Command& command : commands) {
    if (argc > 1 && command.name == argv[1])
      usage = UsageOf(kProgram, command, caffe::SharedFlags());
  }
  return caffe::RunTool(argc, argv, usage,
                        [&](int left, char** rest) { return Run(commands, left, rest); });
}
