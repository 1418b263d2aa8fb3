#ifndef CAFFE_UTIL_EDIT_DISTANCE_HPP_
#define CAFFE_UTIL_EDIT_DISTANCE_HPP_

#include <string>
#include <vector>

namespace caffe {

/// The names nearest to `name` by edit distance (case ignored), best first: at most `limit`, and
/// only those near enough to be what the user meant. For error messages.
std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& candidates, size_t limit = 3);

/// "; did you mean 'ReLU', 'PReLU'?", or "" when nothing is near.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace caffe

#endif  // CAFFE_UTIL_EDIT_DISTANCE_HPP_
