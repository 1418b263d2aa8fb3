#include "caffe/util/text/edit_distance.hpp"

#include <algorithm>
#include <utility>

#include "letters.hpp"

namespace caffe {
namespace {

/// The names with the least distances, equally near ones in alphabetical order.
std::vector<std::string> FirstNames(std::vector<std::pair<size_t, std::string>> ranked,
                                    size_t limit) {
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > limit) ranked.resize(limit);
  std::vector<std::string> names;
  for (auto& entry : ranked) names.push_back(std::move(entry.second));
  return names;
}

}  // namespace

std::vector<std::string> RankedNames(const std::string& name,
                                     const std::vector<std::string>& candidates, size_t limit) {
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    ranked.emplace_back(EditDistance(name, candidate), candidate);
  }
  return FirstNames(std::move(ranked), limit);
}

std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& candidates, size_t limit) {
  const std::string wanted = LowerCase(name);
  const size_t near_enough = wanted.size() < 4 ? 1 : std::max<size_t>(2, wanted.size() / 3);
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(wanted, LowerCase(candidate));
    if (distance <= near_enough) ranked.emplace_back(distance, candidate);
  }
  return FirstNames(std::move(ranked), limit);
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates,
                       const std::string& dashes) {
  std::string text;
  for (const std::string& near : NearestNames(name, candidates)) {
    text += (text.empty() ? "; did you mean '" : ", '") + dashes + near + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace caffe
