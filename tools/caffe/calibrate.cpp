#include <iostream>
#include <string>
#include <vector>

#include "../common/engine_building.hpp"
#include "caffe/inference/quantize/calibration_formats.hpp"
#include "calibration_flags.hpp"
#include "commands.hpp"
#include "input_flags.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(string, from_table, "", "FILE",
           "takes thresholds from a table of ours, a TensorRT cache or an ncnn table instead of "
           "running the net: needs no input and no weights");
CAFFE_FLAG(string, tensorrt_cache, "", "OUT", "the same for TensorRT");
CAFFE_FLAG(string, tensorrt_version, "8503", "V", "the version of TensorRT that the cache is for");

namespace caffe {
namespace {

void WriteTables(const CalibrationTable& table) {
  if (!FLAGS_calibration_table.empty()) {
    table.Write(FLAGS_calibration_table);
    std::cout << "wrote " << FLAGS_calibration_table << '\n';
  }
  if (!FLAGS_tensorrt_cache.empty()) {
    WriteText(TensorRtCache(table, TensorRtHeader(table, FLAGS_tensorrt_version)),
              FLAGS_tensorrt_cache);
    std::cout << "wrote " << FLAGS_tensorrt_cache << '\n';
  }
}

int ConvertTable(const NetParameter& param) {
  NetParameter filtered;
  Net<float>::FilterNet(param, &filtered);
  const CalibrationTable table = ReadAnyCalibrationTable(FLAGS_from_table, filtered);
  PrintCalibration(table, nullptr, std::cout);
  WriteTables(table);
  return 0;
}

int RunCalibrate() {
  RequireImagesToPrepare();
  ChooseDevice();
  const NetParameter param = TestPhaseNet("calibrate");
  Require(!FLAGS_calibration_table.empty() || !FLAGS_tensorrt_cache.empty(),
          "calibrate needs to know where the table goes: -calibration_table OUT");
  const bool is_version =
      !FLAGS_tensorrt_version.empty() &&
      FLAGS_tensorrt_version.find_first_not_of("0123456789") == std::string::npos;
  Require(is_version, Error::Field{"-tensorrt_version"}, " ", FLAGS_tensorrt_version,
          " is no number such as 8503, for TensorRT 8.5.3");
  std::vector<NamedFile> read = FilesRead();
  read.push_back({"-from_table", FLAGS_from_table});
  RequireOtherFiles({{"-calibration_table", FLAGS_calibration_table},
                     {"-tensorrt_cache", FLAGS_tensorrt_cache},
                     {"-plot", FLAGS_plot}},
                    read);
  for (const std::string& file : {FLAGS_calibration_table, FLAGS_tensorrt_cache}) {
    RequireWritable(file);
  }
  if (!FLAGS_from_table.empty()) {
    std::vector<FlagUse> flags = {"weights", "plot"};
    for (const FlagGroup& group : {InputFlags(), CalibrationFlags()}) {
      flags.insert(flags.end(), group.flags.begin(), group.flags.end());
    }
    RequireNotGiven(flags, "needs the net to run", "leave it or -from_table out");
    return ConvertTable(param);
  }
  Require(!FLAGS_weights.empty(), "calibrate needs trained weights: -weights FILE");
  WriteTables(CalibrateByFlags(FloatNet(param, WeightFiles()).get(), param, std::cout));
  return 0;
}

}  // namespace

Command CalibrateCommand() {
  Command command;
  command.name = "calibrate";
  command.summary = "finds the ranges of a net's blobs, which INT8 needs";
  command.usage = {
      "-model FILE -weights FILE (-images LIST | -data DB | -npy FILE)\n"
      "                       -calibration_table OUT [flags]"};
  command.about =
      "The net is run once in FLOAT, in the TEST phase. For each blob a threshold is chosen at "
      "which\n"
      "values saturate, and written to a table that may be read and edited. A row for each blob "
      "says\n"
      "its type (u8 where it has no negative values, else s8), its range, the threshold, the share "
      "of\n"
      "values above it, and how much larger than the error the values are (signal/noise: 6 dB "
      "more\n"
      "halve the error).\n";
  FlagGroup input = InputFlags();
  input.notes = kOwnDataUsage;
  command.groups = {{"net", "", {"model", "weights", "level", "stage"}, ""},
                    input,
                    CalibrationFlags(),
                    {"output",
                     "",
                     {{"calibration_table", "the table that is written"},
                      {"plot", "a plot of the histograms with the thresholds"},
                      "tensorrt_cache",
                      "tensorrt_version"},
                     ""},
                    {"conversion", "", {"from_table"}, ""}};
  command.examples =
      "  caffe calibrate -model deploy.prototxt -weights net.caffemodel -images faces.txt \\\n"
      "    -mean 104,117,123 -calibration_table net.table -plot net.svg\n"
      "  caffe calibrate -model deploy.prototxt -from_table tensorrt.cache -calibration_table "
      "net.table\n";
  command.quiet = true;
  command.run = [](const std::vector<std::string>&) { return RunCalibrate(); };
  return command;
}

}  // namespace caffe
