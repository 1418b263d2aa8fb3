#include "caffe/device/on_device.hpp"

#include "caffe/context.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"

namespace caffe::on_device {
namespace {

bool IsReal(ElementType type) {
  return type == ElementType::FLOAT || type == ElementType::DOUBLE || type == ElementType::FLOAT16;
}

/// True if the newest values are on the device alone and of a type that kernels compute in.
bool LiesOnDevice(Tensor* tensor) {
  const ElementType type = tensor->newest_type();
  const Layout layout = tensor->newest_layout(type);
  return IsReal(type) && layout.kind != Layout::CHANNELS_BLOCKED &&
         tensor->has_slot(type, layout) &&
         tensor->Read(type, layout).head() == SyncedMemory::HEAD_AT_GPU;
}

/// What LiesOnDevice found, in whatever order the elements are.
SyncedMemory& NewestOf(Tensor* tensor) {
  const ElementType type = tensor->newest_type();
  return tensor->Read(type, tensor->newest_layout(type));
}

/// Calls f(stream, n, x, sum) with the values as they lie and brings the sum to the host.
template <typename Function>
bool SumUp(Tensor* tensor, size_t count, double* sum, const Function& f) {
  if (count == 0 || !LiesOnDevice(tensor)) return false;
  Stream& stream = Context::Current().stream();
  const cuda::Buffer<double> result(stream, 1);
  Dispatch(tensor->newest_type(), [&](auto tag) {
    using T = decltype(tag);
    f(stream, static_cast<int>(count), static_cast<const T*>(NewestOf(tensor).gpu_data()),
      result.get());
  });
  Device::Get().CopyToHost(sum, result.get(), sizeof(*sum), stream);
  stream.Synchronize();
  return true;
}

}  // namespace

bool Convert(size_t count, ElementType from, SyncedMemory* source, ElementType to,
             SyncedMemory* target) {
  if (source->head() != SyncedMemory::HEAD_AT_GPU || !IsReal(from) || !IsReal(to)) return false;
  cuda::Convert(Context::Current().stream(), static_cast<int>(count), from, source->gpu_data(), to,
                target->fill_gpu_data());
  return true;
}

namespace {

/// True for what kernels turn to Caffe's order and back.
bool IsTurned(const Layout& layout, ElementType type) {
  return layout.kind == Layout::CHANNELS_LAST && IsReal(type);
}

bool IsOnDevice(const SyncedMemory& memory) {
  const SyncedMemory::SyncedHead head = memory.head();
  return head == SyncedMemory::HEAD_AT_GPU || head == SyncedMemory::SYNCED;
}

}  // namespace

bool ToChannelsLast(const Layout& layout, ElementType type, SyncedMemory* source,
                    SyncedMemory* target) {
  const bool there = IsOnDevice(*source) || Caffe::mode() == Caffe::GPU;
  if (!IsTurned(layout, type) || !there) return false;
  cuda::TurnToChannelsLast(Context::Current().stream(), type, static_cast<int>(layout.num),
                           static_cast<int>(layout.channels), static_cast<int>(layout.spatial),
                           source->gpu_data(), target->fill_gpu_data());
  return true;
}

bool FromChannelsLast(const Layout& layout, ElementType type, SyncedMemory* source,
                      SyncedMemory* target) {
  if (!IsTurned(layout, type) || !IsOnDevice(*source)) return false;
  cuda::TurnFromChannelsLast(Context::Current().stream(), type, static_cast<int>(layout.num),
                             static_cast<int>(layout.channels), static_cast<int>(layout.spatial),
                             source->gpu_data(), target->fill_gpu_data());
  return true;
}

// Another extent than the tensor's can be copied in Caffe's order only.
bool Copy(Tensor* from, size_t count, Tensor* to) {
  if (count == 0 || !LiesOnDevice(from)) return false;
  const ElementType type = from->newest_type();
  const Layout newest = from->newest_layout(type);
  const Layout layout = newest.extent(count) == to->count() ? newest : Layout();
  Device::Get().CopyOnDevice(to->Overwrite(type, layout).overwrite_gpu_data(),
                             from->Read(type, layout).gpu_data(), count * SizeOf(type),
                             Context::Current().stream());
  return true;
}

bool Asum(Tensor* x, size_t count, double* sum) {
  return SumUp(x, count, sum, [](auto&&... arguments) { cuda::Asum(arguments...); });
}

bool Sumsq(Tensor* x, size_t count, double* sum) {
  return SumUp(x, count, sum, [](auto&&... arguments) { cuda::Sumsq(arguments...); });
}

bool Scale(Tensor* x, size_t count, double factor) {
  if (count == 0 || !LiesOnDevice(x)) return false;
  Dispatch(x->newest_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout layout = x->newest_layout(kElementType<T>);
    T* values = static_cast<T*>(x->Write(kElementType<T>, layout).mutable_gpu_data());
    cuda::Scale<T>(Context::Current().stream(), static_cast<int>(count),
                   static_cast<AccumulatorType<T>>(factor), values, values);
  });
  return true;
}

bool Subtract(Tensor* x, size_t count, ElementType type, Tensor* y) {
  if (count == 0 || !LiesOnDevice(x)) return false;
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    cuda::Axpby(Context::Current().stream(), static_cast<int>(count), AccumulatorType<T>(-1),
                static_cast<const T*>(x->gpu_data(type)), AccumulatorType<T>(1),
                static_cast<T*>(y->mutable_gpu_data(type)));
  });
  return true;
}

}  // namespace caffe::on_device
