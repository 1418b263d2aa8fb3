#include "candidates_text.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "caffe/util/text/text_table.hpp"
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

/// Those with the same reason on one line.
void PrintRejected(const inference::LayerCandidates& candidates, std::ostream& out) {
  if (candidates.rejected.empty()) return;
  std::vector<std::pair<std::string, std::string>> lines;  // names, the reason
  for (const auto& way : candidates.rejected) {
    const auto same = std::find_if(lines.begin(), lines.end(),
                                   [&](const auto& line) { return line.second == way.reason; });
    if (same == lines.end()) {
      lines.emplace_back(way.implementation, way.reason);
    } else {
      same->first += ", " + way.implementation;
    }
  }
  TextTable table({"  ", "not possible", "because it"}, 3);
  for (const auto& [names, reason] : lines) table.Add({"", names, reason});
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
