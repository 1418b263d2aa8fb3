#include "own_convolutions.hpp"

#include <type_traits>

#include "lanes.hpp"

namespace caffe::cuda {
namespace {

/// A problem with two axes, as a kernel argument.
struct Geometry {
  int num, channels, outputs, group;  // channels and outputs of one group
  int height, width, out_height, out_width;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  // Elements: between neighbouring places, channels and images.
  size_t x_place, x_channel, x_image;
  size_t y_place, y_channel, y_image;
  size_t residual_place, residual_channel, residual_image;

  __host__ __device__ int kernel_size() const { return kernel_h * kernel_w; }
  __host__ __device__ int places() const { return out_height * out_width; }

  /// The input place under kernel position (r, s) at output (h, w), -1 in the padding.
  __host__ __device__ int PlaceAt(int h, int w, int r, int s) const {
    const int y = h * stride_h - pad_h + r * dilation_h;
    const int x = w * stride_w - pad_w + s * dilation_w;
    return y < 0 || y >= height || x < 0 || x >= width ? -1 : y * width + x;
  }
};

/// Distances in an array, channels-last or in Caffe's order; `stride` as in a problem.
struct Distances {
  Distances(bool channels_last, size_t stride, size_t places)
      : place(channels_last ? stride : 1),
        channel(channels_last ? 1 : places),
        image(channels_last ? stride * places : stride) {}
  size_t place, channel, image;
};

int First(const std::vector<int>& values, int otherwise) {
  return values.size() < 2 ? otherwise : values[0];
}

Geometry GeometryOf(const ConvolutionProblem& problem) {
  const kernels::ConvolutionShape& s = problem.shape;
  Require(s.axes() == 1 || s.axes() == 2, "engines on the GPU have no convolution over ", s.axes(),
          " axes");
  const Distances x(problem.channels_last, InputStride(problem), s.input_spatial());
  const Distances y(problem.channels_last, OutputStride(problem), s.output_spatial());
  const Distances residual(problem.channels_last, ResidualStride(problem), s.output_spatial());
  return {problem.num,
          s.channels / s.group,
          s.outputs / s.group,
          s.group,
          First(s.input, 1),
          s.input.back(),
          First(s.output, 1),
          s.output.back(),
          First(s.kernel, 1),
          s.kernel.back(),
          First(s.stride, 1),
          s.stride.back(),
          First(s.pad, 0),
          s.pad.back(),
          First(s.dilation, 1),
          s.dilation.back(),
          x.place,
          x.channel,
          x.image,
          y.place,
          y.channel,
          y.image,
          residual.place,
          residual.channel,
          residual.image};
}

LanePostOps PostOpsOf(const ConvolutionProblem& problem, const ConvolutionArguments& arguments) {
  LanePostOps post = {};
  post.a = SizeOf(problem.input) == 1 ? arguments.scales : nullptr;
  post.b = problem.has_bias ? arguments.bias : nullptr;
  if (problem.has_residual) {
    post.residual = ArrayOf(const_cast<void*>(arguments.residual), problem.residual,
                            ResidualStride(problem), arguments.residual_scale);
  }
  post.f = LaneActivation(problem.activation);
  post.f.slopes = arguments.slopes;
  post.y = ArrayOf(arguments.y, problem.output, OutputStride(problem), arguments.output_scale);
  return post;
}

/// The weights' type for inputs of type X, and the type of sums.
template <typename X>
using WeightOf = std::conditional_t<sizeof(X) == 1, int8_t, X>;
template <typename X>
using SumOf = std::conditional_t<sizeof(X) == 1, int, float>;

/// sum += the products of V elements.
template <typename X, int V>
__host__ __device__ inline float AddProducts(float sum, const X (&x)[V], const X (&w)[V]) {
  for (int v = 0; v < V; ++v) sum += AsFloat(x[v]) * AsFloat(w[v]);
  return sum;
}
#ifdef __CUDA_ARCH__
/// sum += four products.
__device__ inline int AddFour(int sum, int8_t, int x, int w) { return __dp4a(x, w, sum); }
__device__ inline int AddFour(int sum, uint8_t, int x, int w) {
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(w));
  return sum;
}
#endif

template <typename X, int V>
__host__ __device__ inline int AddProducts(int sum, const X (&x)[V], const int8_t (&w)[V]) {
#ifdef __CUDA_ARCH__
  if constexpr (V % 4 == 0) {
    int xs[V / 4], ws[V / 4];
    memcpy(xs, x, sizeof(xs));
    memcpy(ws, w, sizeof(ws));
    for (int i = 0; i < V / 4; ++i) sum = AddFour(sum, X(), xs[i], ws[i]);
  } else {
    for (int v = 0; v < V; ++v) sum += int(x[v]) * w[v];
  }
#else
  for (int v = 0; v < V; ++v) sum += int(x[v]) * w[v];
#endif
  return sum;
}

constexpr int kPlaces = 4;  // places that share the weights a thread has read

/// V channels at a time. Neighbouring threads take neighbouring outputs if channels-last, otherwise
/// neighbouring places.
template <typename X, int V>
void DirectLanes(Stream& stream, const Geometry& g, bool channels_last, const X* x,
                 const WeightOf<X>* weights, const LanePostOps& post) {
  const int outputs = g.outputs * g.group, kernel_size = g.kernel_size();
  const int pieces = (g.places() + kPlaces - 1) / kPlaces;
  // Weights: between channels and between positions of the kernel.
  const size_t w_channel = channels_last ? 1 : kernel_size;
  const size_t w_position = channels_last ? g.channels : 1;
  ForEach(stream, CountedWork(double(g.num) * outputs * pieces), [=] __host__ __device__(int i) {
    const int output = channels_last ? i % outputs : i / pieces % outputs;
    const int piece = channels_last ? i / outputs % pieces : i % pieces;
    const size_t image = i / outputs / pieces;
    const int first = piece * kPlaces, last = Min(first + kPlaces, g.places());
    const X* group = x + image * g.x_image + size_t(output / g.outputs) * g.channels * g.x_channel;
    const WeightOf<X>* row = weights + size_t(output) * g.channels * kernel_size;
    SumOf<X> sums[kPlaces] = {};
    for (int r = 0; r < g.kernel_h; ++r) {
      for (int s = 0; s < g.kernel_w; ++s) {
        const X* from[kPlaces];
        for (int p = 0; p < kPlaces; ++p) {
          const int place = first + p < last ? g.PlaceAt((first + p) / g.out_width,
                                                         (first + p) % g.out_width, r, s)
                                             : -1;
          from[p] = place < 0 ? nullptr : group + place * g.x_place;
        }
        const WeightOf<X>* factors = row + (r * g.kernel_w + s) * w_position;
        for (int c = 0; c < g.channels; c += V) {
          WeightOf<X> w[V];
          ReadLanes(factors + c * w_channel, w);
          for (int p = 0; p < kPlaces; ++p) {
            if (!from[p]) continue;
            X values[V];
            ReadLanes(from[p] + c * g.x_channel, values);
            sums[p] = AddProducts(sums[p], values, w);
          }
        }
      }
    }
    for (int p = 0; p < kPlaces; ++p) {
      const int place = first + p;
      if (place >= last) break;
      float value[1] = {static_cast<float>(sums[p])};
      post.Write(value, output,
                 image * g.residual_image + place * g.residual_place + output * g.residual_channel,
                 image * g.y_image + place * g.y_place + output * g.y_channel);
    }
  });
}

/// V neighbouring channels, each with one output unless V is 1, at neighbouring places of a row.
template <typename X, int V>
void DepthwiseLanes(Stream& stream, const Geometry& g, const X* x, const WeightOf<X>* weights,
                    const LanePostOps& post) {
  const int multiple = g.outputs, outputs = g.outputs * g.group;
  const int pieces = outputs / V, runs = (g.out_width + kPlaces - 1) / kPlaces;
  ForEach(stream, CountedWork(double(g.num) * g.out_height * runs * pieces),
          [=] __host__ __device__(int i) {
            const int output = i % pieces * V, run = i / pieces % runs;
            const int h = i / pieces / runs % g.out_height;
            const size_t image = i / pieces / runs / g.out_height;
            const int first = run * kPlaces, last = Min(first + kPlaces, g.out_width);
            const X* channel = x + image * g.x_image + output / multiple;
            SumOf<X> sums[kPlaces][V] = {};
            for (int r = 0; r < g.kernel_h; ++r) {
              for (int s = 0; s < g.kernel_w; ++s) {
                WeightOf<X> w[V];
                ReadLanes(weights + size_t(r * g.kernel_w + s) * outputs + output, w);
                for (int p = 0; p < kPlaces; ++p) {
                  const int place = first + p < last ? g.PlaceAt(h, first + p, r, s) : -1;
                  if (place < 0) continue;
                  X values[V];
                  ReadLanes(channel + place * g.x_place, values);
                  for (int v = 0; v < V; ++v) {
                    const X one[1] = {values[v]};
                    const WeightOf<X> factor[1] = {w[v]};
                    sums[p][v] = AddProducts(sums[p][v], one, factor);
                  }
                }
              }
            }
            for (int p = 0; p < kPlaces; ++p) {
              if (first + p >= last) break;
              const size_t place = h * g.out_width + first + p;
              float values[V];
              for (int v = 0; v < V; ++v) values[v] = static_cast<float>(sums[p][v]);
              post.Write(values, output,
                         image * g.residual_image + place * g.residual_place + output,
                         image * g.y_image + place * g.y_place + output);
            }
          });
}

/// Calls f(X()) with the C++ type of an input.
template <typename F>
void DispatchInput(ElementType type, const F& f) {
  RequireStored(type);
  switch (type) {
    case ElementType::FLOAT16:
      return f(float16());
    case ElementType::BFLOAT16:
      return f(bfloat16());
    case ElementType::INT8:
      return f(int8_t());
    case ElementType::UINT8:
      return f(uint8_t());
    default:
      return f(float());
  }
}

/// True if kLanes channels of the input and of the weights can be read at once.
bool ReadsWide(const ConvolutionProblem& problem, const ConvolutionArguments& arguments,
               int channels) {
  const Array x = ArrayOf(const_cast<void*>(arguments.x), problem.input, InputStride(problem), 1);
  const ElementType type = SizeOf(problem.input) == 1 ? ElementType::INT8 : problem.input;
  const Array weights = ArrayOf(const_cast<void*>(arguments.weights), type, channels, 1);
  return problem.channels_last && IsWide(x, channels) && IsWide(weights, channels);
}

size_t StrideOr(size_t stride, bool channels_last, int channels, size_t places) {
  return stride > 0 ? stride : channels_last ? channels : channels * places;
}

}  // namespace

