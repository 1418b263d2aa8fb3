#include "caffe/kernels/resize.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "caffe/kernels/cpu/convolution/planes.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

template <typename F>
std::vector<F> WeightsAs(const ResizeAxis& axis) {
  return std::vector<F>(axis.weights.begin(), axis.weights.end());
}

/// An axis for whole rows. Where neighbouring outputs read neighbouring inputs they are computed
/// together, as if each had the most terms of any; those that have fewer are computed again, one by
/// one, as the weights of 0 that fill up their terms would make a NaN of an infinity.
template <typename F>
class Columns {
 public:
  explicit Columns(const ResizeAxis& axis)
      : axis_(axis), weights_(WeightsAs<F>(axis)), first_(axis.output()) {
    for (int i = 0; i < axis.output(); ++i) terms_ = std::max(terms_, axis.terms(i));
    for (int i = 0; i < axis.output(); ++i) {
      first_[i] = std::min(axis.first[i], axis.input - terms_);
      const int step = i > 0 ? first_[i] - first_[i - 1] : 0;
      together_ = together_ && step >= 0 && step <= 2;
      if (axis.terms(i) < terms_) alone_.push_back(i);
    }
    together_ = together_ && alone_.size() <= first_.size() / 4;
    if (!together_) {
      alone_.resize(first_.size());
      std::iota(alone_.begin(), alone_.end(), 0);
      return;
    }
    side_by_side_.resize(size_t(terms_) * first_.size());
    for (int i = 0; i < axis.output(); ++i) {
      for (int t = 0; t < axis.terms(i); ++t) {
        side_by_side_[size_t(axis.first[i] - first_[i] + t) * first_.size() + i] =
            weights_[axis.start[i] + t];
      }
    }
  }

  /// `row` can be read kResampleMargin elements beyond its end.
  void Resample(const F* row, F* y) const {
    if (together_) {
      Loops<F>().resample(first_.size(), terms_, first_.data(), side_by_side_.data(), row, y);
    }
    for (const int i : alone_) {
      const F* from = row + axis_.first[i];
      const F* weights = weights_.data() + axis_.start[i];
      F sum = 0;
      for (int t = 0; t < axis_.terms(i); ++t) sum += weights[t] * from[t];
      y[i] = sum;
    }
  }

 private:
  const ResizeAxis& axis_;
  const std::vector<F> weights_;
  int terms_ = 0;  // the most of an output
  bool together_ = true;
  std::vector<int32_t> first_;
  std::vector<F> side_by_side_;  // (terms, outputs)
  std::vector<int> alone_;
};

}  // namespace

// Rows of the input are combined first, whole rows at once, then the columns of the sum.
template <typename T>
void ResizeForward(size_t planes, const ResizeAxis& h, const ResizeAxis& w, const T* x, T* y) {
  using F = AccumulatorType<T>;
  const std::vector<F> row_weights = WeightsAs<F>(h);
  const Columns<F> columns(w);
  const size_t inputs = size_t(h.input) * w.input, outputs = size_t(h.output()) * w.output();
  ForEachPlane(planes, inputs, outputs, x, y, [&](size_t, const F* in, F* out) {
    std::vector<F> sums(w.input + kResampleMargin);
    std::vector<const F*> rows;
    for (int i = 0; i < h.output(); ++i, out += w.output()) {
      rows.resize(h.terms(i));
      for (int k = 0; k < h.terms(i); ++k) rows[k] = in + size_t(h.first[i] + k) * w.input;
      const F* weights = row_weights.data() + h.start[i];
      if (rows.size() == 1 && weights[0] == F(1)) {
        if (i > 0 && h.terms(i - 1) == 1 && weights[-1] == F(1) && h.first[i] == h.first[i - 1]) {
          std::copy_n(out - w.output(), w.output(), out);  // the same row again
          continue;
        }
        std::copy_n(rows[0], w.input, sums.data());
      } else {
        Loops<F>().weighted_sum(w.input, rows.size(), weights, rows.data(), F(0), sums.data());
      }
      columns.Resample(sums.data(), out);
    }
  });
}

template <typename D>
void ResizeBackward(size_t planes, const ResizeAxis& h, const ResizeAxis& w, const D* dy, D* dx) {
  ResizeForward(planes, h.Transposed(), w.Transposed(), dy, dx);
}

#define CAFFE_RESIZE(T)                                                                    \
  template void ResizeForward(size_t, const ResizeAxis&, const ResizeAxis&, const T*, T*); \
  template void ResizeBackward(size_t, const ResizeAxis&, const ResizeAxis&, const T*, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_RESIZE)
#undef CAFFE_RESIZE

}  // namespace caffe::kernels
