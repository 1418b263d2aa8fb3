#include "caffe/kernels/cuda/eltwise.hpp"

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/instances.hpp"
#include "map.hpp"

namespace caffe::cuda {
namespace {

constexpr size_t kAtOnce = 16;

/// The part of a list that one kernel takes.
template <typename T>
struct Part {
  int size = 0;
  T items[kAtOnce];
};

template <typename T>
Part<T> PartOf(const std::vector<T>& list, size_t first) {
  Part<T> part;
  for (size_t i = first; i < std::min(first + kAtOnce, list.size()); ++i) {
    part.items[part.size++] = list[i];
  }
  return part;
}

/// Elements of memory for intermediate results of lists that one kernel cannot take.
template <typename List>
size_t Between(const List& list, int n) {
  return list.size() > kAtOnce ? n : 0;
}

}  // namespace

template <typename T>
void WeightedSum(Stream& stream, int n, const std::vector<const T*>& x,
                 const std::vector<AccumulatorType<T>>& coefficients, T* y) {
  using F = Math<T>;
  if (x.size() == 2) {
    const F a = coefficients[0], b = coefficients[1];
    Map(stream, n, x[0], x[1], y, [=] __host__ __device__(F first, F second) {
      F sum = F(0) + a * first;
      return sum += b * second;
    });
    return;
  }
  Buffer<F> between(stream, Between(x, n));
  F* carried = between.get();
  for (size_t first = 0; first < x.size(); first += kAtOnce) {
    const Part<const T*> part = PartOf(x, first);
    const Part<F> factors = PartOf(coefficients, first);
    const bool begins = first == 0, ends = first + kAtOnce >= x.size();
    ForEach(stream, n, [=] __host__ __device__(int k) {
      F sum = begins ? F(0) : carried[k];
      for (int i = 0; i < part.size; ++i) sum += factors.items[i] * Load(part.items[i] + k);
      if (ends) {
        Store(y + k, sum);
      } else {
        carried[k] = sum;
      }
    });
  }
}

template <typename T, typename D>
void ProductGradient(Stream& stream, int n, const std::vector<const T*>& x, size_t but, const D* dy,
                     D* dx) {
  using F = Math<D>;
  std::vector<const T*> others;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i != but) others.push_back(x[i]);
  }
  Buffer<F> between(stream, Between(others, n));
  F* carried = between.get();
  for (size_t first = 0; first == 0 || first < others.size(); first += kAtOnce) {
    const Part<const T*> part = PartOf(others, first);
    const bool begins = first == 0, ends = first + kAtOnce >= others.size();
    ForEach(stream, n, [=] __host__ __device__(int k) {
      F product = begins ? dy ? static_cast<F>(Load(dy + k)) : F(1) : carried[k];
      for (int i = 0; i < part.size; ++i) product *= static_cast<F>(Load(part.items[i] + k));
      if (ends) {
        Store(dx + k, product);
      } else {
        carried[k] = product;
      }
    });
  }
}

template <typename T>
void Product(Stream& stream, int n, const std::vector<const T*>& x, T* y) {
  ProductGradient<T, T>(stream, n, x, x.size(), nullptr, y);
}

template <typename T>
void Maximum(Stream& stream, int n, const std::vector<const T*>& x, T* y, int* which) {
  using F = Math<T>;
  Buffer<F> between(stream, Between(x, n));
  Buffer<int> between_which(stream, Between(x, n));
  F* carried = between.get();
  int* carried_which = between_which.get();
  for (size_t first = 0; first < x.size(); first += kAtOnce) {
    const Part<const T*> part = PartOf(x, first);
    const int offset = static_cast<int>(first);
    const bool begins = first == 0, ends = first + kAtOnce >= x.size();
    ForEach(stream, n, [=] __host__ __device__(int k) {
      F best = begins ? static_cast<F>(Load(part.items[0] + k)) : carried[k];
      int best_at = begins ? 0 : carried_which[k];
      for (int i = begins ? 1 : 0; i < part.size; ++i) {
        const F value = Load(part.items[i] + k);
        if (offset + i == 1 ? best > value : !(value > best)) continue;
        best = value;
        best_at = offset + i;
      }
      if (!ends) {
        carried[k] = best;
        carried_which[k] = best_at;
        return;
      }
      if (y) Store(y + k, best);
      if (which) which[k] = best_at;
    });
  }
}

template <typename D>
void MaximumGradient(Stream& stream, int n, const int* which, int i, const D* dy, D* dx) {
  ForEach(stream, n, [=] __host__ __device__(int k) {
    Store(dx + k, which[k] == i ? Load(dy + k) : Math<D>(0));
  });
}

template <typename T>
void ScaleRowsAdd(Stream& stream, int rows, int length, const AccumulatorType<T>* a, const T* x,
                  const T* b, T* y) {
  ForEach(stream, rows * length, [=] __host__ __device__(int i) {
    Store(y + i, a[i / length] * Load(x + i) + Load(b + i));
  });
}

template <typename T, typename D>
void RowDots(Stream& stream, int rows, int length, const T* x, const D* dy, D* da) {
  SumRows<double>(
      stream, rows, length,
      [=] __host__ __device__(int row, int i) {
        const int at = row * length + i;
        return static_cast<double>(Load(x + at)) * static_cast<double>(Load(dy + at));
      },
      [=] __host__ __device__(int row, double sum) { Store(da + row, sum); });
}

template <typename D>
void ScaleRows(Stream& stream, int rows, int length, const AccumulatorType<D>* a, const D* dy,
               D* dx) {
  ForEach(stream, rows * length,
          [=] __host__ __device__(int i) { Store(dx + i, a[i / length] * Load(dy + i)); });
}

#define INSTANTIATE_PAIR(T, D)                                      \
  template void RowDots(Stream&, int, int, const T*, const D*, D*); \
  template void ProductGradient(Stream&, int, const std::vector<const T*>&, size_t, const D*, D*);
#define INSTANTIATE(T)                                                                         \
  template void ScaleRowsAdd(Stream&, int, int, const AccumulatorType<T>*, const T*, const T*, \
                             T*);                                                              \
  template void ScaleRows(Stream&, int, int, const AccumulatorType<T>*, const T*, T*);         \
  template void WeightedSum(Stream&, int, const std::vector<const T*>&,                        \
                            const std::vector<AccumulatorType<T>>&, T*);                       \
  template void Product(Stream&, int, const std::vector<const T*>&, T*);                       \
  template void Maximum(Stream&, int, const std::vector<const T*>&, T*, int*);                 \
  template void MaximumGradient(Stream&, int, const int*, int, const T*, T*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
CAFFE_FOR_EACH_PAIR(INSTANTIATE_PAIR)

}  // namespace caffe::cuda
