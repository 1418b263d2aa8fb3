#include <sstream>

#include "caffe/caffe.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/util/text/text_table.hpp"
#include "commands.hpp"
#include "net_flags.hpp"

namespace caffe {
namespace {

void QueryCpu() {
  std::string features;
  for (const std::string& name : kernels::NamesOf(kernels::FoundCpuFeatures())) {
    features += (features.empty() ? "" : ", ") + name;
  }
  PROGRAM_LOG() << "CPU instruction set:           " << kernels::Name(kernels::CpuInstructionSet());
  PROGRAM_LOG() << "CPU features:                  " << (features.empty() ? "none" : features);
  PROGRAM_LOG() << "CPU threads:                   " << Caffe::threads();
  TextTable table({"CPU kernels", "instruction set"}, 2);
  for (const auto& [family, set] : kernels::ChosenKernelFamilies()) table.Add({family, set});
  std::stringstream text;
  table.Print(text);
  for (std::string line; std::getline(text, line);) PROGRAM_LOG() << line;
}

int DeviceQuery() {
  PROGRAM_LOG() << "Querying GPUs " << (FLAGS_gpu.empty() ? "none (-gpu not given)" : FLAGS_gpu);
  QueryCpu();
  for (const int id : GpusOfFlag()) {
    Caffe::SetDevice(id);
    Caffe::DeviceQuery();
  }
  return 0;
}

}  // namespace

Command DeviceQueryCommand() {
  Command command;
  command.name = "device_query";
  command.summary = "shows the processor, and with -gpu the GPUs";
  command.usage = {"[-gpu 0|0,1|all]"};
  command.about =
      "Of the processor: its features that kernels know, and for each kind of kernels the\n"
      "instruction set whose kernels are in use. CAFFE_CPU_ISA in the environment takes another\n"
      "set, by its name; an unknown one is refused with the names that are valid here.\n";
  command.examples =
      "  caffe device_query\n  caffe device_query -gpu all\n"
      "  CAFFE_CPU_ISA=generic caffe device_query\n";
  command.takes_any_flag = true;
  command.run = [](const std::vector<std::string>&) { return DeviceQuery(); };
  return command;
}

}  // namespace caffe
