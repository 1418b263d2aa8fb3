#ifndef CAFFE_KERNELS_CPU_ROW_CHAIN_HPP_
#define CAFFE_KERNELS_CPU_ROW_CHAIN_HPP_

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cpu/resize/image_sizes.hpp"
#include "caffe/kernels/cpu/simd/l2_cache.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "work_items.hpp"

// Convolutions of images, each of the output of the one before it, of some rows at a time (fused
// layers: Alwani et al., MICRO 2016), whatever their kernels and types. A core computes all layers
// of its rows: values between them stay in its cache, and the rows that lie under the kernels of
// two cores are computed by both.
namespace caffe::kernels {

/// Rows [begin, end).
struct ChainRows {
  int begin, end;
  int count() const { return end - begin; }
};

/// The rows of the input that these rows of the output depend on: at least one.
ChainRows RowsUnder(const ConvolutionShape& shape, const ChainRows& outputs);
/// The convolution of these rows only. What is missing below them is padding.
ConvolutionShape OfRows(ConvolutionShape shape, const ChainRows& inputs, const ChainRows& outputs);
/// True if a convolution of images takes the output of another one.
bool Follows(const ConvolutionShape& next, const ConvolutionShape& before);

/// With channels last, numbers of `element` bytes from one pixel to the next of the outputs of a
/// convolution. Tiles read rows that begin at cache lines twice as fast, where they read them in
/// place.
size_t PixelBetween(const ConvolutionShape& shape, size_t element, bool read_in_place);

inline size_t ScratchOfOneImage(const Int8Convolution& kernel) { return kernel.scratch_bytes(1); }
inline size_t ScratchOfOneImage(const PackedConvolution& kernel) {
  return kernel.scratch_size(1) * sizeof(float);
}

/// Kernel: Int8Convolution or PackedConvolution, in blocks of channels or with channels last.
template <typename Kernel>
class RowChain {
 public:
  using KernelPtr = std::shared_ptr<const Kernel>;
  struct Link {
    ConvolutionShape shape;
    // Of its output, where another link reads it:
    size_t element;    ///< bytes of a number
    size_t pixel = 0;  ///< with channels last, numbers from one pixel to the next
  };
  /// A link's kernel for some rows; null where there is none.
  using Maker = std::function<KernelPtr(size_t link, const ConvolutionShape&)>;

  /// Null unless there are several links, each of two spatial axes with a kernel, which follow on
  /// one another.
  static std::shared_ptr<const RowChain> Make(const std::vector<Link>& links, bool channels_last,
                                              const Maker& make) {
    if (links.size() < 2) return nullptr;
    std::vector<KernelPtr> kernels;
    for (size_t i = 0; i < links.size(); ++i) {
      const ConvolutionShape& shape = links[i].shape;
      if (shape.axes() != 2 || (i > 0 && !Follows(shape, links[i - 1].shape))) return nullptr;
      kernels.push_back(make(i, shape));
      if (!kernels.back()) return nullptr;
    }
    return std::make_shared<RowChain>(links, channels_last, make, std::move(kernels));
  }
  RowChain(const std::vector<Link>& links, bool channels_last, Maker make,
           std::vector<KernelPtr> kernels)
      : links_(links),
        channels_last_(channels_last),
        make_(std::move(make)),
        kernels_(std::move(kernels)),
        block_(kernels_[0]->block()) {}

  size_t size() const { return links_.size(); }
  const Kernel& kernel(size_t link) const { return *kernels_.at(link); }
  /// Bytes that Forward needs as scratch, aligned to 64, for up to `num` images and the number of
  /// threads that share loops now. Fewer images may need more: threads share each of them.
  size_t scratch_bytes(int num) const {
    size_t bytes = BytesFor(num);
    for (int some = 1; some <= std::min(num, static_cast<int>(Threads())); ++some) {
      bytes = std::max(bytes, BytesFor(some));
    }
    return bytes;
  }

