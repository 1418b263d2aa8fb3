#include "caffe/kernels/cuda/update.hpp"

#include <math.h>

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "launch.hpp"

namespace caffe::cuda {
namespace {

/// The last of `size` entries with `member` <= `value`.
template <typename T>
__host__ __device__ inline int FindEntry(const UpdatedParameter<T>* entries, int size,
                                         int UpdatedParameter<T>::*member, int value) {
  int low = 0, high = size;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (entries[middle].*member <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

template <typename T>
__host__ __device__ inline T Scaled(const UpdateStep<T>& step, T gradient) {
  return gradient * step.unscale * step.clip * step.normalize;
}

/// rule(g, rate, h0, h1) returns the amount to subtract from a parameter with gradient g, and
/// updates the histories at h0 and h1.
template <typename T, typename Rule>
void Update(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step, Rule rule) {
  ForEach(stream, list.total, [=] __host__ __device__(int i) {
    const int index = FindEntry(list.entries, list.size, &UpdatedParameter<T>::begin, i);
    const UpdatedParameter<T>& p = list.entries[index];
    const int k = i - p.begin;
    const T w = p.data[k];
    const T rate = (step.rates ? step.rates[index] : step.rate) * p.rate_multiplier;
    const T decay = step.decay * p.decay_multiplier;
    T g = Scaled(step, p.gradient[k]);
    if (step.regularizer == Regularizer::L2) g += decay * w;
    if (step.regularizer == Regularizer::L1) g += decay * T((w > 0) - (w < 0));
    T u = rule(g, rate, p.history[0] + k, p.history[1] + k);
    if (step.regularizer == Regularizer::DECOUPLED) u += rate * decay * w;
    p.gradient[k] = u;
    if (step.subtract) p.data[k] = w - u;
  });
}

template <typename T>
struct Sgd {
  T momentum;
  __host__ __device__ T operator()(T g, T rate, T* h, T*) const {
    return *h = momentum * *h + rate * g;
  }
};

template <typename T>
struct Nesterov {
  T momentum;
  __host__ __device__ T operator()(T g, T rate, T* h, T*) const {
    const T old = *h;
    *h = momentum * old + rate * g;
    return (1 + momentum) * *h - momentum * old;
  }
};

template <typename T>
struct AdaGrad {
  T delta;
  __host__ __device__ T operator()(T g, T rate, T* h, T*) const {
    *h += g * g;
    return rate * g / (sqrt(*h) + delta);
  }
};

template <typename T>
struct RmsProp {
  T decay, delta;
  __host__ __device__ T operator()(T g, T rate, T* h, T*) const {
    *h = decay * *h + (1 - decay) * g * g;
    return rate * g / (sqrt(*h) + delta);
  }
};

template <typename T>
struct AdaDelta {
  T momentum, delta;
  __host__ __device__ T operator()(T g, T rate, T* squares, T* updates) const {
    *squares = momentum * *squares + (1 - momentum) * g * g;
    const T update = g * sqrt((delta + *updates) / (delta + *squares));
    *updates = momentum * *updates + (1 - momentum) * update * update;
    return rate * update;
  }
};

template <typename T>
struct Adam {
  T beta1, beta2, delta, correction;
  __host__ __device__ T operator()(T g, T rate, T* mean, T* squares) const {
    *mean = beta1 * *mean + (1 - beta1) * g;
    *squares = beta2 * *squares + (1 - beta2) * g * g;
    return rate * correction * *mean / (sqrt(*squares) + delta);
  }
};

/// Squares of a parameter's weights, gradients and histories, and of gradients by histories.
struct Norms {
  double data, gradient, history, product;
};

struct AddNorms {
  __host__ __device__ Norms operator()(const Norms& a, const Norms& b) const {
    return {a.data + b.data, a.gradient + b.gradient, a.history + b.history, a.product + b.product};
  }
};

/// parts[b] = the norms of block b, list.blocks of them.
template <typename T>
void BlockNorms(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
                Norms* parts) {
  constexpr int kBlock = ParameterList<T>::kBlock;
  ReduceRows(
      stream, list.blocks, kBlock, Norms{0, 0, 0, 0},
      [=] __host__ __device__(int block, int column) {
        const int index =
            FindEntry(list.entries, list.size, &UpdatedParameter<T>::first_block, block);
        const UpdatedParameter<T>& p = list.entries[index];
        const int k = (block - p.first_block) * kBlock + column;
        if (k >= p.count) return Norms{0, 0, 0, 0};
        const double w = p.data[k], g = Scaled(step, p.gradient[k]), h = p.history[0][k];
        return Norms{w * w, g * g, h * h, g * h};
      },
      AddNorms(), [=] __host__ __device__(int block, Norms sum) { parts[block] = sum; });
}

/// The rate of one parameter from its norms.
template <typename T>
__host__ __device__ T LarcRate(const Larc& larc, T rate, T multiplier, const Norms& squares,
                               double* cosine) {
  if (multiplier <= 0) return rate;
  const double weights = sqrt(squares.data), gradient = sqrt(squares.gradient);
  double local = 1;
  if (weights > 0 && gradient > 0) local = (1 - larc.momentum) * larc.eta * weights / gradient;
  if (larc.turbo) {
    const double past = sqrt(squares.history);
    const double now = past > 0 && gradient > 0 ? squares.product / (past * gradient) : 0;
    *cosine = 0.95 * *cosine + 0.05 * now;
    local -= 0.9 * *cosine * local;
  }
  const double wanted = larc.clips ? Min(double(rate), local) : rate * local;
  return static_cast<T>(wanted / multiplier);
}

struct Sums {
  double squares, infinite;
};

struct AddSums {
  __host__ __device__ Sums operator()(const Sums& a, const Sums& b) const {
    return {a.squares + b.squares, a.infinite + b.infinite};
  }
};

}  // namespace

template <typename T>
void SgdUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
               T momentum) {
  Update(stream, list, step, Sgd<T>{momentum});
}

template <typename T>
void NesterovUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
                    T momentum) {
  Update(stream, list, step, Nesterov<T>{momentum});
}

template <typename T>
void AdaGradUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
                   T delta) {
  Update(stream, list, step, AdaGrad<T>{delta});
}

