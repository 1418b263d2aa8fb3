#include "caffe/inference/results.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "caffe/error.hpp"
#include "caffe/util/label_map.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/json.hpp"
#include "caffe/util/text/letters.hpp"
#include "caffe/util/text/text_table.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe::inference {
namespace {

constexpr int kColumns = 7;

bool ArePartners(const Detection& a, const Detection& b) {
  return a.item == b.item && a.label == b.label && std::abs(a.score - b.score) <= 0.02f &&
         Overlap(a, b) >= 0.9;
}

/// How many of `boxes` with a score of `least` or more have no partner among `others`, which are
/// each a partner once.
int Unmatched(const std::vector<Detection>& boxes, const std::vector<Detection>& others,
              float least) {
  std::vector<bool> taken(others.size(), false);
  int unmatched = 0;
  for (const Detection& box : boxes) {
    if (box.score < least) continue;
    size_t partner = 0;
    while (partner < others.size() && (taken[partner] || !ArePartners(box, others[partner]))) {
      ++partner;
    }
    if (partner < others.size()) {
      taken[partner] = true;
    } else {
      ++unmatched;
    }
  }
  return unmatched;
}

int CountFrom(const std::vector<Detection>& boxes, float least) {
  return static_cast<int>(std::count_if(boxes.begin(), boxes.end(),
                                        [&](const Detection& b) { return b.score >= least; }));
}

}  // namespace

std::vector<Ranked> TopOf(const float* scores, size_t count, int k) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  const auto value = [scores](int i) { return std::isnan(scores[i]) ? -INFINITY : scores[i]; };
  const size_t kept = std::min(count, static_cast<size_t>(std::max(k, 0)));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), [&](int a, int b) {
    return value(a) != value(b) ? value(a) > value(b) : a < b;
  });
  std::vector<Ranked> top;
  for (size_t i = 0; i < kept; ++i) top.push_back({order[i], scores[order[i]]});
  return top;
}

std::vector<Detection> DetectionsOf(const NamedTensor& output, float least_score) {
  std::vector<Detection> detections;
  for (size_t row = 0; row + kColumns <= output.values.size(); row += kColumns) {
    const float* r = output.values.data() + row;
    if (r[1] < 0 || !(r[2] >= least_score)) continue;
    detections.push_back(
        {static_cast<int>(r[0]), static_cast<int>(r[1]), r[2], r[3], r[4], r[5], r[6]});
  }
  return detections;
}

double Overlap(const Detection& a, const Detection& b) {
  const auto area = [](const Detection& box) {
    return std::max(0.0, double(box.xmax) - box.xmin) * std::max(0.0, double(box.ymax) - box.ymin);
  };
  const Detection common = {0,
                            0,
                            0,
                            std::max(a.xmin, b.xmin),
                            std::max(a.ymin, b.ymin),
                            std::min(a.xmax, b.xmax),
                            std::min(a.ymax, b.ymax)};
  const double both = area(common), together = area(a) + area(b) - both;
  return together > 0 ? both / together : 0;
}

double UnmatchedShare(const NamedTensor& expected, const NamedTensor& actual, float least_score) {
  const std::vector<Detection> a = DetectionsOf(expected, -INFINITY);
  const std::vector<Detection> b = DetectionsOf(actual, -INFINITY);
  const int boxes = CountFrom(a, least_score) + CountFrom(b, least_score);
  if (boxes == 0) return 0;
  return double(Unmatched(a, b, least_score) + Unmatched(b, a, least_score)) / boxes;
}

ClassNames::ClassNames(const std::string& file) : source_(file) {
  if (EndsWith(file, ".prototxt") || EndsWith(file, ".pbtxt")) {
    std::map<int, std::string> names;
    Require(MapLabelToDisplayName(ReadLabelMap(file), true, &names), Error::File{file},
            ": a label is there twice");
    for (const auto& name : names) {
      Require(name.first >= 0 && name.first < 1000000, Error::File{file}, ": label ", name.first);
      if (size_t(name.first) >= names_.size()) names_.resize(name.first + 1);
      names_[name.first] = name.second;
    }
  } else {
    StringReader lines(ReadTextFile(file));
    for (std::string line; std::getline(lines, line);) {
      line.erase(line.find_last_not_of(" \t\r") + 1);
      names_.push_back(line);
    }
  }
  Require(!names_.empty(), Error::File{file}, ": it names no classes");
}

