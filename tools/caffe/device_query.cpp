#include <sstream>
#include <string>

#include "../common/engine_building.hpp"
#include "caffe/caffe.hpp"
#include "caffe/inference/evaluation/layer_rates.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/processor_peaks.hpp"
#include "caffe/util/text/text_table.hpp"
#include "commands.hpp"
#include "net_flags.hpp"

namespace caffe {
namespace {

void LogTable(const TextTable& table) {
  std::stringstream text;
  table.Print(text);
  for (std::string line; std::getline(text, line);) PROGRAM_LOG() << line;
}

void QueryPeaks() {
  TextTable table({"CPU peaks, measured with " + ThreadsText(Caffe::threads()), "unit", "rate"}, 2);
  for (const kernels::ProductPeak& peak : kernels::MeasureProductPeaks()) {
    const bool integers = peak.type == ElementType::INT8;
    table.Add(
        {std::string("products and sums of ") + (integers ? "8-bit integers" : Name(peak.type)),
         peak.unit, inference::RateText(2 * peak.per_second, integers)});
  }
  table.Add({"reading memory", "", ThreeDigits(kernels::MeasureMemoryBandwidth() / 1e9) + " GB/s"});
  const kernels::HandOver line = kernels::MeasureHandOver();
  if (Caffe::threads() > 1) {
    const std::string nearest = ThreeDigits(line.nearest), farthest = ThreeDigits(line.farthest);
    const std::string range = nearest == farthest ? nearest : nearest + " to " + farthest;
    table.Add({"a cache line from core to core", "",
               line.nearest > 0 ? range + " ns" : "other programs have the cores"});
  }
  LogTable(table);
}

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
  const std::string blas = kernels::BlasProcessor();
  if (!blas.empty()) table.Add({"matrix products by OpenBLAS", "of " + blas});
  LogTable(table);
  if (FLAGS_peaks) QueryPeaks();
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
  command.usage = {"[-gpu 0|0,1|all] [-peaks=false]"};
  command.about =
      "Of the processor: its features that kernels know, for each kind of kernels the instruction\n"
      "set whose kernels are in use, and what its units do at most, measured in about a second "
      "with\n"
      "all threads: multiplications and additions of numbers in registers, two operations for "
      "each\n"
      "product, and bytes read from memory. CAFFE_CPU_ISA in the environment takes another\n"
      "set, by its name; an unknown one is refused with the names that are valid here.\n";
  command.groups = {{"what is measured", "", {"peaks"}, ""}};
  command.examples =
      "  caffe device_query\n  caffe device_query -gpu all\n"
      "  CAFFE_CPU_ISA=generic caffe device_query\n";
  command.is_caffes_own = true;
  command.run = [](const std::vector<std::string>&) { return DeviceQuery(); };
  return command;
}

}  // namespace caffe
