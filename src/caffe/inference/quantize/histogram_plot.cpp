// The plot of a calibration.
#include <algorithm>
#include <cmath>

#include "caffe/inference/quantize/calibration_report.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/util/plot/svg.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe {
namespace {

constexpr int kColumns = 3, kPanelWidth = 356, kPanelHeight = 186;
constexpr int kTop = 36;               // of the whole plot
constexpr int kLeft = 44;              // of the bars of a panel: labels of the counts
constexpr int kHead = 34, kFoot = 40;  // above and below them: names, the axis
constexpr int kBars = 146;             // two pixels each
constexpr size_t kMaxLetters = 42;     // of a blob's name

const char kKept[] = "#2f6f9f";
const char kSaturated[] = "#c0392b";

std::string Swatch(const char* color) {
  return std::string("<rect x=\"3\" width=\"10\" height=\"10\" fill=\"") + color + "\"/>";
}

/// One blob's histogram in a box whose upper left corner is (x, y).
class Panel {
 public:
  Panel(const std::string& blob, const BlobCalibration& calibration, const Histogram& histogram,
        int x, int y)
      : blob_(blob), calibration_(calibration), histogram_(histogram), x_(x + kLeft), y_(y) {}

  void Draw(std::ostream& out) const {
    out << SvgText(x_, y_ + 13, "font-weight=\"bold\"", blob_, kMaxLetters) << "<text x=\"" << x_
        << "\" y=\"" << y_ + 27 << "\" font-size=\"10\">"
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
    DrawCounts(most, out);
    for (int i = 0; i < kBars; ++i) {
      if (counts[i] <= 0) continue;
      const double tall = Height(counts[i], most);
      const double middle = (i + 0.5) / kBars * histogram_.largest();
      out << "<rect x=\"" << x_ + 2 * i << "\" y=\"" << bottom() - tall
          << "\" width=\"2\" height=\"" << tall << "\" fill=\""
          << (middle > calibration_.threshold ? kSaturated : kKept) << "\"/>\n";
    }
  }

  /// Of a bar: a logarithmic axis on which 0 has a place.
  double Height(double count, double most) const {
    return height() * std::log1p(count) / std::log1p(most);
  }

  /// The axis of counts: powers of ten, as many as there is room for.
  void DrawCounts(double most, std::ostream& out) const {
    const int decades = static_cast<int>(std::log10(std::max(1.0, most)));
    const int step = 1 + decades / 5;
    for (int decade = 0; decade <= decades; decade += step) {
      const double y = bottom() - Height(std::pow(10.0, decade), most);
      out << "<line x1=\"" << x_ - 3 << "\" x2=\"" << x_ + kWidth << "\" y1=\"" << y << "\" y2=\""
          << y << "\" stroke=\"black\" stroke-opacity=\"0.12\"/>\n"
          << "<text x=\"" << x_ - 6 << "\" y=\"" << y + 3
          << "\" font-size=\"10\" text-anchor=\"end\">"
          << (decade < 4 ? std::to_string(std::lround(std::pow(10.0, decade)))
                         : "1e" + std::to_string(decade))
          << "</text>\n";
    }
    out << "<text font-size=\"10\" fill=\"#667585\" text-anchor=\"middle\" transform=\"translate("
        << x_ - kLeft + 11 << ',' << bottom() - height() / 2 << ") rotate(-90)\">count</text>\n";
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
    out << "<text x=\"" << x_ + kWidth / 2 << "\" y=\"" << bottom() + 25
        << "\" font-size=\"10\" fill=\"#667585\" text-anchor=\"middle\">|x|</text>\n";
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
  constexpr int kWidth = kColumns * kPanelWidth;
  const SvgLegend legend(
      {{Swatch(kKept), "values below the threshold"},
       {Swatch(kSaturated), "values that saturate"},
       {Join("<line x1=\"8\" x2=\"8\" y2=\"10\" stroke=\"", kSaturated,
             "\" stroke-dasharray=\"4 3\"/>"),
        "threshold: the largest |x| that INT8 holds"},
       {"", "|x|: magnitudes without zeros; count: values in each bar, logarithmic"}},
      10, kTop, kWidth - 20);
  const int top = kTop + static_cast<int>(legend.height) + 8;
  StringWriter panels;
  int drawn = 0;
  for (const std::string& blob : table.blobs()) {
    const BlobStatistics* seen = statistics.Find(blob);
    if (!seen || seen->histogram.used_bins() == 0) continue;
    Panel(blob, table.At(blob), seen->histogram, drawn % kColumns * kPanelWidth,
          top + drawn / kColumns * kPanelHeight)
        .Draw(panels);
    ++drawn;
  }
  const int height = top + (drawn + kColumns - 1) / kColumns * kPanelHeight;
  return SvgBegin(kWidth, height, title) + legend.svg + panels.str() + "</svg>\n";
}

}  // namespace caffe
