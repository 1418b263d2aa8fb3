#include <algorithm>

#include "format.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace caffe::inference {
namespace {

/// "3" or "3 to 7"; "" of none.
template <typename T, typename F>
std::string FromTo(const std::vector<T>& values, F text) {
  if (values.empty()) return "";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least == *most ? text(*least) : text(*least) + " to " + text(*most);
}

std::string IntegersRowHtml(const std::string& name, const std::string& type,
                            const AffineParameters& affine,
                            const std::vector<kernels::Multiplier>& multipliers) {
  std::vector<int> values, shifts;
  std::vector<double> reals;
  std::string all;
  for (const kernels::Multiplier& multiplier : multipliers) {
    values.push_back(multiplier.value);
    shifts.push_back(multiplier.shift);
    reals.push_back(kernels::RealOf(multiplier));
    all += (all.empty() ? "" : ", ") + std::to_string(multiplier.value) + " (" +
           std::to_string(multiplier.shift) + ")";
  }
  const auto integer = [](int value) { return std::to_string(value); };
  std::string cells = Tag("td", SvgEscaped(name)) + Tag("td", SvgEscaped(type)) +
                      Tag("td", Short(affine.scale)) + Tag("td", integer(affine.zero_point)) +
                      Tag("td", FromTo(reals, [](double real) { return Short(real); })) +
                      Tag("td", Attribute("title", all), FromTo(values, integer)) +
                      Tag("td", FromTo(shifts, integer));
  return Tag("tr", cells) + "\n";
}

/// A sum that was fused into the layer has a row of its own.
std::string RowsHtml(const IntegerInfo& layer) {
  const auto& sum = layer.sum;
  const std::string row =
      IntegersRowHtml(layer.name, layer.type, sum ? sum->before : layer.affine, layer.multipliers);
  return sum ? row + IntegersRowHtml(sum->name, "Eltwise", layer.affine, sum->multipliers) : row;
}

}  // namespace

std::string IntegersSection(const BuildReport& report) {
  std::string content;
  for (const EngineResult& engine : report.engines) {
    std::string rows;
    for (const LayerInfo& layer : engine.layers) {
      for (const IntegerInfo& info : layer.in_integers) rows += RowsHtml(info);
    }
    if (rows.empty()) continue;
    const std::string head = Tag("tr", Tag("th", "layer") + Tag("th", "type") + Tag("th", "scale") +
                                           Tag("th", "zero point") + Tag("th", "sums times") +
                                           Tag("th", "as multipliers") + Tag("th", "and shifts"));
    content += Tag("details", Tag("summary", SvgEscaped(engine.name)) +
                                  Tag("div", "class=\"scroll\"",
                                      Tag("table", Tag("thead", head) + Tag("tbody", rows))));
  }
  if (content.empty()) return "";
  return Tag("section", "id=\"integers\"",
             Tag("h2", "Integers") +
                 Tag("p", "class=\"note\"",
                     "What the integers of each layer's output stand for, scale (q - zero point), "
                     "and what 32-bit sums of layers with weights are multiplied by: multiplier "
                     "2^(shift - 31), of the output channels from the least to the largest.") +
                 content);
}

}  // namespace caffe::inference