std::string ClassNames::Of(int label) const {
  return label >= 0 && size_t(label) < names_.size() ? names_[label] : "";
}

void ClassNames::RequireFor(const std::string& output, int classes) const {
  Require(empty() || names_.size() >= size_t(classes), Error::File{source_}, ": it names ",
          names_.size(), " classes, output '", output, "' has ", classes);
}

NamedTensor ItemOf(const Engine& engine, const std::string& output, const NamedTensor& batch,
                   int item) {
  if (IsDetections(engine, output)) {
    NamedTensor rows{{1, 1, 0, kColumns}, {}};
    for (const Detection& d : DetectionsOf(batch, -INFINITY)) {
      if (d.item != item) continue;
      ++rows.shape[2];
      rows.values.insert(rows.values.end(),
                         {0, static_cast<float>(d.label), d.score, d.xmin, d.ymin, d.xmax, d.ymax});
    }
    return rows;
  }
  const Shape& largest = engine.graph()->values[engine.graph()->FindValue(output)].shape;
  const bool has_items = !largest.empty() && largest[0] == BatchOf(*engine.graph());
  if (!has_items || batch.shape.empty() || batch.shape[0] <= item) return batch;
  NamedTensor one{{batch.shape.begin() + 1, batch.shape.end()}, {}};
  const size_t count = CountOf(one.shape);
  one.values.assign(batch.values.begin() + item * count, batch.values.begin() + (item + 1) * count);
  return one;
}

struct Results::Item {
  std::string name;
  Tensors outputs;
};

namespace {

enum class Kind { TOP, BOXES, RAW };

Kind KindOf(const Engine& engine, const std::string& output, const NamedTensor& item, bool raw) {
  if (raw) return Kind::RAW;
  if (IsDetections(engine, output)) return Kind::BOXES;
  // Scores of classes lie along one axis.
  const auto largest = std::max_element(item.shape.begin(), item.shape.end());
  const bool scores =
      largest != item.shape.end() && *largest > 1 && size_t(*largest) == CountOf(item.shape);
  return scores ? Kind::TOP : Kind::RAW;
}

/// How many classes a detector knows, the background among them; 0 where its layer does not say.
int ClassesOfDetector(const Graph& graph, const std::string& output) {
  const int value = graph.FindValue(output);
  for (const Node& node : graph.nodes) {
    if (std::count(node.outputs.begin(), node.outputs.end(), value) == 0) continue;
    return static_cast<int>(node.layer.detection_output_param().num_classes());
  }
  return 0;
}

std::string NumberText(float value) { return Formatted("%.6g", value); }

/// The shortest text that identifies the float: JSON's numbers are doubles.
double Shortened(float value) { return std::strtod(Formatted("%.9g", value).c_str(), nullptr); }

std::string ScoreText(float value) { return Formatted("%.4f", value); }

/// Without the table's header, which is only there to say how many columns there are.
std::string Rows(const TextTable& table) {
  StringWriter text;
  table.Print(text);
  return text.str().substr(text.str().find('\n') + 1);
}

std::string TopText(const std::vector<Ranked>& top, const ClassNames& names) {
  std::string text;
  for (const Ranked& ranked : top) {
    text += "  " + ScoreText(ranked.score) + "  " + std::to_string(ranked.index);
    const std::string name = names.Of(ranked.index);
    text += (name.empty() ? "" : "  " + name) + "\n";
  }
  return text;
}

std::string BoxesText(const std::string& item, const std::vector<Detection>& boxes,
                      const ClassNames& names) {
  TextTable table({"", "", "", "", "", "", ""}, 2);
  for (const Detection& d : boxes) {
    const std::string name = names.Of(d.label);
    table.Add({item, name.empty() ? std::to_string(d.label) : name, ScoreText(d.score),
               ScoreText(d.xmin), ScoreText(d.ymin), ScoreText(d.xmax), ScoreText(d.ymax)});
  }
  return Rows(table);
}

void SetTop(const std::vector<Ranked>& top, const ClassNames& names, json::Struct* object) {
  json::List(object, "top");
  for (const Ranked& ranked : top) {
    json::Struct* entry = json::Append(object, "top");
    json::Set(entry, "class", ranked.index);
    if (!names.empty()) json::Set(entry, "label", names.Of(ranked.index));
    json::Set(entry, "score", Shortened(ranked.score));
  }
}

void AddNumbers(const std::vector<float>& numbers, json::ListValue* list) {
  for (const float number : numbers) {
    if (std::isfinite(number)) {
      list->add_values()->set_number_value(Shortened(number));
    } else {
      list->add_values()->set_string_value(NumberText(number));
    }
  }
}

void SetBoxes(const std::vector<Detection>& boxes, const ClassNames& names, json::Struct* object) {
  json::List(object, "boxes");
  for (const Detection& d : boxes) {
    json::Struct* entry = json::Append(object, "boxes");
    json::Set(entry, "class", d.label);
    if (!names.empty()) json::Set(entry, "label", names.Of(d.label));
    json::Set(entry, "score", Shortened(d.score));
    AddNumbers({d.xmin, d.ymin, d.xmax, d.ymax}, json::List(entry, "box"));
  }
}

}  // namespace

