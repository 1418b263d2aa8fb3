#include "caffe/kernels/cuda/integer_convolution.hpp"

#include "integer_outputs.hpp"

namespace caffe::cuda {
namespace {

using kernels::ConvolutionShape;

constexpr int kWord = 4;                    // bytes multiplied at once
constexpr uint32_t kEachByte = 0x01010101;  // 1 in each byte of a word

int WordsOf(const ConvolutionShape& shape) {
  return (shape.channels / shape.group + kWord - 1) / kWord;
}

/// Which inputs lie under kernel positions.
struct Geometry {
  Geometry(const ConvolutionShape& shape, bool is_transposed)
      : axes(shape.axes()), transposed(is_transposed) {
    for (int i = 0; i < axes; ++i) {
      input[i] = shape.input[i];
      output[i] = shape.output[i];
      kernel[i] = shape.kernel[i];
      stride[i] = shape.stride[i];
      pad[i] = shape.pad[i];
      dilation[i] = shape.dilation[i];
    }
  }

  /// The input position for an output position and a kernel position; -1: none.
  __host__ __device__ int InputAt(int position, int tap) const {
    int place = 0, size = 1;
    for (int i = axes - 1; i >= 0; --i) {
      const int step = tap % kernel[i] * dilation[i], out = position % output[i];
      const int moved = transposed ? out + pad[i] - step : out * stride[i] - pad[i] + step;
      if (moved < 0 || (transposed && moved % stride[i] != 0)) return -1;
      const int in = transposed ? moved / stride[i] : moved;
      if (in >= input[i]) return -1;
      place += in * size;
      size *= input[i];
      tap /= kernel[i];
      position /= output[i];
    }
    return place;
  }

  int axes;
  bool transposed;
  int input[kMaxIntegerAxes] = {}, output[kMaxIntegerAxes] = {}, kernel[kMaxIntegerAxes] = {};
  int stride[kMaxIntegerAxes] = {}, pad[kMaxIntegerAxes] = {}, dilation[kMaxIntegerAxes] = {};
};

/// The arguments shared by all outputs.
struct Layer {
  Layer(const ConvolutionShape& shape, bool transposed, const Integers& input,
        const IntegerWeights& packed, const kernels::Rescaling& rescaling)
      : geometry(shape, transposed),
        taps(static_cast<int>(shape.kernel_size())),
        channels(shape.channels / shape.group),
        words(WordsOf(shape)),
        outputs(shape.outputs),
        outputs_of_group(shape.outputs / shape.group),
        x(input),
        weights(packed),
        by(rescaling) {}

  __host__ __device__ int FirstChannel(int output) const {
    return output / outputs_of_group * channels;
  }
  /// The index of a word of weights.
  __host__ __device__ size_t WordAt(int tap, int word, int output) const {
    return (size_t(tap) * words + word) * outputs + output;
  }

