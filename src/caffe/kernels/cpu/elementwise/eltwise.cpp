#include "caffe/kernels/eltwise.hpp"

#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"
#include "chunks.hpp"
#include "half_arithmetic.hpp"

namespace caffe::kernels {

namespace {

/// y = f(... f(f(x[0], x[1]), x[2]) ..., x.back()) by step(i, length, folded, x[i], to), where `to`
/// may be `folded`.
template <typename T, typename Step>
void FoldArrays(size_t n, const std::vector<const T*>& x, T* y, const Step& step) {
  using F = LoopType<T>;
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> first, next;
    OutputChunk<F, T> out;
    F between[kChunk];
    const F* folded = first.Load(x[0] + offset, length);
    for (size_t i = 1; i < x.size(); ++i) {
      F* to = i + 1 == x.size() ? out.Begin(y + offset) : between;
      step(i, length, folded, next.Load(x[i] + offset, length), to);
      folded = to;
    }
    out.Store(y + offset, length);
  });
}

}  // namespace

template <typename T>
void AddArrays(size_t n, const std::vector<const T*>& x, T* y) {
  if constexpr (kAreHalves<T>) {
    if (x.size() == 2) return OfHalves(n, ChosenKernels().halves.add, x[0], x[1], y);
  }
  const auto& loops = Loops<LoopType<T>>();
  FoldArrays(n, x, y, [&](size_t, size_t length, const auto* sum, const auto* next, auto* to) {
    loops.add(length, sum, next, to);
  });
}

template <typename T>
void AddWeightedArrays(size_t n, const std::vector<const T*>& x,
                       const std::vector<AccumulatorType<T>>& coefficients, T* y) {
  using F = LoopType<T>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> in;
    OutputChunk<F, T> out;
    F total[kChunk];
    loops.affine(length, coefficients[0], F(0), in.Load(x[0] + offset, length), total);
    for (size_t i = 1; i < x.size(); ++i) {
      loops.axpby(length, coefficients[i], in.Load(x[i] + offset, length), F(1), total);
    }
    loops.affine(length, F(1), F(0), total, out.Begin(y + offset));
    out.Store(y + offset, length);
  });
}

template <typename T>
void MultiplyArrays(size_t n, const std::vector<const T*>& x, T* y) {
  if constexpr (kAreHalves<T>) {
    if (x.size() == 2) return OfHalves(n, ChosenKernels().halves.multiply, x[0], x[1], y);
  }
  const auto& loops = Loops<LoopType<T>>();
  FoldArrays(n, x, y, [&](size_t, size_t length, const auto* product, const auto* next, auto* to) {
    loops.multiply(length, product, next, to);
  });
}

template <typename T, typename D>
void MultiplyGradient(size_t n, const std::vector<const T*>& x, size_t but, const D* dy, D* dx) {
  using F = LoopType<T, D>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> in;
    InputChunk<F, D> gradient;
    OutputChunk<F, D> out;
    F product[kChunk];
    loops.affine(length, F(1), F(0), gradient.Load(dy + offset, length), product);
    for (size_t i = 0; i < x.size(); ++i) {
      if (i != but) loops.multiply(length, product, in.Load(x[i] + offset, length), product);
    }
    loops.affine(length, F(1), F(0), product, out.Begin(dx + offset));
    out.Store(dx + offset, length);
  });
}

// Caffe's order of operands, which decides for NaNs: the first two, then each next one and the
// largest.
template <typename T>
void MaximumOfArrays(size_t n, const std::vector<const T*>& x, T* y) {
  if constexpr (kAreHalves<T>) {
    if (x.size() == 2) return OfHalves(n, ChosenKernels().halves.maximum, x[0], x[1], y);
  }
  const auto& loops = Loops<LoopType<T>>();
  FoldArrays(n, x, y, [&](size_t i, size_t length, const auto* best, const auto* next, auto* to) {
    if (i == 1) {
      loops.maximum(length, best, next, to);
    } else {
      loops.maximum(length, next, best, to);
    }
  });
}

template <typename T, typename D>
void MaximumGradient(size_t n, const std::vector<const T*>& x, size_t i, const D* dy, D* dx) {
  using F = LoopType<T, D>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> first, second;
    InputChunk<F, D> gradient;
    OutputChunk<F, D> out;
    F best[kChunk], marks[kChunk];  // marks: 1 where the largest so far is x[i], else 0
    const F* a = first.Load(x[0] + offset, length);
    const F* b = second.Load(x[1] + offset, length);
    std::fill_n(marks, length, F(i == 1));
    loops.mark_larger(length, a, b, F(i == 0), marks);
    if (x.size() > 2) loops.maximum(length, a, b, best);
    for (size_t j = 2; j < x.size(); ++j) {
      const F* next = first.Load(x[j] + offset, length);
      loops.mark_larger(length, next, best, F(i == j), marks);
      loops.maximum(length, next, best, best);
    }
    loops.gate(length, marks, gradient.Load(dy + offset, length), out.Begin(dx + offset));
    out.Store(dx + offset, length);
  });
}

#define CAFFE_OF_TYPE(T)                                                       \
  template void AddArrays(size_t, const std::vector<const T*>&, T*);           \
  template void AddWeightedArrays(size_t, const std::vector<const T*>&,        \
                                  const std::vector<AccumulatorType<T>>&, T*); \
  template void MultiplyArrays(size_t, const std::vector<const T*>&, T*);      \
  template void MaximumOfArrays(size_t, const std::vector<const T*>&, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_OF_TYPE)
#undef CAFFE_OF_TYPE

#define CAFFE_OF_PAIR(T, D)                                                                   \
  template void MultiplyGradient(size_t, const std::vector<const T*>&, size_t, const D*, D*); \
  template void MaximumGradient(size_t, const std::vector<const T*>&, size_t, const D*, D*);
CAFFE_FOR_EACH_PAIR(CAFFE_OF_PAIR)
#undef CAFFE_OF_PAIR

}  // namespace caffe::kernels
