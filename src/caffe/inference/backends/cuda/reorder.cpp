// A value in another type or layout.
#include "caffe/blob.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/reorder_node.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

class ReorderStep : public Step {
 public:
  bool takes_strides() const override { return true; }

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.shape == y_.shape, "a reorder's top has shape ", ShapeString(y_.shape),
            ", its bottom ", ShapeString(x_.shape));
  }

  void Run(void*) override {
    if (CountOf(x_.shape) == 0) return;
    Stream& stream = caffe::cuda::CurrentStream();
    const int images = x_.shape.size() < 2 ? 1 : x_.shape[0];
    const int channels = x_.shape.size() < 2 ? 1 : x_.shape[1];
    const int spatial = static_cast<int>(CountOf(x_.shape) / images / channels);
    if (x_.layout == kPlain && y_.layout == kPlain) {
      caffe::cuda::CopyPlanes(stream, images, channels, spatial, PlanesOf(x_), PlanesOf(y_));
    } else if (x_.layout == kPlain) {
      caffe::cuda::ToChannelsLast(stream, images, channels, spatial, PlanesOf(x_), PixelsOf(y_),
                                  ChannelCount(y_));
    } else if (y_.layout == kPlain) {
      caffe::cuda::FromChannelsLast(stream, images, channels, spatial, PixelsOf(x_), PlanesOf(y_));
    } else {
      CopyChannels(stream);
    }
  }

 private:
  // The padding depends on the type.
  void CopyChannels(Stream& stream) const {
    const int both = std::min(ChannelCount(x_), ChannelCount(y_));
    caffe::cuda::CopyPixels(stream, PixelCount(x_), both, PixelsOf(x_), PixelsOf(y_));
    if (both == ChannelCount(y_)) return;
    // The padding repeats existing channels: finite but unspecified.
    const int missing = ChannelCount(y_) - both;
    for (int done = 0; done < missing; done += std::min(both, missing)) {
      Operand rest = y_;
      rest.data = y_.as<char>() + (both + done) * SizeOf(y_.type);
      caffe::cuda::CopyPixels(stream, PixelCount(x_), std::min(both, missing - done), PixelsOf(x_),
                              PixelsOf(rest));
    }
  }

  Operand x_, y_;
};

class ReorderImpl : public ReorderImplBase {
  std::unique_ptr<Step> MakeStep() const override { return std::make_unique<ReorderStep>(); }
};

}  // namespace

const Implementation& Reorder() {
  static const ReorderImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