  Geometry geometry;
  int taps, channels, words, outputs, outputs_of_group;
  Integers x;
  IntegerWeights weights;
  kernels::Rescaling by;
};

/// The sum of an output's products, modulo 2^32, byte by byte.
__host__ __device__ inline uint32_t SumOfBytes(const Layer& layer, int n, int o, int s) {
  const kernels::IntegerOperand x = {layer.x.data, layer.x.is_unsigned, 0};
  const kernels::IntegerOperand w = {layer.weights.data, layer.weights.is_unsigned,
                                     layer.weights.zero_point};
  const int first = layer.FirstChannel(o);
  uint32_t sum = 0;
  for (int tap = 0; tap < layer.taps; ++tap) {
    const int in = layer.geometry.InputAt(s, tap);
    for (int c = 0; c < layer.channels; ++c) {
      const int32_t byte = in < 0 ? layer.x.zero_point : x.At(layer.x.PlaceOf(n, first + c, in));
      const int32_t weight = w.At(layer.WordAt(tap, c / kWord, o) * kWord + c % kWord);
      sum += static_cast<uint32_t>(byte * weight);
    }
  }
  return sum;
}

template <bool is_unsigned>
__host__ __device__ inline int32_t ByteOf(uint32_t word, int i) {
  const uint8_t byte = static_cast<uint8_t>(word >> (8 * i));
  return is_unsigned ? int32_t{byte} : int32_t{static_cast<int8_t>(byte)};
}

/// sum + the products of four bytes each, modulo 2^32.
template <bool a_unsigned, bool b_unsigned>
__host__ __device__ inline uint32_t AddProducts(uint32_t a, uint32_t b, uint32_t sum) {
#ifdef __CUDA_ARCH__
  uint32_t result;
  if (a_unsigned && b_unsigned) {
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  } else if (a_unsigned) {
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  } else if (b_unsigned) {
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  } else {
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  }
  return result;
#else
  for (int i = 0; i < kWord; ++i) {
    sum += static_cast<uint32_t>(ByteOf<a_unsigned>(a, i) * ByteOf<b_unsigned>(b, i));
  }
  return sum;
#endif
}

/// The same sum, word by word.
template <bool x_unsigned, bool w_unsigned>
__host__ __device__ inline uint32_t SumOfWords(const Layer& layer, int n, int o, int s) {
  const uint32_t* const weights = static_cast<const uint32_t*>(layer.weights.data);
  const uint8_t* const bytes = static_cast<const uint8_t*>(layer.x.data);
  const uint32_t nothing = static_cast<uint8_t>(layer.x.zero_point) * kEachByte;
  const int first = layer.FirstChannel(o);
  uint32_t sum = 0, sum_of_x = 0;
  for (int tap = 0; tap < layer.taps; ++tap) {
    const int in = layer.geometry.InputAt(s, tap);
    const uint32_t* const x =
        reinterpret_cast<const uint32_t*>(bytes + layer.x.PlaceOf(n, first, in < 0 ? 0 : in));
    for (int word = 0; word < layer.words; ++word) {
      const uint32_t four = in < 0 ? nothing : x[word];
      sum = AddProducts<x_unsigned, w_unsigned>(four, weights[layer.WordAt(tap, word, o)], sum);
      if (w_unsigned) sum_of_x = AddProducts<x_unsigned, true>(four, kEachByte, sum_of_x);
    }
  }
  return sum - static_cast<uint32_t>(layer.weights.zero_point) * sum_of_x;
}

/// True if the channels of an output's sum fill whole words, or words with padding.
bool LieInWords(const ConvolutionShape& shape, const Integers& x) {
  const size_t pixel = x.positions > 1 ? x.position : x.image;
  const uintptr_t all =
      reinterpret_cast<uintptr_t>(x.data) | x.image | (x.positions > 1 ? x.position : 0);
  const int channels = shape.channels / shape.group;
  const bool whole = channels % kWord == 0;
  const bool filled = shape.group == 1 && pixel >= size_t(WordsOf(shape)) * kWord;
  return x.channel == 1 && all % kWord == 0 && (whole || filled);
}

template <bool x_unsigned, bool w_unsigned>
void ConvolveWords(Stream& stream, const Layer& layer, const Integers& y) {
  ForEachOutput(stream, y, [=] __host__ __device__(int n, int o, int s) {
    const uint32_t sum = SumOfWords<x_unsigned, w_unsigned>(layer, n, o, s);
    return kernels::Rescaled(layer.by, o, static_cast<int32_t>(sum));
  });
}

}  // namespace

size_t PackedIntegersSize(const ConvolutionShape& shape) {
  return shape.kernel_size() * WordsOf(shape) * shape.outputs * kWord;
}

void PackIntegers(const ConvolutionShape& shape, const uint8_t* weights, uint8_t zero_point,
                  uint8_t* packed) {
  const size_t taps = shape.kernel_size(), channels = shape.channels / shape.group;
  const size_t words = WordsOf(shape), outputs = shape.outputs;
  std::fill_n(packed, PackedIntegersSize(shape), zero_point);
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t tap = 0; tap < taps; ++tap) {
        packed[((tap * words + c / kWord) * outputs + o) * kWord + c % kWord] =
            weights[(o * channels + c) * taps + tap];
      }
    }
  }
}

void ConvolveIntegers(Stream& stream, const ConvolutionShape& shape, bool transposed,
                      const Integers& x, const IntegerWeights& weights,
                      const kernels::Rescaling& by, const Integers& y) {
  Require(shape.axes() <= kMaxIntegerAxes, "integers are convolved over up to ", kMaxIntegerAxes,
          " axes, not ", shape.axes());
  const Layer layer(shape, transposed, x, weights, by);
  if (!LieInWords(shape, x)) {
    ForEachOutput(stream, y, [=] __host__ __device__(int n, int o, int s) {
      const uint32_t sum = SumOfBytes(layer, n, o, s);
      return kernels::Rescaled(layer.by, o, static_cast<int32_t>(sum));
    });
  } else if (x.is_unsigned) {
    weights.is_unsigned ? ConvolveWords<true, true>(stream, layer, y)
                        : ConvolveWords<true, false>(stream, layer, y);
  } else {
    weights.is_unsigned ? ConvolveWords<false, true>(stream, layer, y)
                        : ConvolveWords<false, false>(stream, layer, y);
  }
}

}  // namespace caffe::cuda
