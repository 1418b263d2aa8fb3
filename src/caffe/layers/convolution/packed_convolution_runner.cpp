#include "packed_convolution_runner.hpp"

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "fused_followers.hpp"

namespace caffe {
namespace {

/// Channels up to which a bottom in Caffe's order is read so: those of pictures.
constexpr int kPlainChannels = 4;

/// Bytes of scratch of each thread for Winograd's algorithm: of all together a tenth of what it
/// reads and writes, as far as it can work so.
constexpr size_t kLeastScratch = size_t(3) << 17;

size_t WinogradScratch(const kernels::ConvolutionShape& s, int num) {
  const size_t threads = std::max(1, omp_get_max_threads());
  const size_t bytes = num * (s.input_size() + s.output_size()) * sizeof(float16);
  return std::min(kernels::kWinogradScratch, std::max(kLeastScratch, bytes / 10 / threads));
}

}  // namespace

bool SameShape(const kernels::ConvolutionShape& a, const kernels::ConvolutionShape& b) {
  return a.channels == b.channels && a.outputs == b.outputs && a.group == b.group &&
         a.input == b.input && a.output == b.output && a.kernel == b.kernel &&
         a.stride == b.stride && a.pad == b.pad && a.dilation == b.dilation;
}

void FoldBias(const Pointwise& pointwise, vector<float>* bias) {
  if (pointwise.scale.empty()) return;
  bias->resize(pointwise.scale.size(), 0.f);
  for (size_t o = 0; o < bias->size(); ++o) {
    (*bias)[o] = (*bias)[o] * pointwise.scale[o] + pointwise.shift[o];
  }
}

template <typename Dtype>
bool PackedConvolutionRunner<Dtype>::Prepare(const kernels::ConvolutionShape& shape, int num,
                                             bool rounds, const Blob<Dtype>& bottom) {
  const Layout layout = LayoutFor<float16>(bottom.data_tensor(), bottom.shape());
  const bool plain =
      layout.kind == Layout::PLAIN && shape.group == 1 && shape.channels <= kPlainChannels;
  if (convolution_ && plain == convolution_->plain_input() && num == num_ &&
      SameShape(shape, shape_)) {
    return true;
  }
  const bool was_plain = convolution_ && convolution_->plain_input();
  const bool was_winograd = by_winograd_;
  convolution_ = kernels::PackedConvolution::Make(
      shape, plain, rounds ? ElementType::FLOAT16 : ElementType::FLOAT);
  shape_ = shape;
  num_ = num;
  by_winograd_ = false;
  if (!convolution_) return false;
  // The tiles of AMX do three products in less time than vectors the quarter that Winograd's
  // algorithm leaves of one, going by what either can do at most.
  const bool in_tiles = kernels::CpuInstructionSet().has_tiles();
  if (rounds && !in_tiles && !plain && num > 0 && kernels::HasWinograd(shape)) {
    winograd_ = kernels::WinogradShapeOf(shape, num, convolution_->block());
    by_winograd_ = kernels::WinogradPays(winograd_);
  }
  // Weights are packed alike for images of all sizes.
  if (plain != was_plain || by_winograd_ != was_winograd) stamp_ = 0;
  return true;
}

template <typename Dtype>
size_t PackedConvolutionRunner<Dtype>::packed_size() const {
  return by_winograd_ ? kernels::WinogradPackedSize(winograd_) : convolution_->packed_size();
}

template <typename Dtype>
void PackedConvolutionRunner<Dtype>::Pack(const float16* weights, const float* scale,
                                          float16* packed) const {
  if (!by_winograd_) return convolution_->PackWeights(weights, scale, packed);
  if (!scale) return kernels::WinogradPackWeights(winograd_, weights, packed);
  const size_t row = shape_.column_rows();
  vector<float> scaled(shape_.weight_count());
  kernels::Convert(scaled.size(), weights, scaled.data());
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= scale[i / row];
  kernels::WinogradPackWeights(winograd_, scaled.data(), packed);
}

template <typename Dtype>
std::function<void(const float16*, float16*)> PackedConvolutionRunner<Dtype>::Unpacker() const {
  if (by_winograd_) {
    return [shape = winograd_](const float16* packed, float16* weights) {
      kernels::WinogradUnpackWeights(shape, packed, weights);
    };
  }
  return [convolution = convolution_](const float16* packed, float16* weights) {
    convolution->UnpackWeights(packed, weights);
  };
}

template <typename Dtype>
void PackedConvolutionRunner<Dtype>::SetWeights(const Blobs& blobs, uint64_t stamp,
                                                const Pointwise& pointwise) {
  for (const auto& blob : blobs) stamp = Mix(stamp, WriteStamp(*blob));
  activation_ = pointwise.activation;
  if (stamp == stamp_) return;
  bias_.assign(shape_.outputs, 0.f);
  if (blobs.size() > 1) {
    kernels::Convert(bias_.size(), blobs[1]->template cpu_data_as<float16>(), bias_.data());
  }
  FoldBias(pointwise, &bias_);
  Blob<Dtype>& blob = *blobs[0];
  const bool folds = !pointwise.scale.empty();
  const auto packed = std::make_shared<SyncedMemory>(packed_size() * sizeof(float16));
  Pack(blob.template cpu_data_as<float16>(), folds ? pointwise.scale.data() : nullptr,
       static_cast<float16*>(packed->overwrite_cpu_data()));
  weights_ = packed;
  stamp_ = stamp;
  if (folds || blob.shares_data()) return;
  blob.data_tensor().Replace(ElementType::FLOAT16, [packed, unpack = Unpacker()](void* weights) {
    unpack(static_cast<const float16*>(packed->cpu_data()), static_cast<float16*>(weights));
  });
}

template <typename Dtype>
kernels::PostOps PackedConvolutionRunner<Dtype>::Post() const {
  kernels::PostOps post;
  post.bias = bias_.data();
  post.activation = activation_;
  return post;
}

template <typename Dtype>
bool PackedConvolutionRunner<Dtype>::ForwardWinograd(const float16* x, float16* y) const {
  const size_t most = WinogradScratch(shape_, num_);
  Workspace::Buffer<char> scratch(Context::Current().workspace(),
                                  kernels::WinogradScratchSize(winograd_, most));
  return kernels::WinogradForward(winograd_, x, static_cast<const float16*>(weights_->cpu_data()),
                                  Post(), y, scratch.get(), most);
}

template <typename Dtype>
template <typename X>
void PackedConvolutionRunner<Dtype>::ForwardDirect(const X* x, const float16* weights,
                                                   float16* y) const {
  Workspace::Buffer<float> scratch(Context::Current().workspace(),
                                   convolution_->scratch_size(num_));
  convolution_->Forward(num_, x, weights, Post(), scratch.get(), y);
}

template <typename Dtype>
void PackedConvolutionRunner<Dtype>::Forward(const Blob<Dtype>& bottom, Blob<Dtype>* top) const {
  const int block = convolution_->block();
  const Layout source =
      convolution_->plain_input()
          ? Layout()
          : Layout::ChannelsBlocked(block, num_, shape_.channels, shape_.input_spatial());
  const Layout target =
      Layout::ChannelsBlocked(block, num_, shape_.outputs, shape_.output_spatial());
  const float16* weights = static_cast<const float16*>(weights_->cpu_data());
  if (convolution_->plain_input() && bottom.data_tensor().newest_type() == ElementType::FLOAT) {
    // A net's input, say: it needs no copy in halves.
    const float* x = ReadAs<float>(bottom.data_tensor(), source);
    return ForwardDirect(x, weights, OverwriteAs<float16>(top->data_tensor(), target));
  }
  const float16* x = ReadAs<float16>(bottom.data_tensor(), source);
  float16* y = OverwriteAs<float16>(top->data_tensor(), target);
  if (!by_winograd_) return ForwardDirect(x, weights, y);
  if (ForwardWinograd(x, y)) return;
  // Infinities and NaNs belong to single outputs.
  vector<float16> plain(shape_.weight_count()), packed(convolution_->packed_size());
  kernels::WinogradUnpackWeights(winograd_, weights, plain.data());
  convolution_->PackWeights(plain.data(), nullptr, packed.data());
  ForwardDirect(x, packed.data(), y);
}

template class PackedConvolutionRunner<float>;
template class PackedConvolutionRunner<double>;

}  // namespace caffe
