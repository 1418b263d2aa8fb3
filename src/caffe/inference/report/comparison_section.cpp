#include <algorithm>

#include "caffe/util/text/text_table.hpp"
#include "format.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace caffe::inference {
namespace {

using Measured = std::optional<double>;

Measured IfPositive(double value) { return value > 0 ? Measured(value) : std::nullopt; }

std::string InPercent(double share) { return Formatted("%.2f %%", 100 * share); }

std::string InBytes(double bytes) { return BytesText(static_cast<size_t>(bytes)); }

/// How a value relates to the first engine's.
std::string Times(double value, double first) { return Short(value / first) + " x"; }
std::string Points(double value, double first) {
  return Formatted("%+.2f points", 100 * (value - first));
}
std::string Nothing(double, double) { return ""; }

struct Column {
  std::string header;
  std::string tip;  ///< what the number is
  Measured (*value)(const EngineResult&);
  std::string (*text)(double);
  std::string (*relation)(double, double);
  bool more_is_better;
};

constexpr char kOutputError[] =
    "The output error is the root mean square of the differences from the FLOAT engine's output, "
    "over the root mean square of that output, on the same inputs: 0 is equal, 0.01 is 1 %. Of "
    "several outputs it is the worst one's. Of detections it is the share of boxes that have no "
    "partner on the other side: same class, overlap of 0.9 or more, scores within 0.02.";

std::vector<Column> Columns(const BuildReport& report) {
  const EngineResult& first = report.engines[0];
  return {
      {"latency, batch " + std::to_string(first.latency_batch), "median time of a pass",
       [](const EngineResult& e) { return IfPositive(e.latency_ms); },
       [](double ms) { return Short(ms) + " ms"; }, Times, false},
      {"images/s, batch " + std::to_string(first.batch), "throughput of passes one after the other",
       [](const EngineResult& e) { return IfPositive(e.images_per_second); }, Short, Times, true},
      {"images/joule", "by the energy counters of the processor packages",
       [](const EngineResult& e) { return e.images_per_joule; }, Short, Times, true},
      {report.accuracy_of.empty() ? "accuracy" : report.accuracy_of,
       "share of images whose label has the largest score",
       [](const EngineResult& e) { return e.accuracy; }, InPercent, Points, true},
      {"output error", kOutputError, [](const EngineResult& e) { return e.output_error; },
       [](double error) { return Short(error); }, Nothing, false},
      {"plan", "size of the plan file",
       [](const EngineResult& e) { return IfPositive(double(e.plan_bytes)); }, InBytes, Times,
       false},
      {"weights", "memory of parameters, once for all contexts",
       [](const EngineResult& e) { return IfPositive(double(e.weight_bytes)); }, InBytes, Times,
       false},
      {"activations", "memory of each context",
       [](const EngineResult& e) { return IfPositive(double(e.activation_bytes)); }, InBytes, Times,
       false},
  };
}

std::string Cell(const Column& column, const BuildReport& report, const EngineResult& engine) {
  const Measured value = column.value(engine), first = column.value(report.engines[0]);
  if (!value) return Tag("td", "class=\"number small\" title=\"not measured\"", "\u2013");
  double most = 0, best = *value, worst = *value;
  for (const EngineResult& other : report.engines) {
    const Measured its = column.value(other);
    if (!its) continue;
    most = std::max(most, *its);
    best = column.more_is_better ? std::max(best, *its) : std::min(best, *its);
    worst = column.more_is_better ? std::min(worst, *its) : std::max(worst, *its);
  }
  const bool is_best = *value == best && best != worst;
  std::string content =
      Tag("span", is_best ? "class=\"good\"" : "", SvgEscaped(column.text(*value)));
  if (first && &engine != &report.engines[0]) {
    content += " " + Tag("span", "class=\"small\"", column.relation(*value, *first));
  }
  return Tag("td", "class=\"number\"", content + Bar(most > 0 ? *value / most : 0, engine.name));
}

std::string Remarks(const BuildReport& report) {
  std::string lists;
  for (const EngineResult& engine : report.engines) {
    if (engine.remarks.empty()) continue;
    std::string items;
    for (const std::string& remark : engine.remarks) items += Tag("li", SvgEscaped(remark));
    const size_t count = engine.remarks.size();
    lists += Tag("details",
                 Tag("summary", SvgEscaped(engine.name) + ": " + std::to_string(count) +
                                    (count == 1 ? " remark" : " remarks") + " of the builder") +
                     Tag("ul", items));
  }
  return lists;
}

}  // namespace

std::string ComparisonSection(const BuildReport& report) {
  std::vector<Column> columns;
  for (const Column& column : Columns(report)) {
    const auto known = [&](const EngineResult& engine) { return column.value(engine).has_value(); };
    if (std::any_of(report.engines.begin(), report.engines.end(), known)) {
      columns.push_back(column);
    }
  }
  std::string head = Tag("th", "precision"), rows;
  bool has_error = false;
  for (const Column& column : columns) {
    head += Tag("th", Attribute("title", column.tip), SvgEscaped(column.header));
    has_error = has_error || column.tip == kOutputError;
  }
  for (const EngineResult& engine : report.engines) {
    std::string cells =
        Tag("td", Tag("span", Attribute("class", "chip " + engine.name), SvgEscaped(engine.name)));
    for (const Column& column : columns) cells += Cell(column, report, engine);
    rows += Tag("tr", cells) + "\n";
  }
  return Tag("div", "class=\"scroll\"",
             Tag("table", Tag("thead", Tag("tr", head)) + Tag("tbody", rows))) +
         (has_error ? Tag("p", "class=\"note below\"", kOutputError) : "") + Remarks(report);
}

}  // namespace caffe::inference
