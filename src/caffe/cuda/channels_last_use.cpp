// Decides whether nets on a GPU store blobs with channels last.
#include <atomic>
#include <cstdlib>
#include <string>

#include "caffe/kernels/cuda/convolution.hpp"

namespace caffe::cuda {
namespace {

ChannelsLastUse FromEnvironment() {
  const char* value = std::getenv("CAFFE_CHANNELS_LAST");
  const std::string said = value ? value : "";
  return said == "0"   ? ChannelsLastUse::NEVER
         : said == "1" ? ChannelsLastUse::ALWAYS
                       : ChannelsLastUse::WHERE_IT_PAYS;
}

std::atomic<ChannelsLastUse>& Use() {
  static std::atomic<ChannelsLastUse> use{FromEnvironment()};
  return use;
}

}  // namespace

ChannelsLastUse GetChannelsLastUse() { return Use(); }

void SetChannelsLastUse(ChannelsLastUse use) { Use() = use; }

// cuDNN's kernels for tensor cores take 16-bit types with channels last: it converts Caffe's order
// before and after each product. FLOAT uses tensor cores only if cudnn_math_override allows
// rounding, and gains nothing otherwise. Groups of one channel have kernels of the library's own in
// both orders; other groups, more than two spatial axes and algorithms named by number stay as they
// are known to work.
bool ChannelsLastPays(const kernels::ConvolutionShape& shape, const ConvolutionOptions& options,
                      ElementType type) {
  const ChannelsLastUse use = GetChannelsLastUse();
  if (use == ChannelsLastUse::NEVER || shape.axes() < 1) return false;
  if (use == ChannelsLastUse::ALWAYS) return true;
  constexpr int kWithoutTensorCores = 3;  // CUDNN_FMA_MATH
  const bool on_tensor_cores =
      options.math != kWithoutTensorCores &&
      (type == ElementType::FLOAT16 || (type == ElementType::FLOAT && options.math >= 0));
  const bool fits = shape.axes() <= 2 && (shape.group == 1 || shape.group == shape.channels);
  const bool named = options.forward_algorithm >= 0 || options.data_algorithm >= 0 ||
                     options.weights_algorithm >= 0;
  return options.use_cudnn && on_tensor_cores && fits && !named;
}

}  // namespace caffe::cuda
