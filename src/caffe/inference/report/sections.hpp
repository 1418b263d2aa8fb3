#ifndef CAFFE_INFERENCE_REPORT_SECTIONS_HPP_
#define CAFFE_INFERENCE_REPORT_SECTIONS_HPP_

#include <string>

#include "caffe/inference/report/build_report.hpp"

// The parts of a report, each a piece of HTML.
namespace caffe::inference {

/// A row for each engine: latency, throughput, accuracy, sizes, energy; without columns for what
/// was not measured. Below it the requests that could not be met.
std::string ComparisonSection(const BuildReport& report);

/// The time of a pass of each engine, divided by types of layers.
std::string TypesSection(const BuildReport& report);

/// A row for each layer, a column for each engine: time, implementation and type.
std::string LayersSection(const BuildReport& report);

/// The net as it was read and as each engine runs it.
std::string GraphsSection(const BuildReport& report);

/// Scale and zero point of what each layer makes, multipliers and shifts, of engines that compute
/// with integers alone; "" where none does.
std::string IntegersSection(const BuildReport& report);

/// Ranges and histograms with their thresholds; "" without a calibration.
std::string RangesSection(const BuildReport& report);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_REPORT_SECTIONS_HPP_
