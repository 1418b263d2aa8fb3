#ifndef CAFFE_TOOLS_CAFFE_BUILD_REPORT_HPP_
#define CAFFE_TOOLS_CAFFE_BUILD_REPORT_HPP_

#include <memory>
#include <string>
#include <vector>

#include "../common/command.hpp"
#include "engine_flags.hpp"

DECLARE_string(report);

namespace caffe {

FlagGroup ReportFlags();
/// Refuses impossible flags before the work.
void CheckReportFlags();

/// Compares the engine that was built (to be saved as `plan`) with those of each precision and
/// writes the page.
void WriteReport(EngineMaker* maker, const NetParameter& param,
                 const std::vector<std::string>& weights,
                 const std::shared_ptr<const inference::Engine>& built, const std::string& plan);

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_BUILD_REPORT_HPP_
