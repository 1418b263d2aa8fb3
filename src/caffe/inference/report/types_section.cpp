#include <algorithm>
#include <map>

#include "caffe/util/text/text_table.hpp"
#include "format.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace caffe::inference {
namespace {

constexpr size_t kColours = 8;  // k0 to k7 of the style sheet; the last one is for all others
constexpr char kOthers[] = "others";

using TypeTimes = std::map<std::string, double>;  // microseconds by type

TypeTimes TimesOf(const EngineResult& engine) {
  TypeTimes times;
  for (const LayerInfo& layer : engine.layers) times[layer.type] += layer.microseconds;
  return times;
}

double Sum(const TypeTimes& times) {
  double sum = 0;
  for (const auto& time : times) sum += time.second;
  return sum;
}

/// Types that have a colour of their own, those that take longest in the first engine first.
std::vector<std::string> LongestTypes(const TypeTimes& times) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& time : times) sorted.emplace_back(-time.second, time.first);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> types;
  for (size_t i = 0; i < sorted.size() && i + 1 < kColours; ++i) types.push_back(sorted[i].second);
  return types;
}

std::string Colour(size_t i) { return "k" + std::to_string(i); }

std::string Part(const std::string& type, size_t colour, double time, double of, double longest) {
  if (time <= 0) return "";
  const std::string style = Formatted("width:%.2f%%", 100 * time / longest);
  const std::string tip =
      type + ": " + Short(time) + " us, " + Short(100 * time / of) + " % of the pass";
  return Tag("i",
             Attribute("class", Colour(colour)) + " " + Attribute("style", style) + " " +
                 Attribute("title", tip),
             "");
}

std::string Stack(const EngineResult& engine, const std::vector<std::string>& types,
                  double longest) {
  TypeTimes times = TimesOf(engine);
  const double sum = Sum(times);
  std::string parts;
  for (size_t i = 0; i < types.size(); ++i) {
    parts += Part(types[i], i, times[types[i]], sum, longest);
    times.erase(types[i]);
  }
  parts += Part(kOthers, kColours - 1, Sum(times), sum, longest);
  return Tag("span", Attribute("class", "chip " + engine.name), SvgEscaped(engine.name)) +
         Tag("div", "class=\"stack\"", parts) + Tag("span", Short(sum / 1000) + " ms") + "\n";
}

std::string Legend(const std::vector<std::string>& types) {
  std::string legend;
  for (size_t i = 0; i < types.size(); ++i) {
    legend += Tag("span", Tag("i", Attribute("class", Colour(i)), "") + SvgEscaped(types[i]));
  }
  return Tag(
      "div", "class=\"legend\"",
      legend + Tag("span", Tag("i", Attribute("class", Colour(kColours - 1)), "") + kOthers));
}

}  // namespace

std::string TypesSection(const BuildReport& report) {
  double longest = 0;
  for (const EngineResult& engine : report.engines) {
    longest = std::max(longest, Sum(TimesOf(engine)));
  }
  if (longest <= 0) return Tag("p", "class=\"note\"", "The layers were not timed.");
  const std::vector<std::string> types = LongestTypes(TimesOf(report.engines[0]));
  std::string stacks;
  for (const EngineResult& engine : report.engines) stacks += Stack(engine, types, longest);
  return Tag("div", "class=\"stacks\"", stacks) + Legend(types);
}

}  // namespace caffe::inference
