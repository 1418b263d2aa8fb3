#ifndef CAFFE_UTIL_BOX_HPP_
#define CAFFE_UTIL_BOX_HPP_

#include <cstddef>
#include <utility>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A rectangle by its corners, as fractions of an image's sides or in pixels. With `normalized`
/// false in the functions below, corners are the first and last pixel: a side is max - min + 1.
struct Box {
  float xmin = 0, ymin = 0, xmax = 0, ymax = 0;
};

Box BoxOf(const NormalizedBBox& bbox);
/// Sets the corners and the size, and leaves label, score and difficult as they are.
void SetBox(const Box& box, NormalizedBBox* bbox, bool normalized = true);

/// 0 for a box whose sides are negative.
float Area(const Box& box, bool normalized = true);
/// The part that both boxes have; all zeros if there is none.
Box Intersection(const Box& a, const Box& b);
/// Intersection over union, in [0, 1] (the Jaccard index).
float Overlap(const Box& a, const Box& b, bool normalized = true);
/// The part of `a` that `b` covers, in [0, 1].
float Coverage(const Box& a, const Box& b);
/// Corners moved into [0, width] x [0, height].
Box Clipped(const Box& box, float height = 1, float width = 1);
/// Corners in units of 1 / width and 1 / height.
Box Scaled(const Box& box, float height, float width);
/// True if a corner lies outside of [0, 1] x [0, 1].
bool CrossesBoundary(const Box& box);

/// A box that predictions are relative to, and the factors of their four numbers.
struct Prior {
  Box box;
  float variance[4] = {1, 1, 1, 1};
};

/// How a box is encoded relative to a prior: each number is divided by its variance, unless the
/// variance is in the target.
///
///   CORNER       corner - prior's corner
///   CENTER_SIZE  (centre - prior's) / prior's size, log(size / prior's size)
///   CORNER_SIZE  (corner - prior's corner) / prior's size
struct BoxCode {
  PriorBoxParameter_CodeType type = PriorBoxParameter_CodeType_CORNER;
  bool variance_in_target = false;
  bool normalized = true;
};
/// Throws Error for priors or boxes without area where a logarithm or quotient needs it.
Box Encode(const Prior& prior, const BoxCode& code, const Box& box);
/// The inverse.
Box Decode(const Prior& prior, const BoxCode& code, const Box& encoded);

/// A score and where it belongs.
using ScoredIndex = std::pair<float, int>;

/// Puts scores in descending order, equal ones as they were, and keeps the first top_k (-1: all).
void SortByScore(int top_k, std::vector<ScoredIndex>* scores);

/// Greedy non-maximum suppression: of `candidates`, in this order, those whose overlap with each
/// one kept before is at most `threshold`. With eta < 1 the threshold is multiplied by eta each
/// time one is kept, as long as it is above 0.5. Stops after `limit` kept ones (-1: none).
std::vector<int> Suppress(const Box* boxes, const std::vector<ScoredIndex>& candidates,
                          float threshold, float eta = 1, bool normalized = true, int limit = -1);

/// How the score of a candidate decays for each one kept before that it overlaps.
struct SoftSuppression {
  bool gaussian = true;  ///< by exp(-overlap^2 / sigma); else, above `threshold`, by 1 - overlap
  float sigma = 0.5f, threshold = 0.3f;
  float least_score = 0;  ///< candidates end when the best one's score is not above this
};
/// Soft non-maximum suppression (Bodla, Singh, Chellappa and Davis 2017): the best candidate, again
/// and again, with its score then; the others' decay. Of equal scores the first goes first.
std::vector<ScoredIndex> SoftlySuppress(const Box* boxes, std::vector<ScoredIndex> candidates,
                                        const SoftSuppression& how, bool normalized = true);

/// What a prediction is matched to if not to a true box, by its index.
enum : int { kUnmatched = -1, kCrossesBoundary = -2 };

/// Matches predicted boxes to true ones. First each true box gets the prediction that overlaps it
/// most, the largest overlap first, each prediction at most once; with PER_PREDICTION the
/// predictions left over then take the true box that they overlap most, if by at least `threshold`.
struct Matches {
  std::vector<int> index;      ///< of each prediction's true box, or kUnmatched, kCrossesBoundary
  std::vector<float> overlap;  ///< the largest one that each prediction has
};
Matches Match(const std::vector<Box>& truths, const std::vector<Box>& predictions,
              MultiBoxLossParameter_MatchType type, float threshold,
              bool ignore_cross_boundary = false);

/// One of the priors as PriorBox layers give them: `count` boxes, then as many variances.
template <typename Dtype>
Prior ReadPrior(const Dtype* data, int count, int index);
template <typename Dtype>
std::vector<Prior> ReadPriors(const Dtype* data, int count);

/// One row of a label blob (1, 1, N, 8): item, label, instance, corners, difficult.
struct TrueBox {
  Box box;
  int item = 0, label = 0;
  bool difficult = false;
};
/// The rows of such a blob; a row with item -1 is none. Throws Error for a box that is labelled as
/// background.
template <typename Dtype>
std::vector<TrueBox> ReadTruths(const Dtype* data, int rows, int background_label);

}  // namespace caffe

#endif  // CAFFE_UTIL_BOX_HPP_
