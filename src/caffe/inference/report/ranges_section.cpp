#include "caffe/inference/quantize/calibration_report.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace caffe::inference {
namespace {

std::string Cells(const std::string& tag, const std::vector<std::string>& texts) {
  std::string cells;
  for (const std::string& text : texts) cells += Tag(tag, SvgEscaped(text));
  return Tag("tr", cells);
}

std::string TableOf(const std::vector<std::vector<std::string>>& rows) {
  std::string body;
  for (size_t i = 1; i < rows.size(); ++i) body += Cells("td", rows[i]) + "\n";
  return Tag("table", Tag("thead", Cells("th", rows.at(0))) + Tag("tbody", body));
}

}  // namespace

std::string RangesSection(const BuildReport& report) {
  if (!report.calibration) return "";
  const CalibrationTable& table = *report.calibration;
  std::string content =
      Tag("h2", "Ranges") +
      Tag("details",
          Tag("summary", std::to_string(table.blobs().size()) + " blobs") +
              Tag("div", "class=\"scroll\"", TableOf(CalibrationRows(table, report.statistics))));
  if (report.statistics) {
    content += Tag("div", "class=\"histograms\"",
                   HistogramsAsSvg(table, *report.statistics,
                                   "Magnitudes in " + std::to_string(table.images()) + " images"));
  }
  return Tag("section", "id=\"ranges\"", content);
}

}  // namespace caffe::inference
