#ifndef CAFFE_ON_DEVICE_HPP_
#define CAFFE_ON_DEVICE_HPP_

#include <cstddef>

#include "caffe/tensor.hpp"

namespace caffe::on_device {

// What tensors and blobs do where their values lie. Each function returns false, and has done
// nothing, where the newest values are the host's, are of a type that no kernel computes in, or the
// library was built without CUDA: then it is the host's work.

#ifdef CPU_ONLY
inline bool Convert(size_t, ElementType, SyncedMemory*, ElementType, SyncedMemory*) {
  return false;
}
inline bool ToChannelsLast(const Layout&, ElementType, SyncedMemory*, SyncedMemory*) {
  return false;
}
inline bool FromChannelsLast(const Layout&, ElementType, SyncedMemory*, SyncedMemory*) {
  return false;
}
inline bool Copy(Tensor*, size_t, Tensor*) { return false; }
inline bool Asum(Tensor*, size_t, double*) { return false; }
inline bool Sumsq(Tensor*, size_t, double*) { return false; }
inline bool Scale(Tensor*, size_t, double) { return false; }
inline bool Subtract(Tensor*, size_t, ElementType, Tensor*) { return false; }
#else
bool Convert(size_t count, ElementType from, SyncedMemory* source, ElementType to,
             SyncedMemory* target);
/// From Caffe's order to `layout`, and back, also where the host has a copy. In GPU mode channels
/// last are always made on the device, where their readers are.
bool ToChannelsLast(const Layout& layout, ElementType type, SyncedMemory* source,
                    SyncedMemory* target);
bool FromChannelsLast(const Layout& layout, ElementType type, SyncedMemory* source,
                      SyncedMemory* target);
/// to = from, in the type and layout that are newest in `from`.
bool Copy(Tensor* from, size_t count, Tensor* to);
/// *sum = the sum of |x|; waits for the result.
bool Asum(Tensor* x, size_t count, double* sum);
/// *sum = the sum of x^2; waits for the result.
bool Sumsq(Tensor* x, size_t count, double* sum);
/// x = factor x.
bool Scale(Tensor* x, size_t count, double factor);
/// y = y - x in `type`.
bool Subtract(Tensor* x, size_t count, ElementType type, Tensor* y);
#endif

}  // namespace caffe::on_device

#endif  // CAFFE_ON_DEVICE_HPP_