  /// Calls run(link, kernel, x, elements from the residual's first one, scratch, destination) for
  /// some rows of one image after another. types: of what the links but the last write.
  template <typename Run>
  void Forward(int num, const Numbers& x, const std::vector<ElementType>& types, bool has_residual,
               void* scratch, const Destination& y, Run&& run) const {
    if (num == 0) return;
    const Plan& plan = PlanFor(num);
    const Call call = {x, types, y,
                       WithoutZeros(y.strides, InputSize(), OutputSize(), block_, has_residual)};
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
                    RunCut(call, plan, item / cuts, plan.cuts[item % cuts], own, run);
                  }
                });
  }

 private:
  static constexpr size_t kLeastProducts = 1 << 18;  // below which work stays on one thread

  /// A part of an image's rows: what each link reads and writes of it, and by which kernel.
  struct Cut {
    struct Stage {
      ChainRows inputs, outputs;
      const Kernel* kernel;
    };
    std::vector<Stage> stages;  // of each link
  };
  /// How the work is split.
  struct Plan {
    std::vector<Cut> cuts;  // of an image
    WorkItems items;
    std::vector<KernelPtr> kernels;  // those of the stages
    // Of what is between: elements of one block of channels, or with channels last of all rows.
    std::vector<size_t> planes;
    size_t kernel_bytes = 0;  // of scratch of a kernel
  };
  struct Buffers {
    Buffers(const RowChain& self, const Plan& plan, Pieces* pieces) {
      size_t bytes[2] = {};
      for (size_t i = 0; i < plan.planes.size(); ++i) {
        const size_t planes = self.channels_last_ ? 1 : self.OutputBlocks(i);
        bytes[i % 2] = std::max(bytes[i % 2], planes * plan.planes[i] * self.links_[i].element);
      }
      for (int i = 0; i < 2; ++i) between[i] = pieces->template Take<char>(bytes[i]);
      kernel = pieces->template Take<char>(plan.kernel_bytes);
    }
    char* between[2];  // what the links write by turns, all but the last
    void* kernel;
  };
  /// Shared by all items of a call.
  struct Call {
    const Numbers& x;
    const std::vector<ElementType>& types;
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
  size_t BytesOf(const Plan& plan) const { return BytesOfPieces<Buffers>(*this, plan); }

  size_t OutputBlocks(size_t link) const { return CeilDiv(links_[link].shape.outputs, block_); }
  ImageSize InputSize() const {
    const ConvolutionShape& shape = links_.front().shape;
    return {RoundUp(shape.channels, block_), shape.input_spatial()};
  }
  ImageSize OutputSize() const {
    return {OutputBlocks(links_.size() - 1) * block_, links_.back().shape.output_spatial()};
  }
  /// Elements of a row of pixels, or with channels in blocks of a block's.
  size_t Row(int columns, size_t pixel) const {
    return columns * (channels_last_ ? pixel : block_);
  }

  Plan MakePlan(int num) const;
  size_t CountCuts(int num) const;
  Cut CutOf(size_t part, size_t parts) const;
  template <typename Run>
  void RunCut(const Call& call, const Plan& plan, size_t image, const Cut& cut, const Buffers& own,
              Run&& run) const;

  const std::vector<Link> links_;
  const bool channels_last_;
  const Maker make_;
  const std::vector<KernelPtr> kernels_;
  const size_t block_;
  Plans<Plan> plans_;
};

template <typename Kernel>
typename RowChain<Kernel>::Cut RowChain<Kernel>::CutOf(size_t part, size_t parts) const {
  Cut cut;
  cut.stages.resize(links_.size());
  const size_t rows = links_.back().shape.output[0];
  ChainRows outputs = {static_cast<int>(rows * part / parts),
                       static_cast<int>(rows * (part + 1) / parts)};
  for (size_t i = links_.size(); i-- > 0;) {
    const ChainRows inputs = RowsUnder(links_[i].shape, outputs);
    cut.stages[i] = {inputs, outputs, nullptr};
    outputs = inputs;
  }
  return cut;
}

