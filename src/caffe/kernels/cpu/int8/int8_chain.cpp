#include "caffe/kernels/int8_chain.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "caffe/error.hpp"
#include "caffe/kernels/cpu/convolution/convolution_bands.hpp"
#include "caffe/kernels/cpu/convolution/work_items.hpp"
#include "caffe/kernels/cpu/resize/image_sizes.hpp"
#include "caffe/kernels/cpu/simd/l2_cache.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "int8_rescaling.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kLeastProducts = 1 << 18;  // below which work stays on one thread

using Kernel = std::shared_ptr<const Int8Convolution>;

Kernel KernelOf(const Int8Chain::Link& link, const ConvolutionShape& shape) {
  return link.small_pairs ? Int8Convolution::MakeForSmallPairs(shape, /*plain_input=*/false)
                          : Int8Convolution::Make(shape, /*plain_input=*/false);
}

/// Rows [begin, end).
struct RowRange {
  int begin, end;
  int count() const { return end - begin; }
};

/// The rows of the input that these rows of the output depend on.
RowRange RowsUnder(const ConvolutionShape& shape, const RowRange& outputs) {
  const int first = outputs.begin * shape.stride[0] - shape.pad[0];
  const int last = (outputs.end - 1) * shape.stride[0] - shape.pad[0] +
                   (shape.kernel[0] - 1) * shape.dilation[0];
  const int begin = std::clamp(first, 0, shape.input[0] - 1);
  return {begin, std::clamp(last + 1, begin + 1, shape.input[0])};
}

/// The convolution of these rows only. What is missing below them is padding.
ConvolutionShape OfRows(ConvolutionShape shape, const RowRange& inputs, const RowRange& outputs) {
  shape.pad[0] += inputs.begin - outputs.begin * shape.stride[0];
  shape.input[0] = inputs.count();
  shape.output[0] = outputs.count();
  return shape;
}

/// A part of an image's rows: what each link reads and writes of it, and by which kernel.
struct Cut {
  struct Stage {
    RowRange inputs, outputs;
    const Int8Convolution* kernel;
  };
  std::vector<Stage> stages;  // of each link
};

/// How the work is split.
struct Plan {
  std::vector<Cut> cuts;  // of an image
  WorkItems items;
  std::vector<Kernel> kernels;  // those of the stages
  std::vector<size_t> planes;   // of what is between: bytes from one block of channels to the next
  size_t kernel_bytes = 0;      // of scratch of a kernel
};

// What follows on the sums of a link, whose residual begins so many elements behind that of the
// call.

using Layer = Int8Chain::Layer;
using IntegerLayer = Int8Chain::IntegerLayer;

bool AddsResidual(const Layer& layer) { return layer.post.residual.data != nullptr; }
bool AddsResidual(const IntegerLayer& layer) { return layer.residual != nullptr; }

void RunLink(const Int8Convolution& kernel, const Numbers& x, const Layer& layer, size_t offset,
             void* scratch, const Destination& y) {
  PostOps post = layer.post;
  if (AddsResidual(layer)) post.residual.data = post.residual.at(offset);
  kernel.Forward(1, x, layer.packed, post, scratch, y, layer.input_zero_point);
}

void RunLink(const Int8Convolution& kernel, const Numbers& x, const IntegerLayer& layer,
             size_t offset, void* scratch, const Destination& y) {
  Residual residual;
  if (AddsResidual(layer)) {
    residual = *layer.residual;
    residual.data = static_cast<const char*>(residual.data) + offset;
  }
  kernel.Forward(1, x, layer.packed, *layer.by, scratch, y,
                 AddsResidual(layer) ? &residual : nullptr, layer.rows);
}

class RowsChain : public Int8Chain {
 public:
  RowsChain(const std::vector<Link>& links, std::vector<Kernel> kernels)
      : links_(links), kernels_(std::move(kernels)), block_(kernels_[0]->block()) {}

  const Int8Convolution& kernel(size_t link) const override { return *kernels_.at(link); }
  // Fewer images may need more: threads share each of them.
  size_t scratch_bytes(int num) const override {
    size_t bytes = BytesFor(num);
    for (int some = 1; some <= std::min(num, static_cast<int>(Threads())); ++some) {
      bytes = std::max(bytes, BytesFor(some));
    }
    return bytes;
  }
  void Forward(int num, Numbers x, const std::vector<Layer>& layers, void* scratch,
               const Destination& y) const override {
    Run(num, x, layers, scratch, y);
  }
  void Forward(int num, Numbers x, const std::vector<IntegerLayer>& layers, void* scratch,
               const Destination& y) const override {
    Run(num, x, layers, scratch, y);
  }

