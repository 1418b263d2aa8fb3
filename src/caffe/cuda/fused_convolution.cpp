// Who computes a convolution of an engine.
#include "caffe/kernels/cuda/fused_convolution.hpp"

#include <cstdint>

#include "caffe/kernels/cuda/own_convolutions.hpp"
#include "cudnn.hpp"
#include "cudnn_fused_convolution.hpp"
#include "folded_convolution.hpp"

namespace caffe::cuda {
namespace {

using Ways = std::vector<std::shared_ptr<const FusedConvolution>>;
using Kernel = void (*)(Stream&, const ConvolutionProblem&, const ConvolutionArguments&);

constexpr char kDirect[] = "direct", kDepthwise[] = "depthwise";

/// A kernel of our own.
class Own : public FusedConvolution {
 public:
  Own(const std::string& name, const ConvolutionProblem& problem, Kernel kernel)
      : name_(name), problem_(problem), kernel_(kernel) {}
  const std::string& name() const override { return name_; }
  void Run(Stream& stream, const ConvolutionArguments& arguments, void*) const override {
    for (const void* memory : {arguments.x, arguments.weights, arguments.residual,
                               static_cast<const void*>(arguments.y)}) {
      Require(reinterpret_cast<uintptr_t>(memory) % kOperandAlignment == 0,
              "an operand of a convolution lies at no multiple of ", kOperandAlignment, " bytes");
    }
    kernel_(stream, problem_, arguments);
  }

 private:
  const std::string name_;
  const ConvolutionProblem problem_;
  const Kernel kernel_;
};

bool IsDepthwise(const ConvolutionProblem& problem) {
  return IsChannelsLastDepthwise(problem.shape, problem.channels_last);
}

std::shared_ptr<const FusedConvolution> MakeOwn(const std::string& name,
                                                const ConvolutionProblem& problem) {
  return std::make_shared<Own>(name, problem,
                               IsDepthwise(problem) ? DepthwiseConvolution : DirectConvolution);
}

/// True where a stream's memory is the host's: the tests' device, on which our kernels stand for
/// cuDNN's.
bool IsHost(const Stream& stream) { return !stream.handle(); }

bool HasAxes(const ConvolutionProblem& problem) {
  return problem.shape.axes() == 1 || problem.shape.axes() == 2;
}

bool SumsFit(const ConvolutionProblem& problem) {
  return SizeOf(problem.input) > 1 || problem.shape.column_rows() <= kMaxIntegerProducts;
}

}  // namespace

Ways FusedConvolutions(Stream& stream, const ConvolutionProblem& problem, size_t most_workspace) {
  if (!HasAxes(problem) || !SumsFit(problem)) return {};
  // Its weights lie in an order that others do not know.
  if (IsDepthwise(problem)) return {MakeOwn(kDepthwise, problem)};
  Ways ways;
  const auto add = [&](const ConvolutionProblem& of, const auto& as) {
    Ways found;
    if (IsHost(stream)) {
      found.push_back(MakeOwn(kCudnnWhole, of));
    } else if (CudnnIsInstalled() && of.input != ElementType::UINT8) {
      found = CudnnConvolutions(of, most_workspace);
    }
    for (const auto& way : found) {
      const std::shared_ptr<const FusedConvolution> whole = as(way);
      if (whole->workspace_bytes() <= most_workspace) ways.push_back(whole);
    }
  };
  add(problem, [](const auto& way) { return way; });
  if (const auto folded = FoldedProblem(problem)) {
    add(*folded, [&](const auto& way) { return Folded(problem, way); });
  }
  ways.push_back(MakeOwn(kDirect, problem));
  return ways;
}

std::shared_ptr<const FusedConvolution> FusedConvolutionNamed(Stream& stream,
                                                              const ConvolutionProblem& problem,
                                                              const std::string& name) {
  Require(HasAxes(problem), "engines on the GPU have no convolution over ", problem.shape.axes(),
          " axes");
  Require(SumsFit(problem), "a sum of ", problem.shape.column_rows(),
          " products of 8-bit integers; at most ", kMaxIntegerProducts);
  if (name == (IsDepthwise(problem) ? kDepthwise : kDirect)) return MakeOwn(name, problem);
  constexpr size_t kFoldedLength = sizeof(kFolded) - 1;
  const auto folded = name.compare(0, kFoldedLength, kFolded) == 0
                          ? FoldedProblem(problem)
                          : std::optional<ConvolutionProblem>();
  if (folded) {
    return Folded(problem, FusedConvolutionNamed(stream, *folded, name.substr(kFoldedLength)));
  }
  Require(!IsDepthwise(problem) && name.compare(0, sizeof(kCudnnWhole) - 1, kCudnnWhole) == 0,
          "there is no way '", name, "' of computing this convolution");
  if (IsHost(stream)) return NotesConvolutions() ? NotYetMade(name) : MakeOwn(name, problem);
  return CudnnConvolutionNamed(problem, name);
}

bool IsChannelsLastDepthwise(const kernels::ConvolutionShape& shape, bool channels_last) {
  return channels_last && shape.group > 1 && shape.group == shape.channels;
}

template <typename T>
void PackWeights(const kernels::ConvolutionShape& shape, bool channels_last, const T* weights,
                 T* packed) {
  const size_t positions = shape.kernel_size(), channels = shape.channels / shape.group;
  const size_t outputs = shape.outputs;
  const bool depthwise = IsChannelsLastDepthwise(shape, channels_last);
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t k = 0; k < positions; ++k) {
        const size_t plain = (o * channels + c) * positions + k;
        const size_t place = depthwise       ? k * outputs + o
                             : channels_last ? (o * positions + k) * channels + c
                                             : plain;
        packed[place] = weights[plain];
      }
    }
  }
}

int ChannelAlignment(ElementType type) {
  // 16 bytes: what tensor cores' kernels load at once.
  return static_cast<int>(16 / SizeOf(type));
}

template void PackWeights(const kernels::ConvolutionShape&, bool, const float*, float*);
template void PackWeights(const kernels::ConvolutionShape&, bool, const float16*, float16*);
template void PackWeights(const kernels::ConvolutionShape&, bool, const bfloat16*, bfloat16*);
template void PackWeights(const kernels::ConvolutionShape&, bool, const int8_t*, int8_t*);

}  // namespace caffe::cuda
