// The picture of a calibration.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "caffe/inference/calibration_report.hpp"
#include "caffe/util/svg.hpp"
#include "caffe/util/text_table.hpp"

namespace caffe {
namespace {

constexpr int kColumns = 3, kPanelWidth = 320, kPanelHeight = 170;
constexpr int kTop = 40, kBottom = 30;  // of the whole picture
constexpr int kMargin = 14;             // beside the bars of a panel
constexpr int kHead = 34, kFoot = 24;   // above and below them: names, the axis
constexpr int kBars = 146;              // two pixels each

const char kKept[] = "#2f6f9f";
const char kSaturated[] = "#c0392b";

/// One blob's histogram in a box whose upper left corner is (x, y).
class Panel {
 public:
  Panel(const std::string& blob, const BlobCalibration& calibration, const Histogram& histogram,
        int x, int y)
      : blob_(blob), calibration_(calibration), histogram_(histogram), x_(x + kMargin), y_(y) {}

  void Draw(std::ostream& out) const {
    out << "<text x=\"" << x_ << "\" y=\"" << y_ + 13 << "\" font-weight=\"bold\">"
        << SvgEscaped(blob_) << "</text>\n"
        << "<text x=\"" << x_ << "\" y=\"" << y_ + 27 << "\" font-size=\"10\">"
        << (calibration_.is_unsigned ? "u8" : "s8") << ", threshold "
        << ThreeDigits(calibration_.threshold) << " of " << ThreeDigits(histogram_.largest())
        << ", " << SvgEscaped(PercentText(SaturatedShare(histogram_, calibration_.threshold)))
        << " saturated</text>\n";
    DrawBars(out);
    DrawAxis(out);
    DrawThreshold(out);
  }

 private:
  static constexpr double kWidth = 2.0 * kBars;
  double bottom() const { return y_ + kPanelHeight - kFoot; }
  double height() const { return kPanelHeight - kHead - kFoot; }
  double X(double magnitude) const {
    return x_ + kWidth * std::min(1.0, magnitude / histogram_.largest());
  }

  /// Counts of as many even parts of 0 to the largest magnitude as there are bars.
  std::vector<double> Counts() const {
    std::vector<double> counts(kBars, 0);
    const int used = histogram_.used_bins();
    for (int i = 0; i < used; ++i) {
      counts[size_t(i) * kBars / used] += double(histogram_.bins()[i]);
    }
    return counts;
  }

  void DrawBars(std::ostream& out) const {
    const std::vector<double> counts = Counts();
    const double most = *std::max_element(counts.begin(), counts.end());
    for (int i = 0; i < kBars; ++i) {
      if (counts[i] <= 0) continue;
      const double tall = height() * std::log1p(counts[i]) / std::log1p(most);
      const double middle = (i + 0.5) / kBars * histogram_.largest();
      out << "<rect x=\"" << x_ + 2 * i << "\" y=\"" << bottom() - tall
          << "\" width=\"2\" height=\"" << tall << "\" fill=\""
          << (middle > calibration_.threshold ? kSaturated : kKept) << "\"/>\n";
    }
  }

  void DrawAxis(std::ostream& out) const {
    out << "<line x1=\"" << x_ << "\" x2=\"" << x_ + kWidth << "\" y1=\"" << bottom() << "\" y2=\""
        << bottom() << "\" stroke=\"black\" stroke-opacity=\"0.4\"/>\n";
    for (int part = 0; part <= 2; ++part) {
      const char* anchors[] = {"start", "middle", "end"};
      out << "<text x=\"" << x_ + kWidth * part / 2 << "\" y=\"" << bottom() + 13
          << "\" font-size=\"10\" text-anchor=\"" << anchors[part] << "\">"
          << ThreeDigits(histogram_.largest() * part / 2) << "</text>\n";
    }
  }

  void DrawThreshold(std::ostream& out) const {
    const double x = X(calibration_.threshold);
    out << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"" << y_ + kHead - 2 << "\" y2=\""
        << bottom() + 3 << "\" stroke=\"" << kSaturated << "\" stroke-dasharray=\"4 3\"/>\n";
  }

  const std::string& blob_;
  const BlobCalibration& calibration_;
  const Histogram& histogram_;
  const double x_, y_;
};

}  // namespace

std::string HistogramsAsSvg(const CalibrationTable& table, const ActivationStatistics& statistics,
                            const std::string& title) {
  std::ostringstream panels;
  int drawn = 0;
  for (const std::string& blob : table.blobs()) {
    const BlobStatistics* seen = statistics.Find(blob);
    if (!seen || seen->histogram.used_bins() == 0) continue;
    Panel(blob, table.At(blob), seen->histogram, drawn % kColumns * kPanelWidth,
          kTop + drawn / kColumns * kPanelHeight)
        .Draw(panels);
    ++drawn;
  }
  const int height = kTop + (drawn + kColumns - 1) / kColumns * kPanelHeight + kBottom;
  return SvgBegin(kColumns * kPanelWidth, height, title) + panels.str() +
         Join("<text x=\"10\" y=\"", height - 10,
              "\" font-size=\"11\">|x| without zeros, counts on a logarithmic axis; dashed: the "
              "threshold, red: what saturates.</text>\n</svg>\n");
}

}  // namespace caffe
