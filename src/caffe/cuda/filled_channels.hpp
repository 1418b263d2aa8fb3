#ifndef CAFFE_CUDA_FILLED_CHANNELS_HPP_
#define CAFFE_CUDA_FILLED_CHANNELS_HPP_

#include <memory>

#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"
#include "caffe/kernels/cuda/fused_convolution.hpp"

namespace caffe::cuda {

/// Channels padded to a multiple that tensor cores take in FLOAT16.
inline int FilledChannels(int channels) {
  return static_cast<int>(kernels::RoundUp(channels, ChannelAlignment(ElementType::FLOAT16)));
}

/// `num` images with channels last, filled up with zeros: a copy where they do not lie so.
class FilledImages {
 public:
  FilledImages(Stream& stream, int num, int channels, size_t spatial, bool channels_last,
               const float16* x)
      : data_(const_cast<float16*>(x)) {
    const int filled = FilledChannels(channels);
    if (channels_last && filled == channels) return;
    buffer_ = std::make_unique<Buffer<float16>>(stream, num * spatial * filled);
    // Pixels are images of one place.
    const int images = static_cast<int>(channels_last ? num * spatial : num);
    const int places = static_cast<int>(channels_last ? 1 : spatial);
    ToChannelsLast(stream, images, channels, places,
                   {data_, ElementType::FLOAT16, size_t(channels) * places},
                   {buffer_->get(), ElementType::FLOAT16, filled}, filled);
    data_ = buffer_->get();
  }
  float16* get() const { return data_; }

 private:
  std::unique_ptr<Buffer<float16>> buffer_;  // null: none is needed
  float16* data_;
};

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_FILLED_CHANNELS_HPP_
