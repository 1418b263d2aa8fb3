#include "depthwise_convolution.hpp"

#include <vector>

#include "caffe/kernels/cpu/resize/gather.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

// A convolution of one plane is a sum of shifted planes. With stride s the padded plane is first
// split into its s x s phases (rows and columns equal modulo s), in which every tap of the kernel
// is again one long run of consecutive elements. Runs continue across the ends of rows; the
// elements between rows are computed too, and dropped.
namespace caffe::kernels {
namespace {

/// The sizes along one axis.
struct DepthwiseAxis {
  int input, output, kernel, stride, pad, dilation;

  int phase(int tap) const { return tap * dilation % stride; }  ///< of a tap of the kernel
  int shift(int tap) const { return tap * dilation / stride; }  ///< within its phase
  int reach() const { return shift(kernel - 1); }               ///< the largest shift
  int phases() const { return std::min(stride, (kernel - 1) * dilation + 1); }
};

DepthwiseAxis DepthwiseAxisOf(const ConvolutionShape& s, int axis) {
  if (axis < 0) return {1, 1, 1, 1, 0, 1};
  return {s.input[axis],  s.output[axis], s.kernel[axis],
          s.stride[axis], s.pad[axis],    s.dilation[axis]};
}

struct Plane {
  explicit Plane(const ConvolutionShape& s)
      : h(DepthwiseAxisOf(s, s.axes() - 2)),
        w(DepthwiseAxisOf(s, s.axes() - 1)),
        taps(h.kernel * w.kernel),
        multiplier(s.outputs / s.channels) {}

  // Phases of the input: `phases` arrays of rows() x pitch().
  size_t pitch() const { return w.output + w.reach(); }
  size_t rows() const { return h.output + h.reach(); }
  size_t phase_size() const { return rows() * pitch(); }
  size_t phased_size() const { return phase_size() * h.phases() * w.phases(); }
  /// Elements of a run over all outputs.
  size_t run() const { return (h.output - 1) * pitch() + w.output; }
  /// Where the run of a tap begins in the phased input.
  size_t offset(int tap) const {
    const int kh = tap / w.kernel, kw = tap % w.kernel;
    return (size_t(h.phase(kh)) * w.phases() + w.phase(kw)) * phase_size() + h.shift(kh) * pitch() +
           w.shift(kw);
  }

  const DepthwiseAxis h, w;
  const int taps;
  const int multiplier;  // outputs of a channel
};

/// Splits the padded x into phases. The padding of `phased` is zero and stays so.
template <typename X, typename F>
void Split(const Plane& p, const X* x, F* phased) {
  const DepthwiseAxis &h = p.h, &w = p.w;
  for (int fh = 0; fh < h.phases(); ++fh) {
    for (int fw = 0; fw < w.phases(); ++fw, phased += p.phase_size()) {
      // The first column whose input lies in the image, and how many there are.
      const int first = std::max(0, (w.pad - fw + w.stride - 1) / w.stride);
      const int column = first * w.stride + fw - w.pad;
      if (column >= w.input) continue;
      const int count =
          std::min((w.input - column - 1) / w.stride + 1, static_cast<int>(p.pitch()) - first);
      if (count <= 0) continue;
      for (size_t r = 0; r < p.rows(); ++r) {
        const ptrdiff_t row = ptrdiff_t(r) * h.stride + fh - h.pad;
        if (row < 0 || row >= h.input) continue;
        Gather(count, x + row * w.input + column, w.stride, phased + r * p.pitch() + first);
      }
    }
  }
}

size_t ItemGrain(const ConvolutionShape& s) {
  const size_t work = s.output_size() / s.channels * s.kernel_size();
  return std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, work));
}

template <typename F, typename W>
std::vector<F> AsVector(const W* weights, size_t n) {
  std::vector<F> result(n);
  Convert(n, weights, result.data());
  return result;
}

}  // namespace

bool IsDepthwise(const ConvolutionShape& s) {
  return s.channels == s.group && s.outputs <= 4 * s.channels && s.axes() <= 2 &&
         s.output_spatial() > 0;
}