 private:
  struct Buffers {
    Buffers(const RowsChain& self, const Plan& plan, Pieces* pieces) {
      size_t bytes[2] = {};
      for (size_t i = 0; i < plan.planes.size(); ++i) {
        bytes[i % 2] = std::max(bytes[i % 2], self.OutputBlocks(i) * plan.planes[i]);
      }
      for (int i = 0; i < 2; ++i) between[i] = pieces->Take<char>(bytes[i]);
      kernel = pieces->Take<char>(plan.kernel_bytes);
    }
    char* between[2];  // what the links write by turns, all but the last
    void* kernel;
  };
  /// Shared by all items of a call; L: Layer or IntegerLayer.
  template <typename L>
  struct Call {
    Numbers x;
    const std::vector<L>& layers;
    const Destination& y;
    ImageStrides strides;
  };

  const Plan& PlanFor(int num) const {
    return plans_.For(num, [this](int images) { return MakePlan(images); });
  }
  size_t BytesFor(int num) const {
    const Plan& plan = PlanFor(num);
    return ScratchOfItems(plan.items, BytesOf(plan));
  }
  Plan MakePlan(int num) const;
  size_t CountCuts(int num) const;
  Cut CutOf(size_t part, size_t parts) const;
  size_t BytesOf(const Plan& plan) const { return BytesOfPieces<Buffers>(*this, plan); }
  template <typename L>
  void Run(int num, const Numbers& x, const std::vector<L>& layers, void* scratch,
           const Destination& y) const;
  template <typename L>
  void RunCut(const Call<L>& call, const Plan& plan, size_t image, const Cut& cut,
              const Buffers& own) const;

  size_t OutputBlocks(size_t link) const { return CeilDiv(links_[link].shape.outputs, block_); }
  ImageSize InputSize() const {
    const ConvolutionShape& shape = links_.front().shape;
    return {CeilDiv(shape.channels, block_) * block_, shape.input_spatial()};
  }
  ImageSize OutputSize() const {
    return {OutputBlocks(links_.size() - 1) * block_, links_.back().shape.output_spatial()};
  }

  const std::vector<Link> links_;
  const std::vector<Kernel> kernels_;
  const size_t block_;
  Plans<Plan> plans_;
};

Cut RowsChain::CutOf(size_t part, size_t parts) const {
  Cut cut;
  cut.stages.resize(links_.size());
  const size_t rows = links_.back().shape.output[0];
  RowRange outputs = {static_cast<int>(rows * part / parts),
                      static_cast<int>(rows * (part + 1) / parts)};
  for (size_t i = links_.size(); i-- > 0;) {
    const RowRange inputs = RowsUnder(links_[i].shape, outputs);
    cut.stages[i] = {inputs, outputs, nullptr};
    outputs = inputs;
  }
  return cut;
}

/// Cuts of an image: equally many for each thread, of which the largest of what is between stays
/// in the second cache together with the weights that are used at a time.
size_t RowsChain::CountCuts(int num) const {
  const size_t images = std::max(1, num), rows = links_.back().shape.output[0];
  const size_t fair = Threads() / std::gcd(images, Threads());
  const size_t budget = L2CacheBytes() / 4;
  size_t parts = fair;
  for (; parts < rows; parts += fair) {
    size_t largest = 0;
    const Cut cut = CutOf(parts / 2, parts);
    for (size_t i = 0; i + 1 < links_.size(); ++i) {
      largest = std::max(largest, OutputBlocks(i) * block_ * cut.stages[i].outputs.count() *
                                      links_[i].shape.output[1]);
    }
    if (largest <= budget) break;
  }
  return std::min(parts, rows);
}

