#include <omp.h>

#include <algorithm>
#include <utility>

#include "caffe/kernels/instruction_set.hpp"
#include "weighted_primitive.hpp"

namespace caffe::onednn {
namespace {

struct ConvolutionFamily {
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  static constexpr bool kWindows = true;
  static constexpr bool kByProducts = false;
};

Layout LayoutIn(const Dims& dims, int block) {
  size_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  return block == 1 ? Layout() : Layout::ChannelsBlocked(block, dims[0], dims[1], spatial);
}

/// (num, channels, spatial axes) in blocks of `block` channels (1: in Caffe's order), with `stride`
/// elements from one image to the next, if it is not 0. Throws dnnl::error where that is no whole
/// number of channels (blocks).
memory::desc WithStride(const Dims& dims, int block, size_t stride, memory::data_type type) {
  Layout layout = LayoutIn(dims, block);
  size_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  memory::desc desc = Described(dims, layout, type);
  const size_t image = layout.extent(dims[0] * dims[1] * spatial) / dims[0];
  if (stride == 0 || stride == image || dims[0] == 1) return desc;
  // A part of the images of a larger array: as many channels more as fill up the stride.
  if (stride % (spatial * block) != 0) throw dnnl::error(dnnl_unimplemented, "uneven strides");
  const size_t channels = stride / spatial;
  Dims whole = dims;
  whole[1] = channels;
  if (block > 1) layout.channels = channels;
  Dims offsets(dims.size(), 0);
  return Described(whole, layout, type).submemory_desc(dims, offsets);
}

/// In the caller's places; `strides`: of its images.
WeightedProblem PlacedProblem(const kernels::ConvolutionShape& shape, int num,
                              const ConvolutionPlaces& places, const kernels::ImageStrides& strides,
                              const WeightedTypes& types) {
  WeightedProblem p = WindowProblem(shape, num, false, types);
  p.source = WithStride(p.source_dims, places.source_block, strides.x, types.source);
  p.target = WithStride(p.target_dims, places.target_block, strides.y, types.target);
  p.residual = WithStride(p.target_dims, places.target_block, strides.residual, types.target);
  p.chooses_layouts = false;
  p.source_layout = LayoutIn(p.source_dims, places.source_block);
  p.target_layout = LayoutIn(p.target_dims, places.target_block);
  return p;
}

/// In the blocks of the library's own kernels, which compute some layers of a net. Where oneDNN
/// chooses it takes channels last on processors with AVX-512, and what lies between is reordered.
WeightedProblem InBlocks(WeightedProblem p, bool partial) {
  const int block = kernels::BlockChannels();
  const auto place = [&](const Dims& dims, memory::data_type type, memory::desc* desc) {
    if (partial || dims[1] % block == 0) *desc = Described(dims, LayoutIn(dims, block), type);
  };
  place(p.source_dims, p.types.source, &p.source);
  place(p.target_dims, p.types.target, &p.target);
  return p;
}

// oneDNN's threads wait for one another where they share the weights of a primitive, and do not
// give their core away: where they share a core that takes a time slice in each pass. So each
// thread computes the gradients of its own images, where it takes little to add them up.
int GradientParts(const kernels::ConvolutionShape& s, int num) {
  const int threads = std::max(1, omp_get_max_threads());
  const size_t images = num * (s.input_size() + s.output_size());
  return num % threads == 0 && threads * s.weight_count() <= images / 4 ? threads : 1;
}

}  // namespace

bool HasWindows(const kernels::ConvolutionShape& shape, int num) {
  return shape.axes() >= 1 && shape.axes() <= 3 && num > 0 && shape.input_size() > 0 &&
         shape.output_size() > 0;
}

WeightedProblem WindowProblem(const kernels::ConvolutionShape& shape, int num, bool transposed,
                              const WeightedTypes& types) {
  WeightedProblem p;
  p.types = types;
  p.source_dims = DimsOf({num, shape.channels}, shape.input);
  p.target_dims = DimsOf({num, shape.outputs}, shape.output);
  p.outputs = transposed ? shape.channels : shape.outputs;
  // Of a transpose Caffe keeps the weights of the convolution: oneDNN sees their first two axes
  // (within a group) exchanged.
  const int rows = shape.outputs / shape.group, columns = shape.channels / shape.group;
  const bool grouped = shape.group > 1;
  p.weights_dims = grouped ? DimsOf({shape.group, rows, columns}, shape.kernel)
                           : DimsOf({rows, columns}, shape.kernel);
  if (transposed) {
    std::swap(p.source_dims, p.target_dims);
    Dims strides(p.weights_dims.size(), 1);
    for (size_t i = strides.size() - 1; i > 0; --i) {
      strides[i - 1] = strides[i] * p.weights_dims[i];
    }
    std::swap(strides[grouped], strides[grouped + 1]);
    std::swap(p.weights_dims[grouped], p.weights_dims[grouped + 1]);
    p.plain_weights = memory::desc(p.weights_dims, kFloat, strides);
  } else {
    p.plain_weights = Plain(p.weights_dims);
  }
  p.source = Any(p.source_dims, types.source);
  p.target = Any(p.target_dims, types.target);
  p.weights = Any(p.weights_dims, types.weights);
  p.strides = DimsOf({}, shape.stride);
  p.pad = DimsOf({}, shape.pad);
  for (const int dilation : shape.dilation) p.dilation.push_back(dilation - 1);
  return p;
}

std::unique_ptr<WeightedPrimitive> Convolution::Make(const kernels::ConvolutionShape& shape,
                                                     int num, const Options& options) {
  if (!HasWindows(shape, num)) return nullptr;
  const int parts = options.training ? GradientParts(shape, num) : 1;
  const auto make = [&](bool in_blocks) {
    return MakeOrNull([&] {
      return WeightedPrimitiveOf<ConvolutionFamily>::Make(
          options,
          [&](const WeightedTypes& types, int of_parts) {
            const WeightedProblem p = WindowProblem(shape, num / of_parts, false, types);
            return in_blocks ? InBlocks(p, options.in_blocks) : p;
          },
          parts);
    });
  };
  // In AMX's tiles oneDNN multiplies numbers with channels last only.
  const bool likes_last =
      options.type == ElementType::BFLOAT16 && kernels::CpuInstructionSet().has_tiles();
  if (auto primitive = make(!likes_last)) return primitive;
  return make(likes_last);
}

std::unique_ptr<WeightedPrimitive> Convolution::Make(const kernels::ConvolutionShape& shape,
                                                     int num, const Options& options,
                                                     const ConvolutionPlaces& places) {
  if (!HasWindows(shape, num) || !HasWindows(places.packed_shape, places.packed_num))
    return nullptr;
  return MakeOrNull([&] {
    const WeightedTypes types = ForwardTypes(options);
    const WeightedProblem packed =
        PlacedProblem(places.packed_shape, places.packed_num, places, {}, types);
    WeightedProblem problem = PlacedProblem(shape, num, places, places.strides, types);
    problem.takes_plain_loops = places.repacks;
    (places.repacks ? problem.packed_weights : problem.weights) =
        WeightedPrimitiveOf<ConvolutionFamily>::DescribeForward(packed, options).weights_desc();
    return WeightedPrimitiveOf<ConvolutionFamily>::Make(
        options, [&](const WeightedTypes&, int) { return problem; });
  });
}

}  // namespace caffe::onednn
