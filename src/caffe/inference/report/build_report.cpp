#include "caffe/inference/report/build_report.hpp"

#include <ctime>

#include "caffe/error.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/util/system/processor_name.hpp"
#include "caffe/version.hpp"
#include "html.hpp"
#include "sections.hpp"
#include "viewer.hpp"

namespace caffe::inference {
namespace {

/// In the machine's time zone: "2025-03-01 14:05 CET".
std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm local;
  char text[64];
  localtime_r(&now, &local);
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M %Z", &local));
}

std::string Facts(const BuildReport& report) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"Cortado", Version()}, {"date", report.date.empty() ? Now() : report.date}};
  if (!report.command.empty()) facts.push_back({"command", report.command});
  facts.insert(facts.end(), report.facts.begin(), report.facts.end());
  facts.push_back({"processor", ProcessorName()});
  facts.push_back({"instruction set", kernels::Name(kernels::CpuInstructionSet())});
  facts.push_back({"threads", std::to_string(Caffe::threads())});
  std::string list;
  for (const auto& fact : facts) {
    list += Tag("div", Tag("dt", SvgEscaped(fact.first)) + Tag("dd", SvgEscaped(fact.second)));
  }
  return list;
}

}  // namespace

std::string ReportAsHtml(const BuildReport& report) {
  Require(!report.engines.empty(), "a report needs an engine at least");
  return Filled(kPage, {{"title", SvgEscaped(report.title)},
                        {"viewer_style", kViewerStyle},
                        {"drawing_style", kDrawingStyle},
                        {"arrow_head", kArrowHead},
                        {"viewer_script", kViewerScript},
                        {"facts", Facts(report)},
                        {"comparison", ComparisonSection(report)},
                        {"types", TypesSection(report)},
                        {"batch", std::to_string(report.engines[0].batch)},
                        {"layers", LayersSection(report)},
                        {"search", kGraphSearch},
                        {"graphs", GraphsSection(report)},
                        {"integers", IntegersSection(report)},
                        {"ranges", RangesSection(report)}});
}

}  // namespace caffe::inference
