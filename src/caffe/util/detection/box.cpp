#include "caffe/util/detection/box.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "caffe/error.hpp"
#include "caffe/kernels/overlap.hpp"

namespace caffe {

float Area(const Box& box, bool normalized) {
  const float width = box.xmax - box.xmin, height = box.ymax - box.ymin;
  if (!(width >= 0 && height >= 0)) return 0;
  return normalized ? width * height : (width + 1) * (height + 1);
}

Box Intersection(const Box& a, const Box& b) {
  const Box both = {std::max(a.xmin, b.xmin), std::max(a.ymin, b.ymin), std::min(a.xmax, b.xmax),
                    std::min(a.ymax, b.ymax)};
  return both.xmin <= both.xmax && both.ymin <= both.ymax ? both : Box();
}

float Overlap(const Box& a, const Box& b, bool normalized) {
  const float more = normalized ? 0 : 1;
  const float width = std::min(a.xmax, b.xmax) - std::max(a.xmin, b.xmin);
  const float height = std::min(a.ymax, b.ymax) - std::max(a.ymin, b.ymin);
  if (!(width >= 0 && height >= 0)) return 0;
  const float both = (width + more) * (height + more);
  const float all = Area(a, normalized) + Area(b, normalized) - both;
  return both > 0 && all > 0 ? both / all : 0;
}

float Coverage(const Box& a, const Box& b) {
  const float both = Area(Intersection(a, b));
  return both > 0 ? both / Area(a) : 0;
}

Box Clipped(const Box& box, float height, float width) {
  const auto clip = [](float x, float most) { return std::max(std::min(x, most), 0.f); };
  return {clip(box.xmin, width), clip(box.ymin, height), clip(box.xmax, width),
          clip(box.ymax, height)};
}

Box Scaled(const Box& box, float height, float width) {
  return {box.xmin * width, box.ymin * height, box.xmax * width, box.ymax * height};
}

bool CrossesBoundary(const Box& box) {
  return box.xmin < 0 || box.xmin > 1 || box.ymin < 0 || box.ymin > 1 || box.xmax < 0 ||
         box.xmax > 1 || box.ymax < 0 || box.ymax > 1;
}

namespace {

struct CenterSize {
  explicit CenterSize(const Box& box, bool normalized = true)
      : width(box.xmax - box.xmin + (normalized ? 0 : 1)),
        height(box.ymax - box.ymin + (normalized ? 0 : 1)),
        x(box.xmin + width / 2),
        y(box.ymin + height / 2) {}
  float width, height, x, y;
};

void RequireArea(const CenterSize& size, const char* what) {
  Require(size.width > 0 && size.height > 0, what, " of ", size.width, " x ", size.height,
          " has no area: sizes cannot be encoded relative to it");
}

}  // namespace

Box Encode(const Prior& prior, const BoxCode& code, const Box& box) {
  const Box& p = prior.box;
  Box e;
  if (code.type == PriorBoxParameter_CodeType_CENTER_SIZE) {
    const CenterSize from(p, code.normalized), to(box, code.normalized);
    RequireArea(from, "a prior box");
    RequireArea(to, "a true box");
    e = {(to.x - from.x) / from.width, (to.y - from.y) / from.height,
         std::log(to.width / from.width), std::log(to.height / from.height)};
  } else {
    e = {box.xmin - p.xmin, box.ymin - p.ymin, box.xmax - p.xmax, box.ymax - p.ymax};
    if (code.type == PriorBoxParameter_CodeType_CORNER_SIZE) {
      const CenterSize from(p, code.normalized);
      RequireArea(from, "a prior box");
      e = Scaled(e, 1 / from.height, 1 / from.width);
    }
  }
  if (code.variance_in_target) return e;
  const float* v = prior.variance;
  return {e.xmin / v[0], e.ymin / v[1], e.xmax / v[2], e.ymax / v[3]};
}

Box Decode(const Prior& prior, const BoxCode& code, const Box& encoded) {
  const Box& p = prior.box;
  const float* v = prior.variance;
  const Box e = code.variance_in_target ? encoded
                                        : Box{encoded.xmin * v[0], encoded.ymin * v[1],
                                              encoded.xmax * v[2], encoded.ymax * v[3]};
  if (code.type == PriorBoxParameter_CodeType_CENTER_SIZE) {
    const CenterSize from(p, code.normalized);
    const float x = e.xmin * from.width + from.x, y = e.ymin * from.height + from.y;
    const float width = std::exp(e.xmax) * from.width, height = std::exp(e.ymax) * from.height;
    return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
  }
  if (code.type == PriorBoxParameter_CodeType_CORNER_SIZE) {
    const CenterSize from(p, code.normalized);
    return {p.xmin + e.xmin * from.width, p.ymin + e.ymin * from.height,
            p.xmax + e.xmax * from.width, p.ymax + e.ymax * from.height};
  }
  return {p.xmin + e.xmin, p.ymin + e.ymin, p.xmax + e.xmax, p.ymax + e.ymax};
}

namespace {

/// NaNs come last.
bool IsBefore(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

/// Leaves the best `count` in their order, of equal ones the first.
void KeepBest(size_t count, std::vector<ScoredIndex>* scores) {
  if (count == 0) return scores->clear();
  std::vector<float> values;
  values.reserve(scores->size());
  for (const ScoredIndex& scored : *scores) values.push_back(scored.first);
  const auto worst_kept = values.begin() + (count - 1);
  std::nth_element(values.begin(), worst_kept, values.end(), IsBefore);
  const float least = *worst_kept;
  size_t equal = count - std::count_if(values.begin(), worst_kept,
                                       [least](float value) { return IsBefore(value, least); });
  const auto is_left_out = [&](const ScoredIndex& scored) {
    if (IsBefore(scored.first, least)) return false;
    if (IsBefore(least, scored.first) || equal == 0) return true;
    --equal;
    return false;
  };
  size_t kept = 0;
  for (const ScoredIndex& scored : *scores) {
    if (!is_left_out(scored)) (*scores)[kept++] = scored;
  }
  scores->resize(kept);
}

kernels::BoxArrays::Row RowOf(const Box& box, bool normalized) {
  return {{box.xmin, box.ymin, box.xmax, box.ymax, Area(box, normalized)}};
}

}  // namespace

void SortByScore(int top_k, std::vector<ScoredIndex>* scores) {
  if (top_k >= 0 && static_cast<size_t>(top_k) < scores->size()) KeepBest(top_k, scores);
  std::stable_sort(scores->begin(), scores->end(), [](const ScoredIndex& a, const ScoredIndex& b) {
    return IsBefore(a.first, b.first);
  });
}

std::vector<int> Suppress(const Box* boxes, const std::vector<ScoredIndex>& candidates,
                          float threshold, float eta, bool normalized, int limit) {
  std::vector<int> kept;
  kernels::BoxArrays kept_boxes;
  for (const ScoredIndex& candidate : candidates) {
    if (limit >= 0 && kept.size() >= static_cast<size_t>(limit)) break;
    if (!kept.empty() && !(threshold >= 0)) break;  // no overlap is as small
    const kernels::BoxArrays::Row box = RowOf(boxes[candidate.second], normalized);
    if (kept_boxes.Overlap(box, normalized ? 0 : 1, threshold)) continue;
    kept.push_back(candidate.second);
    kept_boxes.Add(box);
    if (eta < 1 && threshold > 0.5f) threshold *= eta;
  }
  return kept;
}

std::vector<ScoredIndex> SoftlySuppress(const Box* boxes, std::vector<ScoredIndex> candidates,
                                        const SoftSuppression& how, bool normalized) {
  std::vector<ScoredIndex> kept;
  const auto worse = [](const ScoredIndex& a, const ScoredIndex& b) { return a.first < b.first; };
  while (!candidates.empty()) {
    const auto best = std::max_element(candidates.begin(), candidates.end(), worse);
    if (!(best->first > how.least_score)) break;
    kept.push_back(*best);
    candidates.erase(best);
    for (ScoredIndex& candidate : candidates) {
      const float overlap = Overlap(boxes[candidate.second], boxes[kept.back().second], normalized);
      if (how.gaussian) {
        candidate.first *= std::exp(-overlap * overlap / how.sigma);
      } else if (overlap > how.threshold) {
        candidate.first *= 1 - overlap;
      }
    }
  }
  return kept;
}

// The greedy choice of the pair that overlaps most, again and again, is one walk over all pairs in
// descending order; of equals the first prediction goes first, then the first true box.
Matches Match(const std::vector<Box>& truths, const std::vector<Box>& predictions,
              MultiBoxLossParameter_MatchType type, float threshold, bool ignore_cross_boundary) {
  struct Pair {
    float overlap;
    int prediction, truth;
  };
  constexpr float kNone = 1e-6f;  // rounding alone overlaps that much
  Matches matches = {std::vector<int>(predictions.size(), kUnmatched),
                     std::vector<float>(predictions.size(), 0.f)};
  std::vector<Pair> pairs;
  for (size_t i = 0; i < predictions.size(); ++i) {
    if (ignore_cross_boundary && !truths.empty() && CrossesBoundary(predictions[i])) {
      matches.index[i] = kCrossesBoundary;
      continue;
    }
    for (size_t j = 0; j < truths.size(); ++j) {
      const float overlap = Overlap(predictions[i], truths[j]);
      if (!(overlap > kNone)) continue;
      matches.overlap[i] = std::max(matches.overlap[i], overlap);
      pairs.push_back({overlap, static_cast<int>(i), static_cast<int>(j)});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::make_tuple(-a.overlap, a.prediction, a.truth) <
           std::make_tuple(-b.overlap, b.prediction, b.truth);
  });
  std::vector<bool> taken(truths.size(), false);
  for (const Pair& pair : pairs) {
    if (matches.index[pair.prediction] != kUnmatched || taken[pair.truth]) continue;
    matches.index[pair.prediction] = pair.truth;
    matches.overlap[pair.prediction] = pair.overlap;
    taken[pair.truth] = true;
  }
  if (type == MultiBoxLossParameter_MatchType_BIPARTITE) return matches;
  for (const Pair& pair : pairs) {
    if (matches.index[pair.prediction] != kUnmatched || pair.overlap < threshold) continue;
    matches.index[pair.prediction] = pair.truth;
  }
  return matches;
}

template <typename Dtype>
Prior ReadPrior(const Dtype* data, int count, int index) {
  const Dtype* corners = data + size_t(index) * 4;
  Prior prior;
  prior.box = {float(corners[0]), float(corners[1]), float(corners[2]), float(corners[3])};
  std::copy_n(corners + size_t(count) * 4, 4, prior.variance);
  return prior;
}
template Prior ReadPrior(const float*, int, int);
template Prior ReadPrior(const double*, int, int);

template <typename Dtype>
std::vector<Prior> ReadPriors(const Dtype* data, int count) {
  std::vector<Prior> priors;
  priors.reserve(count);
  for (int i = 0; i < count; ++i) priors.push_back(ReadPrior(data, count, i));
  return priors;
}
template std::vector<Prior> ReadPriors(const float*, int);
template std::vector<Prior> ReadPriors(const double*, int);

namespace {

template <typename Dtype>
int WholeNumber(Dtype value, const char* what, int row) {
  Require(std::fabs(value) < Dtype(2147483648.), "true box number ", row, " has the ", what, " ",
          value);
  return static_cast<int>(value);
}

}  // namespace

template <typename Dtype>
std::vector<TrueBox> ReadTruths(const Dtype* data, int rows, int background_label) {
  std::vector<TrueBox> truths;
  for (int i = 0; i < rows; ++i, data += 8) {
    TrueBox truth;
    truth.item = WholeNumber(data[0], "item", i);
    if (truth.item == -1) continue;
    truth.label = WholeNumber(data[1], "label", i);
    Require(truth.label != background_label, "true box number ", i, " has label ", truth.label,
            ", which is background_label_id");
    truth.box = {float(data[3]), float(data[4]), float(data[5]), float(data[6])};
    truth.difficult = data[7] != Dtype(0);
    truths.push_back(truth);
  }
  return truths;
}
template std::vector<TrueBox> ReadTruths(const float*, int, int);
template std::vector<TrueBox> ReadTruths(const double*, int, int);

}  // namespace caffe