template <typename W, typename X>
void DepthwiseForward(const ConvolutionShape& s, int num, const X* x, const W* weights,
                      const W* bias, X* y) {
  using F = AccumulatorType<X>;
  const Plane p(s);
  const size_t inputs = s.input_spatial(), outputs = s.output_spatial();
  const std::vector<F> w = AsVector<F>(weights, s.weight_count());
  const auto weighted_sum = Loops<F>().weighted_sum;
  ParallelFor(size_t(num) * s.channels, ItemGrain(s), [&](size_t begin, size_t end) {
    std::vector<F> phased(p.phased_size()), result(p.run());
    std::vector<const F*> taps(p.taps);
    for (int t = 0; t < p.taps; ++t) taps[t] = phased.data() + p.offset(t);
    for (size_t item = begin; item < end; ++item) {
      Split(p, x + item * inputs, phased.data());
      for (int m = 0; m < p.multiplier; ++m) {
        const size_t o = item * p.multiplier + m, output = o % s.outputs;
        weighted_sum(p.run(), p.taps, w.data() + output * p.taps, taps.data(),
                     bias ? F(bias[output]) : F(0), result.data());
        for (int row = 0; row < p.h.output; ++row) {
          Convert(p.w.output, result.data() + row * p.pitch(),
                  y + o * outputs + size_t(row) * p.w.output);
        }
      }
    }
  });
}

namespace {

/// The transpose: what each phase of dx sums. The rows and columns of dy are padded with reach()
/// zeros on each side.
struct TransposedPlane : Plane {
  explicit TransposedPlane(const ConvolutionShape& s) : Plane(s) {}

  size_t padded_pitch() const { return w.output + 2 * w.reach(); }
  size_t padded_size() const { return (h.output + 2 * h.reach()) * padded_pitch(); }
  /// Elements of a run over all positions of a phase.
  size_t padded_run() const { return (rows() - 1) * padded_pitch() + pitch(); }
  size_t padded_offset(int kh, int kw) const {
    return (h.reach() - h.shift(kh)) * padded_pitch() + w.reach() - w.shift(kw);
  }
};

/// Copies dy between its zeros.
template <typename X, typename F>
void Pad(const TransposedPlane& p, const X* dy, F* padded) {
  F* row = padded + p.h.reach() * p.padded_pitch() + p.w.reach();
  for (int r = 0; r < p.h.output; ++r, row += p.padded_pitch()) {
    Convert(p.w.output, dy + size_t(r) * p.w.output, row);
  }
}

/// The terms of one phase of dx, a weighted sum.
template <typename F>
struct PhaseTerms {
  std::vector<F> weights;
  std::vector<const F*> runs;
};

/// The taps of one axis in each phase.
std::vector<std::vector<int>> TapsOfPhases(const DepthwiseAxis& axis) {
  std::vector<std::vector<int>> taps(axis.phases());
  for (int k = 0; k < axis.kernel; ++k) taps[axis.phase(k)].push_back(k);
  return taps;
}

template <typename F>
void CollectTerms(const TransposedPlane& p, const std::vector<int>& taps_h,
                  const std::vector<int>& taps_w, const F* weights, const F* padded,
                  PhaseTerms<F>* terms) {
  terms->weights.clear();
  terms->runs.clear();
  for (int m = 0; m < p.multiplier; ++m) {
    for (int kh : taps_h) {
      for (int kw : taps_w) {
        terms->weights.push_back(weights[m * p.taps + kh * p.w.kernel + kw]);
        terms->runs.push_back(padded + m * p.padded_size() + p.padded_offset(kh, kw));
      }
    }
  }
}

/// Scatters a row of one phase to its places in a row of dx.
template <typename F>
void InterleaveRow(const DepthwiseAxis& w, int pitch, int phase, const F* from, F* row) {
  const int first = std::max(0, (w.pad - phase + w.stride - 1) / w.stride);
  const int last = std::min(pitch, (w.input + w.pad - phase + w.stride - 1) / w.stride);
  if (first >= last) return;  // perhaps there is no row at all
  const int count = last - first;
  F* to = row + ptrdiff_t(first) * w.stride + phase - w.pad;
  from += first;
  if (w.stride == 1) {
    std::copy_n(from, count, to);
  } else if (w.stride == 2) {  // a constant, for the vectoriser
    for (int j = 0; j < count; ++j) to[2 * j] = from[j];
  } else {
    for (int j = 0; j < count; ++j) to[ptrdiff_t(j) * w.stride] = from[j];
  }
}

/// Scatters all column phases of one row phase, padded_run() values apart, to their places.
template <typename F>
void Interleave(const TransposedPlane& p, int fh, const std::vector<std::vector<int>>& taps_w,
                const F* phases, F* dx) {
  for (size_t r = 0; r < p.rows(); ++r) {
    const ptrdiff_t row = ptrdiff_t(r) * p.h.stride + fh - p.h.pad;
    if (row < 0 || row >= p.h.input) continue;
    for (size_t fw = 0; fw < taps_w.size(); ++fw) {
      if (taps_w[fw].empty()) continue;
      InterleaveRow(p.w, static_cast<int>(p.pitch()), static_cast<int>(fw),
                    phases + fw * p.padded_run() + r * p.padded_pitch(), dx + row * p.w.input);
    }
  }
}

}  // namespace

