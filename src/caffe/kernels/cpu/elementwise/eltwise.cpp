#include "caffe/kernels/eltwise.hpp"

#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "chunks.hpp"

namespace caffe::kernels {

template <typename T>
void AddArrays(size_t n, const std::vector<const T*>& x, T* y) {
  using F = LoopType<T>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> in, second;
    OutputChunk<F, T> out;
    F total[kChunk];
    const bool two = x.size() == 2;
    loops.add(length, in.Load(x[0] + offset, length), second.Load(x[1] + offset, length),
              two ? out.Begin(y + offset) : total);
    for (size_t i = 2; i + 1 < x.size(); ++i) {
      loops.axpby(length, F(1), in.Load(x[i] + offset, length), F(1), total);
    }
    if (!two) {
      loops.add(length, total, in.Load(x.back() + offset, length), out.Begin(y + offset));
    }
    out.Store(y + offset, length);
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
  using F = LoopType<T>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> in, next;
    OutputChunk<F, T> out;
    F product[kChunk];
    const F* so_far = in.Load(x[0] + offset, length);
    for (size_t i = 1; i < x.size(); ++i) {
      F* to = i + 1 == x.size() ? out.Begin(y + offset) : product;
      loops.multiply(length, so_far, next.Load(x[i] + offset, length), to);
      so_far = to;
    }
    out.Store(y + offset, length);
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

template <typename T>
void MaximumOfArrays(size_t n, const std::vector<const T*>& x, T* y) {
  using F = LoopType<T>;
  const ArithmeticLoops<F>& loops = Loops<F>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, T> in, second;
    OutputChunk<F, T> out;
    F* best = out.Begin(y + offset);
    loops.maximum(length, in.Load(x[0] + offset, length), second.Load(x[1] + offset, length), best);
    for (size_t i = 2; i < x.size(); ++i) {
      loops.maximum(length, in.Load(x[i] + offset, length), best, best);
    }
    out.Store(y + offset, length);
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
  template void MaximumOfArrays(size_t, const std::vector<const T*>&, T*)
CAFFE_OF_TYPE(float);
CAFFE_OF_TYPE(double);
CAFFE_OF_TYPE(float16);
#undef CAFFE_OF_TYPE

#define CAFFE_OF_PAIR(T, D)                                                                   \
  template void MultiplyGradient(size_t, const std::vector<const T*>&, size_t, const D*, D*); \
  template void MaximumGradient(size_t, const std::vector<const T*>&, size_t, const D*, D*)
CAFFE_OF_PAIR(double, double);
CAFFE_OF_PAIR(float, float);
CAFFE_OF_PAIR(float, float16);
CAFFE_OF_PAIR(float16, float);
CAFFE_OF_PAIR(float16, float16);
#undef CAFFE_OF_PAIR

}  // namespace caffe::kernels
