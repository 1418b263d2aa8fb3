#include "caffe/util/plot/svg.hpp"
#include "caffe/util/string_stream.hpp"

#include <algorithm>

namespace caffe {

std::string SvgEscaped(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\t':
      case '\n':
        escaped += c;
        break;
      default:
        // XML has no control characters.
        escaped += static_cast<unsigned char>(c) < 0x20 ? "\uFFFD" : std::string(1, c);
    }
  }
  return escaped;
}

namespace {

constexpr double kTitleLetter = 8.8, kLegendLetter = 6.0;  // pixels, generously

/// The first byte of the letter (UTF-8) that byte i belongs to.
size_t LetterAt(const std::string& text, size_t i) {
  while (i > 0 && i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) --i;
  return i;
}

}  // namespace

std::string ShortenedInTheMiddle(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t behind = text.size() - (most - 3) / 2;
  while (behind < text.size() && LetterAt(text, behind) != behind) ++behind;
  return text.substr(0, LetterAt(text, (most - 2) / 2)) + "..." + text.substr(behind);
}

std::string SvgText(double x, double y, const std::string& attributes, const std::string& text,
                    size_t most) {
  StringWriter out;
  out << "<text x=\"" << x << "\" y=\"" << y << "\"" << (attributes.empty() ? "" : " ")
      << attributes << '>';
  const std::string shown = ShortenedInTheMiddle(text, most);
  if (shown != text) out << "<title>" << SvgEscaped(text) << "</title>";
  out << SvgEscaped(shown) << "</text>\n";
  return out.str();
}

std::string SvgBegin(int width, int height, const std::string& title) {
  StringWriter out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
      << "\" viewBox=\"0 0 " << width << ' ' << height
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
      << "<rect width=\"" << width << "\" height=\"" << height << "\" fill=\"white\"/>\n"
      << SvgText(10, 22, "font-size=\"15\" font-weight=\"bold\"", title,
                 static_cast<size_t>(std::max(8.0, (width - 20) / kTitleLetter)));
  return out.str();
}

SvgLegend::SvgLegend(const std::vector<SvgKey>& keys, double x, double y, double width) {
  constexpr double kLine = 16, kMark = 16, kGap = 6, kApart = 18;
  StringWriter out;
  double right = 0;
  height = keys.empty() ? 0 : kLine;
  for (const SvgKey& key : keys) {
    const double wide = kMark + kGap + kLegendLetter * double(key.text.size());
    if (right > 0 && right + wide > width) {
      right = 0;
      height += kLine;
    }
    const double top = y + height - kLine;
    out << "<g transform=\"translate(" << x + right << ',' << top << ")\">" << key.mark << "</g>"
        << SvgText(x + right + kMark + kGap, top + 9, "font-size=\"11\"", key.text,
                   key.text.size());
    right += wide + kApart;
  }
  svg = out.str();
}

}  // namespace caffe
