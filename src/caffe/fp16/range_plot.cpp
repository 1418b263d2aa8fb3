// The plot of a net's ranges.
#include <algorithm>
#include <cmath>

#include "caffe/fp16/range_report.hpp"
#include "caffe/util/plot/svg.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {
namespace {

constexpr int kRow = 18, kRight = 40;
constexpr int kTitle = 36, kAxis = 36;  // heights: of the title, of an axis with its ticks
constexpr int kMargin = 10;
constexpr double kOctave = 11;  // pixels
constexpr double kCharacter = 6.6;
constexpr size_t kMaxLetters = 56;  // of a row's name

const char kNormal[] = "#e4f3e6";
const char kSubnormal[] = "#fff3cf";
const char kOutside[] = "#fbe0de";
const char kFits[] = "#2f6f9f";
const char kOverflows[] = "#c0392b";

class Plot {
 public:
  Plot(const RangeInspector& inspector, const std::string& title)
      : inspector_(inspector), title_(title) {
    FindExtents();
  }

  std::string Draw() {
    const int width = static_cast<int>(X(high_)) + kRight;
    const SvgLegend legend(Keys(), kMargin, kTitle, width - 2 * kMargin);
    top_ = kTitle + legend.height + kAxis + 20;
    out_ << SvgBegin(width, static_cast<int>(plot_bottom()) + kAxis + kMargin, title_)
         << legend.svg;
    DrawBands();
    DrawRegions();
    DrawRows();
    DrawAxes();
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  void FindExtents() {
    size_t longest = 10;
    for (const LayerRange& layer : inspector_.layers()) {
      for (const BlobRange& top : layer.tops) {
        ++rows_;
        longest = std::max(longest, std::min(kMaxLetters, Label(layer, top).size()));
        Include(top.magnitudes.largest());
        Include(top.magnitudes.smallest_nonzero());
      }
      Include(layer.LargestInside());
    }
    left_ = 16 + kCharacter * double(longest);
  }
  // Extents of the axis, in octaves; values below FP16's by far are cut off.
  void Include(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    low_ = std::max(-40.0, std::min(low_, std::floor(std::log2(value))));
    high_ = std::min(127.0, std::max(high_, std::ceil(std::log2(value)) + 1));
  }
  static std::string Label(const LayerRange& layer, const BlobRange& top) {
    return layer.name == top.name ? layer.name : layer.name + " > " + top.name;
  }
  double X(double octave) const {
    return left_ + kOctave * (std::clamp(octave, low_, high_) - low_);
  }
  double XOf(double value) const { return X(std::log2(value)); }
  double plot_bottom() const { return top_ + rows_ * kRow; }

  void Band(double from, double to, const char* color) {
    out_ << "<rect x=\"" << X(from) << "\" y=\"" << top_ << "\" width=\"" << X(to) - X(from)
         << "\" height=\"" << rows_ * kRow << "\" fill=\"" << color << "\"/>\n";
  }
  void DrawBands() {
    const double largest = std::log2(kLargestFloat16);
    Band(low_, -24, kOutside);
    Band(-24, -14, kSubnormal);
    Band(-14, largest, kNormal);
    Band(largest, high_, kOutside);
  }

  // A bar next to the rows whose blobs leave the range.
  void DrawRegions() {
    int row = 0;
    for (const LayerRange& layer : inspector_.layers()) {
      for (const BlobRange& top : layer.tops) {
        if (top.magnitudes.ShareAbove() > 0) {
          out_ << "<rect x=\"4\" y=\"" << top_ + row * kRow << "\" width=\"5\" height=\"" << kRow
               << "\" fill=\"" << kOverflows << "\"/>\n";
        }
        ++row;
      }
    }
  }

  void DrawRows() {
    int row = 0;
    for (const LayerRange& layer : inspector_.layers()) {
      for (const BlobRange& top : layer.tops) DrawRow(layer, top, top_ + kRow * row++);
    }
  }

  void DrawRow(const LayerRange& layer, const BlobRange& top, double y) {
    const Magnitudes& magnitudes = top.magnitudes;
    const bool overflows = magnitudes.ShareAbove() > 0;
    const char* color = overflows ? kOverflows : kFits;
    const double middle = y + kRow / 2.0;
    out_ << SvgText(left_ - 6, middle + 4,
                    Join("text-anchor=\"end\" font-family=\"monospace\" font-size=\"11\"",
                         overflows ? Join(" fill=\"", kOverflows, "\"") : ""),
                    Label(layer, top), kMaxLetters);
    if (magnitudes.largest() > 0) {
      Line(XOf(magnitudes.smallest_nonzero()), XOf(magnitudes.largest()), middle, 2, color);
      const double from = XOf(magnitudes.Quantile(0.01));
      const double to = std::min(XOf(2 * magnitudes.Quantile(0.99)), XOf(magnitudes.largest()));
      out_ << "<rect x=\"" << from << "\" y=\"" << middle - 4 << "\" width=\""
           << std::max(1.0, to - from) << "\" height=\"8\" fill=\"" << color << "\"><title>"
           << SvgEscaped(Label(layer, top)) << ": " << magnitudes.smallest_nonzero() << " to "
           << magnitudes.largest() << "</title></rect>\n";
    }
    const double inside = layer.LargestInside();
    if (inside > 0) {
      out_ << "<circle cx=\"" << XOf(inside) << "\" cy=\"" << middle
           << "\" r=\"3.5\" stroke-width=\"1.5\" fill=\"white\" stroke=\""
           << (inside > kLargestFloat16 ? kOverflows : kFits) << "\"/>\n";
    }
  }

  void Line(double from, double to, double y, int width, const char* color) {
    out_ << "<line x1=\"" << from << "\" x2=\"" << to << "\" y1=\"" << y << "\" y2=\"" << y
         << "\" stroke=\"" << color << "\" stroke-width=\"" << width << "\"/>\n";
  }

  /// Above and below the rows, so that one of them is at hand in a tall plot.
  void DrawAxes() {
    const double bottom = plot_bottom();
    for (int decade = static_cast<int>(std::ceil(low_ * std::log10(2.0)));
         decade <= high_ * std::log10(2.0); ++decade) {
      const double x = XOf(std::pow(10.0, decade));
      out_ << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"" << top_ - 4 << "\" y2=\""
           << bottom + 4 << "\" stroke=\"black\" stroke-opacity=\"0.15\"/>\n";
      for (const double y : {top_ - 8, bottom + 15}) {
        AxisText(x, y, 10, "#1d2733", Join("1e", decade));
      }
    }
    const double middle = (X(low_) + X(high_)) / 2;
    AxisText(middle, bottom + 31, 11, "#667585", "|x|, logarithmic");
    Limit(std::log2(kLargestFloat16), "largest 65504", kOverflows);
    Limit(-14, "normal from 6.1e-5", "#8a6d00");
    Limit(-24, "least 6e-8", kOverflows);
  }
  void Limit(double octave, const char* text, const char* color) {
    out_ << "<line x1=\"" << X(octave) << "\" x2=\"" << X(octave) << "\" y1=\"" << top_ - 20
         << "\" y2=\"" << plot_bottom() << "\" stroke=\"" << color
         << "\" stroke-dasharray=\"4 3\"/>\n";
    AxisText(X(octave), top_ - 25, 11, color, text);
  }
  void AxisText(double x, double y, int size, const char* color, const std::string& text) {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"middle\" font-size=\"" << size
         << "\" fill=\"" << color << "\">" << text << "</text>\n";
  }

  static std::vector<SvgKey> Keys() {
    const auto band = [](const char* color) {
      return Join("<rect width=\"16\" height=\"10\" fill=\"", color, "\" stroke=\"#ccc\"/>");
    };
    const std::string line =
        Join("<line x2=\"16\" y1=\"5\" y2=\"5\" stroke=\"", kFits, "\" stroke-width=\"2\"/>");
    return {
        {line, "|x| of a blob, smallest (not 0) to largest"},
        {Join("<rect y=\"1\" width=\"16\" height=\"8\" fill=\"", kFits, "\"/>"),
         "the middle 98 % of its values"},
        {Join("<circle cx=\"8\" cy=\"5\" r=\"3.5\" stroke-width=\"1.5\" fill=\"white\" stroke=\"",
              kFits, "\"/>"),
         "the largest held inside the layer"},
        {band(kNormal), "FP16: normal"},
        {band(kSubnormal), "subnormal, fewer digits"},
        {band(kOutside), "0 or infinite"},
        {Join("<rect x=\"4\" width=\"8\" height=\"10\" fill=\"", kOverflows, "\"/>"),
         "a blob that does not fit"}};
  }

  const RangeInspector& inspector_;
  const std::string title_;
  int rows_ = 0;
  double low_ = -26, high_ = 18;  // octaves
  double left_ = 0, top_ = 0;     // pixels, where the rows begin
  StringWriter out_;
};

}  // namespace

std::string RangesAsSvg(const RangeInspector& inspector, const std::string& title) {
  return Plot(inspector, title).Draw();
}

}  // namespace caffe