Plan RowsChain::MakePlan(int num) const {
  Plan plan;
  const size_t parts = CountCuts(num);
  plan.items = {num * parts, 1, 1};
  plan.planes.assign(links_.size() - 1, 0);
  const TeamSize alone(1);
  std::map<std::array<int, 4>, const Int8Convolution*> known;  // of links and extents
  for (size_t part = 0; part < parts; ++part) {
    Cut cut = CutOf(part, parts);
    for (size_t i = 0; i < links_.size(); ++i) {
      Cut::Stage& stage = cut.stages[i];
      const ConvolutionShape shape = OfRows(links_[i].shape, stage.inputs, stage.outputs);
      const Int8Convolution*& kernel =
          known[{static_cast<int>(i), shape.input[0], shape.pad[0], shape.output[0]}];
      if (!kernel) {
        plan.kernels.push_back(KernelOf(links_[i], shape));
        kernel = plan.kernels.back().get();
        plan.kernel_bytes = std::max(plan.kernel_bytes, kernel->scratch_bytes(1));
      }
      stage.kernel = kernel;
      if (i + 1 == links_.size()) continue;
      // Planes whole pages apart would map to the same cache sets.
      const size_t bytes = shape.output_spatial() * block_;
      plan.planes[i] = std::max(plan.planes[i], bytes % 1024 == 0 ? bytes + 64 : bytes);
    }
    plan.cuts.push_back(std::move(cut));
  }
  return plan;
}

template <typename L>
void RowsChain::RunCut(const Call<L>& call, const Plan& plan, size_t image, const Cut& cut,
                       const Buffers& own) const {
  const size_t last = links_.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    const Cut::Stage& stage = cut.stages[i];
    const ConvolutionShape& shape = links_[i].shape;
    const L& layer = call.layers[i];
    Numbers x = call.x;
    ImageStrides strides;
    if (i == 0) {
      const size_t row = stage.inputs.begin * shape.input[1] * block_;
      x.data = x.at(image * call.strides.x + row);
      strides.x_plane = call.strides.x_plane;
    } else {
      x = {own.between[(i - 1) % 2], call.layers[i - 1].type};
      strides.x_plane = plan.planes[i - 1];
    }
    size_t residual = 0;
    void* y = i < last ? own.between[i % 2] : call.y.y;
    strides.y_plane = i < last ? plan.planes[i] : call.strides.y_plane;
    const ElementType type = i < last ? layer.type : call.y.type;
    if (i == last) {
      const size_t row = stage.outputs.begin * shape.output[1] * block_;
      y = static_cast<char*>(y) + (image * call.strides.y + row) * SizeOf(type);
      residual = image * call.strides.residual + row;
    }
    RunLink(*stage.kernel, x, layer, residual, own.kernel, {y, type, strides});
  }
}

template <typename L>
void RowsChain::Run(int num, const Numbers& x, const std::vector<L>& layers, void* scratch,
                    const Destination& y) const {
  Require(layers.size() == links_.size(), "a chain of ", links_.size(), " convolutions gets ",
          layers.size());
  for (size_t i = 0; i + 1 < layers.size(); ++i) RequireBytes(layers[i].type);
  if (num == 0) return;
  const Plan& plan = PlanFor(num);
  const Call<L> call = {
      x, layers, y,
      WithoutZeros(y.strides, InputSize(), OutputSize(), block_, AddsResidual(layers.back()))};
  size_t products = 0;
  for (const Link& link : links_) {
    products += link.shape.weight_count() * link.shape.output_spatial() * num;
  }
  SpreadItems(plan.items, products, kLeastProducts, scratch, BytesOf(plan),
              [&](size_t begin, size_t end, void* memory) {
                const TeamSize alone(1);
                Pieces pieces(memory);
                const Buffers own(*this, plan, &pieces);
                for (size_t item = begin; item < end; ++item) {
                  const size_t cuts = plan.cuts.size();
                  RunCut(call, plan, item / cuts, plan.cuts[item % cuts], own);
                }
              });
}

bool Follows(const ConvolutionShape& next, const ConvolutionShape& shape) {
  return next.channels == shape.outputs && next.input == shape.output;
}

}  // namespace

std::shared_ptr<const Int8Chain> Int8Chain::Make(const std::vector<Link>& links) {
  if (links.size() < 2) return nullptr;
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < links.size(); ++i) {
    const ConvolutionShape& shape = links[i].shape;
    if (shape.axes() != 2 || (i > 0 && !Follows(shape, links[i - 1].shape))) return nullptr;
    Kernel kernel = KernelOf(links[i], shape);
    if (!kernel) return nullptr;
    kernels.push_back(std::move(kernel));
  }
  return std::make_shared<RowsChain>(links, std::move(kernels));
}

}  // namespace caffe::kernels