template <typename T>
void RmsPropUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step, T decay,
                   T delta) {
  Update(stream, list, step, RmsProp<T>{decay, delta});
}

template <typename T>
void AdaDeltaUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
                    T momentum, T delta) {
  Update(stream, list, step, AdaDelta<T>{momentum, delta});
}

template <typename T>
void AdamUpdate(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step, T beta1,
                T beta2, T delta, T correction) {
  Update(stream, list, step, Adam<T>{beta1, beta2, delta, correction});
}

template <typename T>
void LarcRates(Stream& stream, const ParameterList<T>& list, const UpdateStep<T>& step,
               const Larc& larc, double* cosines, T* rates) {
  const Buffer<Norms> buffer(stream, list.blocks);
  Norms* parts = buffer.get();
  BlockNorms(stream, list, step, parts);
  ReduceRows(
      stream, list.size, list.max_blocks, Norms{0, 0, 0, 0},
      [=] __host__ __device__(int index, int column) {
        const UpdatedParameter<T>& p = list.entries[index];
        const int blocks = (p.count + ParameterList<T>::kBlock - 1) / ParameterList<T>::kBlock;
        return column < blocks ? parts[p.first_block + column] : Norms{0, 0, 0, 0};
      },
      AddNorms(),
      [=] __host__ __device__(int index, Norms squares) {
        rates[index] = LarcRate(larc, step.rate, list.entries[index].rate_multiplier, squares,
                                cosines + index);
      });
}

template <typename T>
void SumGradients(Stream& stream, size_t n, const T* gradients, double* sums) {
  constexpr int kRows = 512;
  const int columns = static_cast<int>(kernels::CeilDiv(n, kRows));
  const Buffer<Sums> buffer(stream, kRows);
  Sums* parts = buffer.get();
  ReduceRows(
      stream, kRows, columns, Sums{0, 0},
      [=] __host__ __device__(int row, int column) {
        const size_t i = size_t(row) * columns + column;
        if (i >= n) return Sums{0, 0};
        const double g = gradients[i];
        return Sums{g * g, g - g == 0 ? 0. : 1.};  // NaN for infinities and NaN
      },
      AddSums(), [=] __host__ __device__(int row, Sums sum) { parts[row] = sum; });
  ReduceRows(
      stream, 1, kRows, Sums{0, 0},
      [=] __host__ __device__(int, int column) { return parts[column]; }, AddSums(),
      [=] __host__ __device__(int, Sums sum) {
        sums[0] += sum.squares;
        sums[1] += sum.infinite;
      });
}

#define INSTANTIATE(T)                                                                          \
  template void SgdUpdate(Stream&, const ParameterList<T>&, const UpdateStep<T>&, T);           \
  template void NesterovUpdate(Stream&, const ParameterList<T>&, const UpdateStep<T>&, T);      \
  template void AdaGradUpdate(Stream&, const ParameterList<T>&, const UpdateStep<T>&, T);       \
  template void RmsPropUpdate(Stream&, const ParameterList<T>&, const UpdateStep<T>&, T, T);    \
  template void AdaDeltaUpdate(Stream&, const ParameterList<T>&, const UpdateStep<T>&, T, T);   \
  template void AdamUpdate(Stream&, const ParameterList<T>&, const UpdateStep<T>&, T, T, T, T); \
  template void LarcRates(Stream&, const ParameterList<T>&, const UpdateStep<T>&, const Larc&,  \
                          double*, T*);                                                         \
  template void SumGradients(Stream&, size_t, const T*, double*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace caffe::cuda