size_t InputStride(const ConvolutionProblem& p) {
  return StrideOr(p.input_stride, p.channels_last, p.shape.channels, p.shape.input_spatial());
}
size_t OutputStride(const ConvolutionProblem& p) {
  return StrideOr(p.output_stride, p.channels_last, p.shape.outputs, p.shape.output_spatial());
}
size_t ResidualStride(const ConvolutionProblem& p) {
  return StrideOr(p.residual_stride, p.channels_last, p.shape.outputs, p.shape.output_spatial());
}

void DirectConvolution(Stream& stream, const ConvolutionProblem& problem,
                       const ConvolutionArguments& arguments) {
  if (problem.num == 0) return;
  const Geometry geometry = GeometryOf(problem);
  const LanePostOps post = PostOpsOf(problem, arguments);
  DispatchInput(problem.input, [&](auto tag) {
    using X = decltype(tag);
    WithLanes(ReadsWide(problem, arguments, geometry.channels), [&](auto lanes) {
      DirectLanes<X, decltype(lanes)::value>(
          stream, geometry, problem.channels_last, static_cast<const X*>(arguments.x),
          static_cast<const WeightOf<X>*>(arguments.weights), post);
    });
  });
}

void DepthwiseConvolution(Stream& stream, const ConvolutionProblem& problem,
                          const ConvolutionArguments& arguments) {
  Require(IsChannelsLastDepthwise(problem.shape, problem.channels_last),
          "a depthwise convolution has a group for each channel");
  if (problem.num == 0) return;
  const Geometry geometry = GeometryOf(problem);
  const LanePostOps post = PostOpsOf(problem, arguments);
  const int channels = problem.shape.channels;
  const bool wide = geometry.outputs == 1 && ReadsWide(problem, arguments, channels) &&
                    IsWide(post.y, channels) &&
                    (!problem.has_residual || IsWide(post.residual, channels));
  DispatchInput(problem.input, [&](auto tag) {
    using X = decltype(tag);
    WithLanes(wide, [&](auto lanes) {
      DepthwiseLanes<X, decltype(lanes)::value>(
          stream, geometry, static_cast<const X*>(arguments.x),
          static_cast<const WeightOf<X>*>(arguments.weights), post);
    });
  });
}

void AddChannelsLastWeights(Stream& stream, const kernels::ConvolutionShape& shape, int channels,
                            const float* gradient, float* d_weights) {
  const int own = shape.channels, positions = static_cast<int>(shape.kernel_size());
  ForEach(stream, CountedWork(double(shape.outputs) * own * positions),
          [=] __host__ __device__(int i) {
            const int position = i % positions, row = i / positions;
            const size_t place = size_t(row / own) * positions + position;
            d_weights[i] += gradient[place * channels + row % own];
          });
}

}  // namespace caffe::cuda
