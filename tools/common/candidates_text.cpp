#include "candidates_text.hpp"

#include <algorithm>
#include <string>

#include "caffe/util/text_table.hpp"
#include "engine_building.hpp"

namespace caffe {
namespace {

void PrintPossible(const inference::LayerCandidates& candidates, std::ostream& out) {
  size_t width = 0;
  for (const auto& way : candidates.possible) {
    width = std::max(width, TimeText(way.microseconds).size());
  }
  TextTable table({"  ", "possible", "computes in", "reads", "writes", "time", ""}, 7);
  for (const auto& way : candidates.possible) {
    const std::string time = TimeText(way.microseconds);
    table.Add({way.is_chosen ? " *" : "", way.implementation, Name(way.math), way.input, way.output,
               std::string(width - time.size(), ' ') + time, way.note});
  }
  table.Print(out);
}

void PrintRejected(const inference::LayerCandidates& candidates, std::ostream& out) {
  if (candidates.rejected.empty()) return;
  TextTable table({"  ", "not possible", "because it"}, 3);
  for (const auto& way : candidates.rejected) table.Add({"", way.implementation, way.reason});
  table.Print(out);
}

}  // namespace

void PrintCandidates(const inference::LayerCandidates& candidates, std::ostream& out) {
  std::string layers;
  for (const std::string& layer : candidates.layers) {
    layers += (layers.empty() ? "" : " + ") + layer;
  }
  out << "layer " << layers << " (" << candidates.type << ")\n";
  PrintPossible(candidates, out);
  PrintRejected(candidates, out);
}

}  // namespace caffe
