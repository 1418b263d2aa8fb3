#include "caffe/inference/build_report.hpp"

#include "caffe/error.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace caffe {
namespace inference {

std::string ReportAsHtml(const BuildReport& report) {
  Require(!report.engines.empty(), "a report needs an engine at least");
  std::string facts;
  for (const auto& fact : report.facts) {
    facts += Tag("div", Tag("dt", SvgEscaped(fact.first)) + Tag("dd", SvgEscaped(fact.second)));
  }
  return Filled(kPage, {{"title", SvgEscaped(report.title)},
                        {"facts", facts},
                        {"comparison", ComparisonSection(report)},
                        {"types", TypesSection(report)},
                        {"batch", std::to_string(report.engines[0].batch)},
                        {"layers", LayersSection(report)},
                        {"graphs", GraphsSection(report)},
                        {"ranges", RangesSection(report)}});
}

}  // namespace inference
}  // namespace caffe