template <typename W, typename X>
void DepthwiseBackwardData(const ConvolutionShape& s, int num, const X* dy, const W* weights,
                           const W* bias, X* dx) {
  using F = AccumulatorType<X>;
  const TransposedPlane p(s);
  const std::vector<std::vector<int>> taps_h = TapsOfPhases(p.h), taps_w = TapsOfPhases(p.w);
  const size_t inputs = s.input_spatial(), outputs = s.output_spatial();
  const std::vector<F> w = AsVector<F>(weights, s.weight_count());
  const auto weighted_sum = Loops<F>().weighted_sum;
  ParallelFor(size_t(num) * s.channels, ItemGrain(s), [&](size_t begin, size_t end) {
    std::vector<F> padded(p.padded_size() * p.multiplier);
    std::vector<F> phases(p.padded_run() * p.w.phases()), result(inputs);
    PhaseTerms<F> terms;
    for (size_t item = begin; item < end; ++item) {
      const size_t channel = item % s.channels;
      const F* own_weights = w.data() + channel * p.multiplier * p.taps;
      const F start = bias ? F(bias[channel]) : F(0);
      for (int m = 0; m < p.multiplier; ++m) {
        Pad(p, dy + (item * p.multiplier + m) * outputs, padded.data() + m * p.padded_size());
      }
      std::fill(result.begin(), result.end(), start);
      for (int fh = 0; fh < p.h.phases(); ++fh) {
        if (taps_h[fh].empty()) continue;
        for (int fw = 0; fw < p.w.phases(); ++fw) {
          CollectTerms(p, taps_h[fh], taps_w[fw], own_weights, padded.data(), &terms);
          weighted_sum(p.padded_run(), terms.runs.size(), terms.weights.data(), terms.runs.data(),
                       start, phases.data() + fw * p.padded_run());
        }
        Interleave(p, fh, taps_w, phases.data(), result.data());
      }
      Convert(inputs, result.data(), dx + item * inputs);
    }
  });
}

template <typename X, typename D>
void DepthwiseBackwardWeights(const ConvolutionShape& s, int num, const X* x, const D* dy,
                              AccumulatorType<D>* d_weights) {
  using F = AccumulatorType<D>;
  const Plane p(s);
  const size_t inputs = s.input_spatial(), outputs = s.output_spatial();
  const auto dot = Loops<F>().dot;
  ParallelFor(s.channels, std::max<size_t>(1, ItemGrain(s) / std::max(1, num)),
              [&](size_t begin, size_t end) {
                std::vector<F> phased(p.phased_size()), spread(p.run(), F(0));
                std::vector<double> sums(p.multiplier * p.taps);
                for (size_t c = begin; c < end; ++c) {
                  std::fill(sums.begin(), sums.end(), 0.);
                  for (int n = 0; n < num; ++n) {
                    const size_t item = size_t(n) * s.channels + c;
                    Split(p, x + item * inputs, phased.data());
                    for (int m = 0; m < p.multiplier; ++m) {
                      const D* from = dy + (item * p.multiplier + m) * outputs;
                      for (int row = 0; row < p.h.output; ++row) {
                        Convert(p.w.output, from + size_t(row) * p.w.output,
                                spread.data() + row * p.pitch());
                      }
                      for (int t = 0; t < p.taps; ++t) {
                        sums[m * p.taps + t] +=
                            dot(p.run(), phased.data() + p.offset(t), spread.data());
                      }
                    }
                  }
                  F* target = d_weights + c * sums.size();
                  for (size_t i = 0; i < sums.size(); ++i) target[i] += static_cast<F>(sums[i]);
                }
              });
}

#define CAFFE_DEPTHWISE(A, B)                                                                     \
  template void DepthwiseForward(const ConvolutionShape&, int, const B*, const A*, const A*, B*); \
  template void DepthwiseBackwardData(const ConvolutionShape&, int, const B*, const A*, const A*, \
                                      B*);                                                        \
  template void DepthwiseBackwardWeights(const ConvolutionShape&, int, const A*, const B*,        \
                                         AccumulatorType<B>*);
CAFFE_FOR_EACH_PAIR(CAFFE_DEPTHWISE)
#undef CAFFE_DEPTHWISE

}  // namespace caffe::kernels