/// Cuts of an image: equally many for each thread, of which the largest of what is between stays
/// in the second cache together with the weights that are used at a time.
template <typename Kernel>
size_t RowChain<Kernel>::CountCuts(int num) const {
  const size_t images = std::max(1, num), rows = links_.back().shape.output[0];
  const size_t fair = Threads() / std::gcd(images, Threads());
  const size_t budget = L2CacheBytes() / 4;
  size_t parts = fair;
  for (; parts < rows; parts += fair) {
    size_t largest = 0;
    const Cut cut = CutOf(parts / 2, parts);
    for (size_t i = 0; i + 1 < links_.size(); ++i) {
      const size_t pixel = channels_last_ ? links_[i].pixel : OutputBlocks(i) * block_;
      largest = std::max(largest, pixel * links_[i].element * cut.stages[i].outputs.count() *
                                      links_[i].shape.output[1]);
    }
    if (largest <= budget) break;
  }
  return std::min(parts, rows);
}

template <typename Kernel>
typename RowChain<Kernel>::Plan RowChain<Kernel>::MakePlan(int num) const {
  Plan plan;
  const size_t parts = CountCuts(num);
  plan.items = {num * parts, 1, 1};
  plan.planes.assign(links_.size() - 1, 0);
  const TeamSize alone(1);
  std::map<std::array<int, 4>, const Kernel*> known;  // of links and extents
  for (size_t part = 0; part < parts; ++part) {
    Cut cut = CutOf(part, parts);
    for (size_t i = 0; i < links_.size(); ++i) {
      typename Cut::Stage& stage = cut.stages[i];
      const ConvolutionShape shape = OfRows(links_[i].shape, stage.inputs, stage.outputs);
      const Kernel*& kernel =
          known[{static_cast<int>(i), shape.input[0], shape.pad[0], shape.output[0]}];
      if (!kernel) {
        plan.kernels.push_back(make_(i, shape));
        kernel = plan.kernels.back().get();
        plan.kernel_bytes = std::max(plan.kernel_bytes, ScratchOfOneImage(*kernel));
      }
      stage.kernel = kernel;
      if (i + 1 == links_.size()) continue;
      // Planes whole pages apart would map to the same cache sets.
      const size_t pixel = channels_last_ ? links_[i].pixel : block_;
      const size_t plane = shape.output_spatial() * pixel;
      const bool conflicts = !channels_last_ && plane % 1024 == 0;
      plan.planes[i] = std::max(plan.planes[i], conflicts ? plane + 64 : plane);
    }
    plan.cuts.push_back(std::move(cut));
  }
  return plan;
}

template <typename Kernel>
template <typename Run>
void RowChain<Kernel>::RunCut(const Call& call, const Plan& plan, size_t image, const Cut& cut,
                              const Buffers& own, Run&& run) const {
  const size_t last = links_.size() - 1;
  const ImageStrides& all = call.strides;
  for (size_t i = 0; i <= last; ++i) {
    const typename Cut::Stage& stage = cut.stages[i];
    const ConvolutionShape& shape = links_[i].shape;
    ImageStrides strides;
    Numbers x = call.x;
    if (i == 0) {
      x.data = x.at(image * all.x + stage.inputs.begin * Row(shape.input[1], all.x_pixel));
      strides.x_plane = channels_last_ ? 0 : all.x_plane;
      strides.x_pixel = all.x_pixel;
    } else {
      x = {own.between[(i - 1) % 2], call.types[i - 1]};
      (channels_last_ ? strides.x_pixel : strides.x_plane) =
          channels_last_ ? links_[i - 1].pixel : plan.planes[i - 1];
    }
    if (i < last) {
      (channels_last_ ? strides.y_pixel : strides.y_plane) =
          channels_last_ ? links_[i].pixel : plan.planes[i];
      run(i, *stage.kernel, x, size_t(0), own.kernel,
          Destination(own.between[i % 2], call.types[i], strides));
      continue;
    }
    strides.y_plane = channels_last_ ? 0 : all.y_plane;
    strides.y_pixel = all.y_pixel;
    strides.residual_pixel = all.residual_pixel;
    const auto first = [&](size_t of_image, size_t pixel) {
      return image * of_image + stage.outputs.begin * Row(shape.output[1], pixel);
    };
    char* const y = static_cast<char*>(call.y.y) + first(all.y, all.y_pixel) * SizeOf(call.y.type);
    run(i, *stage.kernel, x, first(all.residual, all.residual_pixel), own.kernel,
        Destination(y, call.y.type, strides));
  }
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_ROW_CHAIN_HPP_
