#include "caffe/util/text/edit_distance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "letters.hpp"

namespace caffe {
namespace {

// Levenshtein distance, one row of the table at a time.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& candidates, size_t limit) {
  const std::string wanted = LowerCase(name);
  const size_t near_enough = std::max<size_t>(2, wanted.size() / 3);
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(wanted, LowerCase(candidate));
    if (distance <= near_enough) ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > limit) ranked.resize(limit);
  std::vector<std::string> names;
  for (auto& entry : ranked) names.push_back(std::move(entry.second));
  return names;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates) {
  std::string text;
  for (const std::string& near : NearestNames(name, candidates)) {
    text += (text.empty() ? "; did you mean '" : ", '") + near + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace caffe
