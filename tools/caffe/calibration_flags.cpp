#include "calibration_flags.hpp"

#include "caffe/util/text/progress.hpp"
#include "input_flags.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(
    string, calibrator, caffe::kDefaultCalibrator, "auto|entropy|minmax|percentile|mse",
    "how thresholds are chosen: by least Kullback-Leibler divergence, the largest magnitude, "
    "the magnitude below which -percent of the values lie, or least mean squared error; auto "
    "(default) takes the one of these that changes the net's outputs least, on up to 64 of the "
    "images");
CAFFE_FLAG(double, percent, caffe::PercentileCalibrator::kDefaultPercent, "P",
           "percentile: the share of values that do not saturate");
CAFFE_FLAG(string, calibration_table, "", "FILE",
           "a table of ours, a TensorRT calibration cache or an ncnn table");
CAFFE_FLAG(int32, batches, 0, "N",
           "at most N batches; else all of a list or .npy file, 50 of other data");
CAFFE_FLAG(int32, min_images, 0, "N",
           "fewer images are refused (default: fewer than 100 are warned of); some hundred to a "
           "thousand are good");
CAFFE_FLAG(string, leave_out, "", "A,B",
           "blobs that stay float: ones that are 0 or constant are refused otherwise");

namespace caffe {
namespace {

CalibrationOptions Options() {
  CalibrationOptions options;
  options.minimum_images = FLAGS_min_images;
  for (const std::string& blob : SplitAtCommas(FLAGS_leave_out)) options.leave_out.insert(blob);
  return options;
}

}  // namespace

FlagGroup CalibrationFlags() {
  return {"calibration", "", {"calibrator", "percent", "batches", "min_images", "leave_out"}, ""};
}

CalibrationTable CalibrateByFlags(Net<float>* net, const NetParameter& param, std::ostream& out,
                                  const std::set<std::string>& float_layers,
                                  std::unique_ptr<CalibrationData>* keep) {
  Require(FLAGS_batches >= 0, Error::Field{"-batches"}, " must be positive, got ", FLAGS_batches);
  Require(!IsGiven("min_images") || FLAGS_min_images >= 1, Error::Field{"-min_images"},
          " must be positive, got ", FLAGS_min_images);
  RequireWritable(FLAGS_plot);
  const int most_batches = FLAGS_batches > 0 ? FLAGS_batches : kDefaultBatches;
  const std::unique_ptr<Calibrator> calibrator = MakeCalibrator(
      FLAGS_calibrator, Inputs(*net, param, most_batches), FLAGS_batches, FLAGS_percent);

  Require(!IsGiven("percent") || FLAGS_calibrator == "percentile" || FLAGS_calibrator == "auto",
          Error::Field{"-percent"},
          " is for -calibrator percentile, and auto, which tries it, not for ", FLAGS_calibrator);

  CalibrationOptions options = Options();
  Progress progress("batch", calibrator->Batches(*net));
  options.progress = [&](int64_t batches, int64_t) { progress.Update(batches); };
  CalibrationData data = CollectCalibrationData(net, calibrator.get(), options);
  progress.Clear();
  std::unique_ptr<Progress> candidates;
  options.candidate_progress = [&](int done, int of) {
    if (!candidates) candidates = std::make_unique<Progress>("calibrator", of);
    candidates->Update(done);
  };
  const CalibrationTable table = MakeCalibrationTable(data, *calibrator, options);
  candidates.reset();
  PrintCalibration(table, &data.statistics, out);
  for (const std::string& comment : table.comments()) out << comment << '\n';
  if (!IsGiven("min_images") && data.images < CalibrationOptions::kEnoughImages) {
    out << "note: " << data.images << " images are few: thresholds are better with "
        << CalibrationOptions::kEnoughImages << " or more like those that the net will see\n";
  }
  out << NoiseReport(table, data.statistics, float_layers);
  if (!FLAGS_plot.empty()) {
    WriteText(
        HistogramsAsSvg(table, data.statistics,
                        Join(FLAGS_model, ": ", FLAGS_calibrator, " on ", data.images, " images")),
        FLAGS_plot);
    out << "wrote " << FLAGS_plot << '\n';
  }
  if (keep) *keep = std::make_unique<CalibrationData>(std::move(data));
  return table;
}

}  // namespace caffe
