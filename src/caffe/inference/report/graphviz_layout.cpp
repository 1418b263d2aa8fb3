// Layout by Graphviz, which gets sizes and returns positions ("plain" format); names and texts stay
// here, so that nothing has to be escaped for it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "caffe/error.hpp"
#include "caffe/util/plot/graphviz.hpp"
#include "caffe/util/string_stream.hpp"
#include "drawing.hpp"

namespace caffe::inference {
namespace {

constexpr double kInch = 72;  // pixels
constexpr double kGraphMargin = 12;

/// A temporary folder, removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "graphXXXXXX").string()) {
    Require(mkdtemp(path_.data()) != nullptr, Error::File{path_}, ": the folder cannot be made");
  }
  ~TemporaryFolder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void WriteDot(const Drawing& drawing, const std::string& file) {
  std::ofstream out(file);
  out << "digraph {\nranksep=0.35; nodesep=0.2; edge [arrowhead=none];\n"
      << "node [shape=box, fixedsize=true, label=\"\"];\n";
  for (size_t i = 0; i < drawing.boxes.size(); ++i) {
    out << i << " [width=" << drawing.boxes[i].width / kInch
        << ", height=" << drawing.boxes[i].height / kInch << "];\n";
  }
  for (const Arrow& arrow : drawing.arrows) out << arrow.from << " -> " << arrow.to << ";\n";
  out << "}\n";
}

/// Reads lines "graph SCALE WIDTH HEIGHT", "node NAME X Y ...", "edge FROM TO N X Y X Y ...", in
/// inches, y upwards.
class PlainReader {
 public:
  explicit PlainReader(Drawing* drawing) : drawing_(*drawing) {
    for (Arrow& arrow : drawing_.arrows) arrows_[{arrow.from, arrow.to}] = &arrow;
  }

  bool Read(const std::string& file) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      StringReader words(line);
      std::string kind;
      words >> kind;
      if (kind == "stop") return true;
      if (kind == "graph") ReadGraph(words);
      if (kind == "node") ReadNode(words);
      if (kind == "edge") ReadEdge(words);
      if (!words) return false;
    }
    return false;
  }

 private:
  Point Pixels(double x, double y) const {
    return {kGraphMargin + x * kInch, drawing_.height - kGraphMargin - y * kInch};
  }

  void ReadGraph(std::istream& words) {
    double scale, width, height;
    words >> scale >> width >> height;
    drawing_.width = width * kInch + 2 * kGraphMargin;
    drawing_.height = height * kInch + 2 * kGraphMargin;
  }

  void ReadNode(std::istream& words) {
    size_t number;
    double x, y;
    if (!(words >> number >> x >> y) || number >= drawing_.boxes.size()) return;
    const Point middle = Pixels(x, y);
    drawing_.boxes[number].x = middle.x;
    drawing_.boxes[number].y = middle.y;
  }

  void ReadEdge(std::istream& words) {
    int from, to, points;
    words >> from >> to >> points;
    const auto arrow = arrows_.find({from, to});
    if (!words || arrow == arrows_.end()) return;
    for (int i = 0; i < points; ++i) {
      double x, y;
      words >> x >> y;
      arrow->second->curve.push_back(Pixels(x, y));
    }
  }

  Drawing& drawing_;
  std::map<std::pair<int, int>, Arrow*> arrows_;
};

}  // namespace

bool PlaceByGraphviz(Drawing* drawing) {
  const TemporaryFolder folder;
  WriteDot(*drawing, folder / "graph.dot");
  if (!RunGraphviz("plain", folder / "graph.dot", folder / "graph.txt")) return false;
  Drawing placed = *drawing;
  if (!PlainReader(&placed).Read(folder / "graph.txt")) return false;
  *drawing = std::move(placed);
  return true;
}

}  // namespace caffe::inference