Results::Results(std::shared_ptr<const Engine> engine, ClassNames names,
                 const ResultOptions& options)
    : engine_(std::move(engine)), names_(std::move(names)), options_(options) {
  Require(options.top > 0, Error::Field{"-top"}, " must be positive, got ", options.top);
}
Results::~Results() = default;

void Results::Add(const std::vector<std::string>& items, const Tensors& outputs) {
  for (size_t i = 0; i < items.size(); ++i) {
    Item item{items[i], {}};
    for (const auto& output : outputs) {
      NamedTensor one = ItemOf(*engine_, output.first, output.second, static_cast<int>(i));
      const Kind kind = KindOf(*engine_, output.first, one, options_.raw);
      if (kind == Kind::TOP) {
        names_.RequireFor(output.first, static_cast<int>(CountOf(one.shape)));
      } else if (kind == Kind::BOXES) {
        names_.RequireFor(output.first, ClassesOfDetector(*engine_->graph(), output.first));
      }
      item.outputs[output.first] = std::move(one);
    }
    items_.push_back(std::move(item));
  }
}

std::string Results::Text() const {
  std::string text;
  for (const Item& item : items_) {
    for (const auto& named : item.outputs) {
      const NamedTensor& output = named.second;
      const Kind kind = KindOf(*engine_, named.first, output, options_.raw);
      if (kind == Kind::BOXES) {
        text += BoxesText(item.name, DetectionsOf(output, options_.least_score), names_);
        continue;
      }
      text += item.name + (item.outputs.size() > 1 ? " " + named.first : "");
      if (kind == Kind::TOP) {
        text +=
            "\n" + TopText(TopOf(output.values.data(), output.values.size(), options_.top), names_);
        continue;
      }
      text += Join(" ", ShapeString(output.shape), ":");
      for (const float value : output.values) text += " " + NumberText(value);
      text += "\n";
    }
  }
  return text;
}

std::string Results::Json() const {
  json::Struct root;
  json::List(&root, "results");
  for (const Item& item : items_) {
    json::Struct* result = json::Append(&root, "results");
    json::Set(result, "name", item.name);
    json::List(result, "outputs");
    for (const auto& named : item.outputs) {
      const NamedTensor& output = named.second;
      json::Struct* object = json::Append(result, "outputs");
      json::Set(object, "output", named.first);
      switch (KindOf(*engine_, named.first, output, options_.raw)) {
        case Kind::BOXES:
          SetBoxes(DetectionsOf(output, options_.least_score), names_, object);
          break;
        case Kind::TOP:
          SetTop(TopOf(output.values.data(), output.values.size(), options_.top), names_, object);
          break;
        case Kind::RAW:
          json::Set(object, "shape", output.shape);
          AddNumbers(output.values, json::List(object, "values"));
          break;
      }
    }
  }
  return json::Text(root);
}

}  // namespace caffe::inference
