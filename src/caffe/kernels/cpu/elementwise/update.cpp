#include "caffe/kernels/update.hpp"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chunks.hpp"

namespace caffe::kernels {
namespace {

template <typename Function>
void ForEach(size_t n, Function&& f) {
  ParallelFor(n, kLoopGrain, [&f](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace

template <typename T>
void SgdUpdate(size_t n, T rate, T momentum, T* g, T* history) {
  ForEach(n, [=](size_t i) { g[i] = history[i] = momentum * history[i] + rate * g[i]; });
}

template <typename T>
void NesterovUpdate(size_t n, T rate, T momentum, T* g, T* history) {
  ForEach(n, [=](size_t i) {
    const T old = history[i];
    history[i] = momentum * old + rate * g[i];
    g[i] = (1 + momentum) * history[i] - momentum * old;
  });
}

template <typename T>
void SagUpdate(size_t n, T rate, T momentum, T* g, T* history) {
  ForEach(n, [=](size_t i) {
    history[i] = momentum * history[i] + (1 - momentum) * g[i];
    g[i] = rate * history[i];
  });
}

template <typename T>
void AdaGradUpdate(size_t n, T rate, T delta, T* g, T* history) {
  ForEach(n, [=](size_t i) {
    history[i] += g[i] * g[i];
    g[i] = rate * g[i] / (std::sqrt(history[i]) + delta);
  });
}

template <typename T>
void RmsPropUpdate(size_t n, T rate, T decay, T delta, T* g, T* history) {
  ForEach(n, [=](size_t i) {
    history[i] = decay * history[i] + (1 - decay) * g[i] * g[i];
    g[i] = rate * g[i] / (std::sqrt(history[i]) + delta);
  });
}

template <typename T>
void AdaDeltaUpdate(size_t n, T rate, T momentum, T delta, T* g, T* squares, T* updates) {
  ForEach(n, [=](size_t i) {
    squares[i] = momentum * squares[i] + (1 - momentum) * g[i] * g[i];
    const T update = g[i] * std::sqrt((delta + updates[i]) / (delta + squares[i]));
    updates[i] = momentum * updates[i] + (1 - momentum) * update * update;
    g[i] = rate * update;
  });
}

template <typename T>
void AdamUpdate(size_t n, T rate, T beta1, T beta2, T delta, T* g, T* mean, T* squares) {
  ForEach(n, [=](size_t i) {
    mean[i] = beta1 * mean[i] + (1 - beta1) * g[i];
    squares[i] = beta2 * squares[i] + (1 - beta2) * g[i] * g[i];
    g[i] = rate * mean[i] / (std::sqrt(squares[i]) + delta);
  });
}

template <typename T>
void AddL2Gradient(size_t n, T decay, const T* w, T* g) {
  ForEach(n, [=](size_t i) { g[i] += decay * w[i]; });
}

template <typename T>
void AddL1Gradient(size_t n, T decay, const T* w, T* g) {
  ForEach(n, [=](size_t i) { g[i] += decay * ((w[i] > 0) - (w[i] < 0)); });
}

// Tests the bits: a loop over float comparisons would not be vectorised.
template <typename T>
bool AllFinite(size_t n, const T* x) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  constexpr Bits kExponent = sizeof(T) == 8   ? Bits(0x7ff0000000000000)
                             : sizeof(T) == 4 ? Bits(0x7f800000)
                                              : Bits(0x7c00);
  std::atomic<bool> finite{true};
  ForEachChunk(n, [&](size_t offset, size_t length) {
    Bits found = 0;
    for (size_t i = offset; i < offset + length; ++i) {
      Bits bits;
      std::memcpy(&bits, x + i, sizeof(bits));
      found |= static_cast<Bits>((bits & kExponent) == kExponent);
    }
    if (found) finite = false;
  });
  return finite;
}

#define CAFFE_UPDATE(T)                                      \
  template void SgdUpdate(size_t, T, T, T*, T*);             \
  template void NesterovUpdate(size_t, T, T, T*, T*);        \
  template void SagUpdate(size_t, T, T, T*, T*);             \
  template void AdaGradUpdate(size_t, T, T, T*, T*);         \
  template void RmsPropUpdate(size_t, T, T, T, T*, T*);      \
  template void AdaDeltaUpdate(size_t, T, T, T, T*, T*, T*); \
  template void AdamUpdate(size_t, T, T, T, T, T*, T*, T*);  \
  template void AddL2Gradient(size_t, T, const T*, T*);      \
  template void AddL1Gradient(size_t, T, const T*, T*);      \
  template bool AllFinite(size_t, const T*)
CAFFE_UPDATE(float);
CAFFE_UPDATE(double);
#undef CAFFE_UPDATE
template bool AllFinite(size_t, const float16*);

}  // namespace caffe::kernels
