// The picture of a net's ranges.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "caffe/fp16/range_report.hpp"
#include "caffe/util/svg.hpp"

namespace caffe {
namespace {

constexpr int kRow = 18, kTop = 64, kBottom = 58, kRight = 24;
constexpr double kOctave = 11;  // pixels
constexpr double kCharacter = 6.6;

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
    const int height = kTop + rows_ * kRow + kBottom;
    out_ << SvgBegin(width, height, title_);
    DrawBands();
    DrawRegions();
    DrawRows();
    DrawAxis();
    DrawLegend(height);
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  void FindExtents() {
    size_t longest = 10;
    for (const LayerRange& layer : inspector_.layers()) {
      for (const BlobRange& top : layer.tops) {
        ++rows_;
        longest = std::max(longest, Label(layer, top).size());
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
  double plot_bottom() const { return kTop + rows_ * kRow; }

  void Band(double from, double to, const char* color) {
    out_ << "<rect x=\"" << X(from) << "\" y=\"" << kTop << "\" width=\"" << X(to) - X(from)
         << "\" height=\"" << rows_ * kRow << "\" fill=\"" << color << "\"/>\n";
  }
  void DrawBands() {
    const double largest = std::log2(kLargestFloat16);
    Band(low_, -24, kOutside);
    Band(-24, -14, kSubnormal);
    Band(-14, largest, kNormal);
    Band(largest, high_, kOutside);
  }

  // A bar beside the rows whose blobs leave the range.
  void DrawRegions() {
    int row = 0;
    for (const LayerRange& layer : inspector_.layers()) {
      for (const BlobRange& top : layer.tops) {
        if (top.magnitudes.ShareAbove() > 0) {
          out_ << "<rect x=\"4\" y=\"" << kTop + row * kRow << "\" width=\"5\" height=\"" << kRow
               << "\" fill=\"" << kOverflows << "\"/>\n";
        }
        ++row;
      }
    }
  }

  void DrawRows() {
    int row = 0;
    for (const LayerRange& layer : inspector_.layers()) {
      for (const BlobRange& top : layer.tops) DrawRow(layer, top, kTop + kRow * row++);
    }
  }

  void DrawRow(const LayerRange& layer, const BlobRange& top, int y) {
    const Magnitudes& magnitudes = top.magnitudes;
    const bool overflows = magnitudes.ShareAbove() > 0;
    const char* color = overflows ? kOverflows : kFits;
    const double middle = y + kRow / 2.0;
    out_ << "<text x=\"" << left_ - 6 << "\" y=\"" << middle + 4
         << "\" text-anchor=\"end\" font-family=\"monospace\" font-size=\"11\""
         << (overflows ? Join(" fill=\"", kOverflows, "\"") : "") << '>'
         << SvgEscaped(Label(layer, top)) << "</text>\n";
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

  void DrawAxis() {
    const double bottom = plot_bottom();
    for (int decade = static_cast<int>(std::ceil(low_ * std::log10(2.0)));
         decade <= high_ * std::log10(2.0); ++decade) {
      const double x = XOf(std::pow(10.0, decade));
      out_ << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"" << kTop << "\" y2=\""
           << bottom + 4 << "\" stroke=\"black\" stroke-opacity=\"0.15\"/>\n"
           << "<text x=\"" << x << "\" y=\"" << bottom + 17
           << "\" text-anchor=\"middle\" font-size=\"10\">1e" << decade << "</text>\n";
    }
    Limit(std::log2(kLargestFloat16), "65504", kOverflows);
    Limit(-14, "6.1e-5 (normal)", "#8a6d00");
    Limit(-24, "6e-8", kOverflows);
  }
  void Limit(double octave, const char* text, const char* color) {
    out_ << "<line x1=\"" << X(octave) << "\" x2=\"" << X(octave) << "\" y1=\"" << kTop - 4
         << "\" y2=\"" << plot_bottom() << "\" stroke=\"" << color
         << "\" stroke-dasharray=\"4 3\"/>\n"
         << "<text x=\"" << X(octave) << "\" y=\"" << kTop - 8
         << "\" text-anchor=\"middle\" font-size=\"11\" fill=\"" << color << "\">" << text
         << "</text>\n";
  }

  void DrawLegend(int height) {
    out_ << "<text x=\"10\" y=\"" << height - 24 << "\" font-size=\"11\">|x| per blob: line from "
         << "the smallest (not 0) to the largest, bar the middle 98 %, circle the largest held "
         << "inside the layer.</text>\n"
         << "<text x=\"10\" y=\"" << height - 9 << "\" font-size=\"11\">green: normal in FP16, "
         << "yellow: subnormal, red: out of range.</text>\n";
  }

  const RangeInspector& inspector_;
  const std::string title_;
  int rows_ = 0;
  double low_ = -26, high_ = 18;  // octaves
  double left_ = 0;               // pixels, where the axis begins
  std::ostringstream out_;
};

}  // namespace

std::string RangesAsSvg(const RangeInspector& inspector, const std::string& title) {
  return Plot(inspector, title).Draw();
}

}  // namespace caffe
