#include "caffe/inference/evaluation/widening.hpp"

#include <algorithm>
#include <map>

#include "caffe/error.hpp"

namespace caffe::inference {
namespace {

using Names = std::vector<std::string>;

/// Whether the bound holds with some layers in FLOAT.
class Bound {
 public:
  Bound(const std::function<double(const Names&)>& error, double bound)
      : error_(error), bound_(bound) {}

  bool Holds(const Names& widened) {
    const auto known = known_.find(widened);
    latest_ = known != known_.end() ? known->second : error_(widened);
    known_[widened] = latest_;
    return latest_ <= bound_;
  }
  double latest() const { return latest_; }

 private:
  const std::function<double(const Names&)>& error_;
  const double bound_;
  double latest_ = 0;
  std::map<Names, double> known_;
};

/// The shortest prefix for which the bound holds; it holds for all layers and not for none.
Names ShortestBeginning(const Names& layers, Bound* bound) {
  size_t too_few = 0, enough = layers.size();
  while (too_few + 1 < enough) {
    const size_t middle = too_few + (enough - too_few) / 2;
    if (bound->Holds({layers.begin(), layers.begin() + middle})) {
      enough = middle;
    } else {
      too_few = middle;
    }
  }
  return {layers.begin(), layers.begin() + enough};
}

/// Removes layers that are not needed, in pieces of `piece` from the end, where those are that
/// matter least. True if some were removed.
bool Prune(size_t piece, Bound* bound, Names* widened) {
  bool pruned = false;
  size_t end = widened->size();
  while (end > 0 && widened->size() > 1) {
    const size_t begin = end - std::min(piece, end);
    Names fewer(widened->begin(), widened->begin() + begin);
    fewer.insert(fewer.end(), widened->begin() + end, widened->end());
    if (!fewer.empty() && bound->Holds(fewer)) {
      *widened = fewer;
      pruned = true;
    }
    end = begin;
  }
  return pruned;
}

}  // namespace

Names LayersToWiden(const Names& layers, const std::function<double(const Names&)>& error,
                    double bound) {
  Bound the_bound(error, bound);
  if (the_bound.Holds({})) return {};
  Require(!layers.empty() && the_bound.Holds(layers), "with all ", layers.size(),
          " layers in FLOAT the error is ", the_bound.latest(), " still, more than the bound ",
          bound);
  Names widened = ShortestBeginning(layers, &the_bound);
  for (size_t piece = widened.size() / 2; piece > 1; piece /= 2) {
    Prune(piece, &the_bound, &widened);
  }
  while (Prune(1, &the_bound, &widened)) {
  }
  return widened;
}

}  // namespace caffe::inference
