#ifndef CAFFE_INFERENCE_BUILD_REPORT_HPP_
#define CAFFE_INFERENCE_BUILD_REPORT_HPP_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/inference/quantize/activation_statistics.hpp"

namespace caffe::inference {

/// An engine in a report: what it is, and its measurements.
struct EngineResult {
  std::string name;                    ///< of its precision: "int8"
  std::shared_ptr<const Graph> graph;  ///< what it runs
  std::vector<LayerInfo> layers;       ///< as they run; microseconds of a pass at `batch`
  size_t plan_bytes = 0;               ///< of the file; 0: it was not written
  size_t weight_bytes = 0;
  size_t activation_bytes = 0;  ///< of each context

  int latency_batch = 1;  ///< images in a pass of `latency_ms`, a median
  double latency_ms = 0;
  int batch = 1;  ///< images in each pass of the throughput
  double images_per_second = 0;
  std::optional<double> images_per_joule;  ///< at `batch`; where the machine counts energy
  std::optional<double> accuracy;          ///< 0 to 1
  std::optional<double> output_error;      ///< as AccuracyLoss has it without labels
  std::vector<std::string> remarks;        ///< requests that could not be met
};

/// The content of a page about a build.
struct BuildReport {
  std::string title;    ///< the net's name
  std::string command;  ///< the command line that made it; "": not shown
  std::string date;     ///< as it is shown; "": now
  /// Lines below the title, behind the library's version, date and command and before the machine:
  /// what, and its value ("model", "deploy.prototxt").
  std::vector<std::pair<std::string, std::string>> facts;
  Graph before;                       ///< as the net was read
  std::vector<EngineResult> engines;  ///< at least one; the others are compared with the first
  std::string accuracy_of;            ///< what `accuracy` is: "top-1 of 10000 images"
  /// The calibration of INT8 and the statistics of its images; both may be null.
  const CalibrationTable* calibration = nullptr;
  const ActivationStatistics* statistics = nullptr;  ///< histograms of the blobs of `calibration`
};

/// A self-contained page: graphs as drawings (SVG; laid out by Graphviz where that is installed)
/// with zoom and search, tables, bars and histograms. The machine that it names is the one that
/// this runs on. It is XHTML too. Throws Error without engines.
std::string ReportAsHtml(const BuildReport& report);

struct MeasurementOptions {
  double seconds = 1;  ///< at least this long for each number
  int least_passes = 5;
};

/// Runs an engine by itself on noise: latency at batch 1 (at the largest batch where the net cannot
/// be run with 1), throughput and energy at the largest, and the time of each layer there.
/// `accuracy`, `output_error`, `plan_bytes` and `remarks` are left alone.
EngineResult MeasureEngine(const std::string& name, const std::shared_ptr<const Engine>& engine,
                           const MeasurementOptions& options = MeasurementOptions());

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BUILD_REPORT_HPP_
