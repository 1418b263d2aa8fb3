#include "folded_convolution.hpp"

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cuda/own_convolutions.hpp"

namespace caffe::cuda {
namespace {

/// Those that are not there to fill up.
int UsedChannels(const ConvolutionProblem& problem) {
  return problem.used_channels > 0 ? problem.used_channels : problem.shape.channels;
}

size_t Aligned(size_t bytes) { return kernels::RoundUp(bytes, 256); }

class FoldedConvolution : public FusedConvolution {
 public:
  FoldedConvolution(const ConvolutionProblem& problem, std::shared_ptr<const FusedConvolution> way)
      : problem_(problem),
        folded_(*FoldedProblem(problem)),
        way_(std::move(way)),
        name_(kFolded + way_->name()) {}
  const std::string& name() const override { return name_; }
  size_t workspace_bytes() const override {
    return Aligned(InputBytes()) + Aligned(WeightBytes()) + way_->workspace_bytes();
  }

  void Run(Stream& stream, const ConvolutionArguments& arguments, void* workspace) const override {
    char* const input = static_cast<char*>(workspace);
    char* const weights = input + Aligned(InputBytes());
    FoldInput(stream, problem_, folded_, UsedChannels(problem_), arguments.x, input);
    FoldWeights(stream, problem_, folded_, UsedChannels(problem_), arguments.weights, weights);
    ConvolutionArguments folded = arguments;
    folded.x = input;
    folded.weights = weights;
    way_->Run(stream, folded, weights + Aligned(WeightBytes()));
  }

 private:
  size_t InputBytes() const {
    return folded_.num * folded_.shape.input_size() * SizeOf(folded_.input);
  }
  size_t WeightBytes() const { return folded_.shape.weight_count() * SizeOf(folded_.input); }

  const ConvolutionProblem problem_, folded_;
  const std::shared_ptr<const FusedConvolution> way_;
  const std::string name_;
};

}  // namespace

std::optional<ConvolutionProblem> FoldedProblem(const ConvolutionProblem& problem) {
  const kernels::ConvolutionShape& shape = problem.shape;
  if (!problem.channels_last || shape.group != 1 || shape.axes() != 2) return {};
  ConvolutionProblem folded = problem;
  size_t channels = UsedChannels(problem);
  for (int a = 0; a < 2; ++a) {
    if (shape.dilation[a] != 1) return {};
    channels *= shape.stride[a];
    folded.shape.kernel[a] = (shape.kernel[a] - 1) / shape.stride[a] + 1;
    folded.shape.stride[a] = 1;
    folded.shape.pad[a] = 0;  // what lies outside of the image is folded, too
    folded.shape.input[a] = shape.output[a] - 1 + folded.shape.kernel[a];
  }
  const size_t multiple = ChannelAlignment(problem.input);
  folded.shape.channels = static_cast<int>(kernels::RoundUp(channels, multiple));
  folded.used_channels = 0;
  folded.input_stride = 0;
  if (folded.shape.weight_count() >= shape.weight_count()) return {};
  return folded;
}

std::shared_ptr<const FusedConvolution> Folded(const ConvolutionProblem& problem,
                                               const std::shared_ptr<const FusedConvolution>& way) {
  return std::make_shared<FoldedConvolution>(problem, way);
}

}  // namespace caffe::cuda
