#include <algorithm>
#include <list>
#include <map>

#include "caffe/util/text/listed.hpp"
#include "format.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace caffe::inference {
namespace {

/// A layer in each of the engines; null where an engine has none of that name.
using LayerRow = std::vector<const LayerInfo*>;

/// Layers in the order of the first engine; further layers of others are inserted where they run.
std::list<LayerRow> RowsOf(const std::vector<EngineResult>& engines) {
  std::list<LayerRow> rows;
  std::map<std::string, std::list<LayerRow>::iterator> row_of;
  for (size_t e = 0; e < engines.size(); ++e) {
    auto next = rows.begin();  // after the engine's previous layer
    for (const LayerInfo& layer : engines[e].layers) {
      auto known = row_of.find(layer.name);
      if (known == row_of.end()) {
        const auto added = rows.insert(next, LayerRow(engines.size(), nullptr));
        known = row_of.emplace(layer.name, added).first;
      }
      (*known->second)[e] = &layer;
      next = std::next(known->second);
    }
  }
  return rows;
}

double LongestTime(const std::vector<EngineResult>& engines) {
  double longest = 0;
  for (const EngineResult& engine : engines) {
    for (const LayerInfo& layer : engine.layers) longest = std::max(longest, layer.microseconds);
  }
  return longest;
}

std::string NameCell(const LayerInfo& layer) {
  std::string content = SvgEscaped(layer.name);
  if (!layer.also.empty()) {
    content += Tag("div", "class=\"small\"", "with " + SvgEscaped(Listed(layer.also)));
  }
  return Tag("td",
             "class=\"name\" " + Attribute("data-name", layer.name) + " " +
                 Attribute("data-key", layer.name),
             content);
}

std::string Small(const std::string& text) {
  return Tag("span", "class=\"small\"", SvgEscaped(text));
}

/// The layer of the engine that computes this one, too; "": none does.
std::string JoinedInto(const EngineResult& engine, const std::string& name) {
  for (const LayerInfo& layer : engine.layers) {
    if (std::count(layer.joined.begin(), layer.joined.end(), name) > 0) return layer.name;
  }
  return "";
}

/// Where an engine has no layer of that name.
std::string EmptyCell(const EngineResult& engine, const std::string& name) {
  const std::string into = JoinedInto(engine, name);
  return Tag("td", "class=\"number\" data-key=\"-1\"", into.empty() ? "" : Small("in " + into));
}

std::string TimeCell(const LayerInfo* layer, double longest) {
  const std::string look = LookOf(layer->type_of_math);
  const bool timed = layer->microseconds > 0;
  const std::string how =
      Tag("span", Attribute("class", "chip " + look), layer->integers ? "integers" : look) + " " +
      Small(layer->implementation +
            (layer->joined.empty() ? "" : ", with " + Listed(layer->joined)));
  return Tag("td", "class=\"number\" " + Attribute("data-key", std::to_string(layer->microseconds)),
             (timed ? Short(layer->microseconds) : "") + how +
                 (timed ? Bar(layer->microseconds / longest, look) : ""));
}

std::string LayerRowHtml(const LayerRow& row, const std::vector<EngineResult>& engines,
                         double longest) {
  const LayerInfo& any = **std::find_if(row.begin(), row.end(), [](auto* layer) { return layer; });
  std::string cells =
      NameCell(any) + Tag("td", Attribute("data-key", any.type), SvgEscaped(any.type));
  for (size_t e = 0; e < row.size(); ++e) {
    cells += row[e] ? TimeCell(row[e], longest) : EmptyCell(engines[e], any.name);
  }
  return Tag("tr", cells) + "\n";
}

}  // namespace

std::string LayersSection(const BuildReport& report) {
  std::string head = Tag("th", "layer") + Tag("th", "type"), body;
  for (const EngineResult& engine : report.engines) {
    head += Tag("th", "data-numbers=\"yes\"", SvgEscaped(engine.name));
  }
  const double longest = LongestTime(report.engines);
  for (const LayerRow& row : RowsOf(report.engines))
    body += LayerRowHtml(row, report.engines, longest);
  return Tag("table", "class=\"layers\"", Tag("thead", Tag("tr", head)) + Tag("tbody", body));
}

}  // namespace caffe::inference
