#ifndef CAFFE_UTIL_EDIT_DISTANCE_HPP_
#define CAFFE_UTIL_EDIT_DISTANCE_HPP_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace caffe {

/// The fewest insertions, deletions and substitutions of elements that turn `a` into `b`; for texts
/// and vectors.
template <typename Sequence>
size_t EditDistance(const Sequence& a, const Sequence& b) {
  // Distances from the first i elements of a to the first j of b: one row of the table at a time.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// The `limit` names nearest to `name` by edit distance, however far they are, best first; case
/// counts.
std::vector<std::string> RankedNames(const std::string& name,
                                     const std::vector<std::string>& candidates, size_t limit);

/// The names nearest to `name` by edit distance (case ignored), best first: at most `limit`, and
/// only those near enough to be what the user meant. For error messages.
std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& candidates, size_t limit = 3);

/// "; did you mean 'ReLU', 'PReLU'?", or "" when nothing is near. Names of flags are compared
/// without their dashes and shown with them.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates,
                       const std::string& dashes = "");

}  // namespace caffe

#endif  // CAFFE_UTIL_EDIT_DISTANCE_HPP_
