#ifndef CAFFE_TOOLS_CALIBRATE_HPP_
#define CAFFE_TOOLS_CALIBRATE_HPP_

#include <gflags/gflags.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/calibration_formats.hpp"
#include "caffe/inference/calibration_report.hpp"
#include "caffe/inference/calibrator.hpp"
#include "caffe/util/progress.hpp"
#include "engine_building.hpp"
#include "input_flags.hpp"

DEFINE_string(calibrator, "entropy",
              "calibrate, build: how thresholds are chosen, entropy, minmax, percentile or mse.");
DEFINE_double(
    percent, caffe::PercentileCalibrator::kDefaultPercent,
    "calibrate, build: the share of values that do not saturate: -calibrator percentile.");
DEFINE_string(calibration_table, "",
              "calibrate: the file that the table is written to; build, infer, compare: a table to "
              "be read.");
DEFINE_string(from_table, "", "calibrate: convert this table instead of running the net.");
DEFINE_string(tensorrt_cache, "", "calibrate: write a TensorRT calibration cache to this file.");
DEFINE_string(tensorrt_version, "8503", "calibrate: the version that the cache says it is for.");
DEFINE_int32(batches, 0, "calibrate, build: run at most this many batches.");
DEFINE_int32(min_images, caffe::CalibrationOptions::kMinimumImages,
             "calibrate, build: refuse to calibrate on fewer images.");
DEFINE_string(leave_out, "", "calibrate, build: blobs, separated by ',', that stay float.");

namespace caffe {

inline const std::string kCalibrateUsage =
    std::string(R"(caffe calibrate: the ranges that INT8 needs to know of a net's blobs.

usage: caffe calibrate -model FILE -weights FILE (-images LIST | -data DB | -npy FILE)
                       -calibration_table OUT [flags]

The net is run once in FLOAT, in the TEST phase. For each blob a threshold is chosen at which values
saturate, and written to a table that may be read and edited. A row for each blob says its type (u8
where it has no negative values, else s8), its range, the threshold, the share of values above it,
and how much larger than the error the values are (signal/noise: 6 dB more halve the error).

how thresholds are chosen:
  -calibrator entropy      least Kullback-Leibler divergence (default)
              minmax       the largest magnitude
              percentile   the magnitude below which -percent P (default 99.99) of the values lie
              mse          least mean squared error

)") +
    kInputUsage + kOwnDataUsage +
    R"(  -batches N            at most N batches; else all of a list or .npy file, 50 of other data
  -min_images N         fewer images are refused (default 100); some hundred to a thousand are good
  -leave_out A,B        blobs that stay float: ones that are 0 or constant are refused otherwise

output:
  -calibration_table OUT   the table
  -plot OUT.svg            a picture of the histograms with the thresholds
  -tensorrt_cache OUT [-tensorrt_version 8503]   the same for TensorRT

conversion:
  -from_table FILE      takes thresholds from a table of ours, a TensorRT cache or an ncnn table
                        instead of running the net: needs no input and no weights

example:
  caffe calibrate -model deploy.prototxt -weights net.caffemodel -images faces.txt \
    -mean 104,117,123 -calibration_table net.table -plot net.svg
  caffe calibrate -model deploy.prototxt -from_table tensorrt.cache -calibration_table net.table
)";

namespace calibrate {

constexpr int kDefaultBatches = 50;

inline void WriteTables(const CalibrationTable& table) {
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

inline int ConvertTable(const NetParameter& param) {
  NetParameter filtered;
  Net<float>::FilterNet(param, &filtered);
  const CalibrationTable table = ReadAnyCalibrationTable(FLAGS_from_table, filtered);
  PrintCalibration(table, nullptr, std::cout);
  WriteTables(table);
  return 0;
}

inline CalibrationOptions Options() {
  CalibrationOptions options;
  options.minimum_images = FLAGS_min_images;
  std::istringstream blobs(FLAGS_leave_out);
  for (std::string blob; std::getline(blobs, blob, ',');) options.leave_out.insert(blob);
  return options;
}

}  // namespace calibrate

/// Runs a net with its weights, `param`'s, on what the flags say, and chooses thresholds. Prints
/// them on `out`. `keep`, if given, gets what was seen of the net.
inline CalibrationTable CalibrateByFlags(Net<float>* net, const NetParameter& param,
                                         const std::string& model, std::ostream& out,
                                         std::unique_ptr<CalibrationData>* keep = nullptr) {
  using namespace calibrate;
  Require(FLAGS_batches >= 0, "-batches must be positive, got ", FLAGS_batches);
  Require(FLAGS_min_images >= 1, "-min_images must be positive, got ", FLAGS_min_images);
  RequireWritable(FLAGS_plot);
  const int most_batches = FLAGS_batches > 0 ? FLAGS_batches : kDefaultBatches;
  const std::unique_ptr<Calibrator> calibrator = MakeCalibrator(
      FLAGS_calibrator, Inputs(*net, param, most_batches), FLAGS_batches, FLAGS_percent);

  CalibrationOptions options = Options();
  Progress progress("batch", calibrator->Batches(*net));
  options.progress = [&](int64_t batches, int64_t) { progress.Update(batches); };
  CalibrationData data = CollectCalibrationData(net, calibrator.get(), options);
  progress.Clear();
  const CalibrationTable table = MakeCalibrationTable(data, *calibrator, options);
  PrintCalibration(table, &data.statistics, out);
  if (!FLAGS_plot.empty()) {
    WriteText(HistogramsAsSvg(table, data.statistics,
                              Join(model, ": ", FLAGS_calibrator, " on ", data.images, " images")),
              FLAGS_plot);
    out << "wrote " << FLAGS_plot << '\n';
  }
  if (keep) *keep = std::make_unique<CalibrationData>(std::move(data));
  return table;
}

/// The command calibrate. `param` is the net of `model` with the state that the command line gives.
inline int CalibrateNet(NetParameter param, const std::string& model,
                        const std::vector<std::string>& weights) {
  using namespace calibrate;
  Require(!FLAGS_calibration_table.empty() || !FLAGS_tensorrt_cache.empty(),
          "calibrate needs to know where the table goes: -calibration_table OUT");
  for (const std::string& file : {FLAGS_calibration_table, FLAGS_tensorrt_cache}) {
    RequireWritable(file);
  }
  if (!FLAGS_from_table.empty()) {
    Require(FLAGS_plot.empty(), "-plot needs the net to run: leave out -from_table");
    return ConvertTable(param);
  }
  Require(!weights.empty(), "calibrate needs trained weights: -weights FILE");
  WriteTables(CalibrateByFlags(FloatNet(param, weights).get(), param, model, std::cout));
  return 0;
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_CALIBRATE_HPP_
