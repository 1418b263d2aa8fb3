// Command lines, an argument a line: of caffe_exec, and as gflags' programs check them.
#include <sstream>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "tools/caffe_exec/flags.hpp"
#include "tools/common/command_line.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using caffe::fuzz::Try;
  std::istringstream text(caffe::fuzz::TextOf(data, size));
  std::vector<std::string> arguments;
  for (std::string line; std::getline(text, line);) arguments.push_back(line);
  Try([&] {
    const caffe::exec::Flags flags(arguments);
    for (const auto& group : caffe::exec::FlagGroups()) {
      for (const auto& flag : group.flags) {
        Try([&] { flags.List(flag.name); });
        Try([&] { flags.Number(flag.name, 0); });
        Try([&] { caffe::exec::NamesAndValues(flag.name, flags.Text(flag.name)); });
      }
    }
  });
  std::vector<char*> argv = {const_cast<char*>("program")};
  for (std::string& argument : arguments) argv.push_back(&argument[0]);
  const int count = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  return Try([&] {
    caffe::CheckFlags(count, argv.data());
    for (const std::string& argument : arguments) caffe::SplitFiles(argument);
  });
}
