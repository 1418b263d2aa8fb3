#include "caffe/caffe.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "commands.hpp"
#include "net_flags.hpp"

namespace caffe {
namespace {

int DeviceQuery() {
  PROGRAM_LOG() << "Querying GPUs " << (FLAGS_gpu.empty() ? "none (-gpu not given)" : FLAGS_gpu);
  PROGRAM_LOG() << "CPU instruction set:           " << kernels::Name(kernels::CpuInstructionSet());
  PROGRAM_LOG() << "CPU threads:                   " << Caffe::threads();
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
  command.examples = "  caffe device_query\n  caffe device_query -gpu all\n";
  command.takes_any_flag = true;
  command.run = [](const std::vector<std::string>&) { return DeviceQuery(); };
  return command;
}

}  // namespace caffe
