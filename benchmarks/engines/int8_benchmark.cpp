// Times convolutions of 8-bit integers and of floats, by this library's kernels and by oneDNN: one
// line per layer of ResNet-50, VGG-16, MobileNet v1 and v2 and a detector. All ways take turns; a
// line has the least milliseconds of each and how many times as long oneDNN takes in float as they
// do here: 8 bits; 16 bits; weights of 16 bits between floats; float. Then 8 bits by products of
// bytes for weights of a reduced range, also of copied inputs, and by Winograd's algorithm with
// tiles of 2 x 2 and of 4 x 4 outputs, where there are such kernels, and how many times as long the
// definition takes. Images are read as floats.
//
// With `ends`: 8 bits that become bytes again in float and by integers alone (Rescaling), by the
// definition and with both tiles: the milliseconds of each and how many times as long integers
// take. With `slopes`: the same with a slope for the negative sums of each output (PReLU).
//
//     int8_benchmark [rounds [word]]     only the lines in which the word occurs
//     int8_benchmark ends [rounds [word]]
//     int8_benchmark slopes [rounds [word]]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "benchmark_support.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/fixed_point.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/onednn/onednn.hpp"

namespace {

using caffe::float16;
using caffe::kernels::ConvolutionShape;
using caffe::kernels::Int8Convolution;
using caffe::kernels::PackedConvolution;

/// A layer on square images.
struct Row {
  const char* name;
  int channels, outputs, extent, kernel, stride, pad, group;
};

const Row kRows[] = {{"ResNet-50 conv1", 3, 64, 224, 7, 2, 3, 1},
                     {"ResNet-50 conv2 1x1", 64, 256, 56, 1, 1, 0, 1},
                     {"ResNet-50 conv2 3x3", 64, 64, 56, 3, 1, 1, 1},
                     {"ResNet-50 conv3 3x3", 128, 128, 28, 3, 1, 1, 1},
                     {"ResNet-50 conv4 1x1", 1024, 256, 14, 1, 1, 0, 1},
                     {"ResNet-50 conv5 3x3", 512, 512, 7, 3, 1, 1, 1},
                     {"VGG-16 conv3_2", 256, 256, 56, 3, 1, 1, 1},
                     {"VGG-16 conv5_1", 512, 512, 14, 3, 1, 1, 1},
                     {"ResNet-50 conv2 1x1 out", 256, 64, 56, 1, 1, 0, 1},
                     {"ResNet-50 conv3 1x1", 512, 128, 28, 1, 1, 0, 1},
                     {"ResNet-50 conv3 1x1 out", 128, 512, 28, 1, 1, 0, 1},
                     {"ResNet-50 conv4 1x1 out", 256, 1024, 14, 1, 1, 0, 1},
                     {"ResNet-50 conv5 1x1", 2048, 512, 7, 1, 1, 0, 1},
                     {"ResNet-50 conv5 1x1 out", 512, 2048, 7, 1, 1, 0, 1},
                     {"MobileNet v1 1x1 112", 32, 64, 112, 1, 1, 0, 1},
                     {"MobileNet v1 1x1 56", 128, 128, 56, 1, 1, 0, 1},
                     {"MobileNet v1 1x1 28", 256, 256, 28, 1, 1, 0, 1},
                     {"MobileNet v1 1x1 14", 512, 512, 14, 1, 1, 0, 1},
                     {"MobileNet v1 1x1 7", 1024, 1024, 7, 1, 1, 0, 1},
                     {"MobileNet v2 1x1 56", 24, 144, 56, 1, 1, 0, 1},
                     {"MobileNet v2 1x1 56 out", 144, 24, 56, 1, 1, 0, 1},
                     {"MobileNet v2 1x1 28", 32, 192, 28, 1, 1, 0, 1},
                     {"MobileNet v2 1x1 14", 96, 576, 14, 1, 1, 0, 1},
                     {"MobileNet v2 1x1 14 out", 576, 96, 14, 1, 1, 0, 1},
                     {"MobileNet v2 1x1 7", 160, 960, 7, 1, 1, 0, 1},
                     {"AlexNet conv2 5x5", 96, 256, 27, 5, 1, 2, 2},
                     {"GoogLeNet 3b 5x5", 32, 96, 28, 5, 1, 2, 1},
                     {"GoogLeNet 3a 1x1", 192, 64, 28, 1, 1, 0, 1},
                     {"GoogLeNet 3a 3x3", 96, 128, 28, 3, 1, 1, 1},
                     {"SqueezeNet squeeze 55", 128, 16, 55, 1, 1, 0, 1},
                     {"SqueezeNet expand 1x1 55", 16, 64, 55, 1, 1, 0, 1},
                     {"SqueezeNet expand 3x3 55", 16, 64, 55, 3, 1, 1, 1},
                     {"SqueezeNet expand 3x3 13", 64, 256, 13, 3, 1, 1, 1},
                     {"MobileNet conv1", 3, 32, 224, 3, 2, 1, 1},
                     {"RetinaFace conv1", 3, 8, 640, 3, 2, 1, 1},
                     {"RetinaFace 1x1 320", 8, 16, 320, 1, 1, 0, 1},
                     {"RetinaFace 1x1 160", 32, 32, 160, 1, 1, 0, 1},
                     {"RetinaFace 1x1 80", 64, 64, 80, 1, 1, 0, 1},
                     {"RetinaFace 1x1 40", 128, 128, 40, 1, 1, 0, 1},
                     {"RetinaFace 1x1 20", 256, 256, 20, 1, 1, 0, 1},
                     {"MobileNet depthwise 112", 32, 32, 112, 3, 1, 1, 32},
                     {"MobileNet depthwise 56", 128, 128, 56, 3, 1, 1, 128},
                     {"MobileNet depthwise 56/2", 128, 128, 56, 3, 2, 1, 128},
                     {"MobileNet depthwise 14", 512, 512, 14, 3, 1, 1, 512},
                     {"MobileNet depthwise 14/2", 512, 512, 14, 3, 2, 1, 512},
                     {"MobileNet depthwise 7", 1024, 1024, 7, 3, 1, 1, 1024}};

ConvolutionShape ShapeOf(const Row& row) {
  ConvolutionShape s;
  const int output = (row.extent + 2 * row.pad - row.kernel) / row.stride + 1;
  s.channels = row.channels;
  s.outputs = row.outputs;
  s.group = row.group;
  s.input = {row.extent, row.extent};
  s.output = {output, output};
  s.kernel = {row.kernel, row.kernel};
  s.stride = {row.stride, row.stride};
  s.pad = {row.pad, row.pad};
  s.dilation = {1, 1};
  return s;
}

template <typename T>
std::vector<T> Bytes(size_t n) {
  std::vector<T> bytes(n);
  const std::vector<float> values = Random(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<T>(static_cast<int>(values[i] * 127));
  return bytes;
}

constexpr double kNone = std::numeric_limits<double>::infinity();

/// Bytes of a layer, and what the kernels for them are.
class Layer {
 public:
  explicit Layer(const Row& row)
      : shape(ShapeOf(row)),
        plain(row.channels < 8),
        int8(Int8Convolution::Make(shape, plain)),
        small_pairs(Int8Convolution::MakeForSmallPairs(shape, plain)),
        copied(Int8Convolution::MakeForSmallPairs(shape, plain, /*copies=*/true)),
        two(plain ? nullptr : Int8Convolution::MakeWinograd(shape, 2)),
        four(plain ? nullptr : Int8Convolution::MakeWinograd(shape, 4)),
        inputs(Padded(shape.channels) * shape.input_spatial()),
        outputs(Padded(shape.outputs) * shape.output_spatial()),
        x_(Bytes<uint8_t>(inputs)),
        weights_(Bytes<int8_t>(std::max({int8->packed_size(), two ? two->packed_size() : 0,
                                         small_pairs ? small_pairs->packed_size() : 0}))),
        y_(outputs),
        bias_(Random(shape.outputs)),
        scale_(shape.outputs, 1e-3f),
        whole_bias_(shape.outputs, 1000),
        multipliers_(shape.outputs, 1100000000),
        shifts_(shape.outputs, -10),
        slopes_(Padded(shape.outputs), 0.25f),
        other_shifts_(shape.outputs, -12) {
    size_t bytes = int8->scratch_bytes(1);
    for (const auto& other : {small_pairs, copied, two, four}) {
      if (other) bytes = std::max(bytes, other->scratch_bytes(1));
    }
    scratch_.resize(bytes + 64);
    floats_.scale = scale_.data();
    floats_.bias = bias_.data();
    integers_.bias = whole_bias_.data();
    integers_.multipliers = multipliers_.data();
    integers_.shifts = shifts_.data();
    integers_.least = -128;
    integers_.most = 127;
    integers_.zero_point = 3;
  }

  /// From now on negative numbers are multiplied by a quarter.
  void SetSlopes() {
    floats_.activation.kind = caffe::kernels::Activation::PRELU;
    floats_.activation.slopes = slopes_.data();
    integers_.negative_multipliers = multipliers_.data();
    integers_.negative_shifts = other_shifts_.data();
  }

  /// Milliseconds of one of them, infinite without it.
  double InFloats(const Int8Convolution* convolution, int times = 1) {
    return Time(convolution, floats_, times);
  }
  double InIntegers(const Int8Convolution* convolution, int times = 1) {
    return Time(convolution, integers_, times);
  }

  const ConvolutionShape shape;
  const bool plain;
  const std::shared_ptr<const Int8Convolution> int8, small_pairs, copied, two, four;
  const size_t inputs, outputs;  ///< with those that fill up blocks

 private:
  size_t Padded(size_t channels) const { return caffe::kernels::RoundUp(channels, int8->block()); }
  template <typename End>
  double Time(const Int8Convolution* convolution, const End& end, int times) {
    if (!convolution) return kNone;
    char* scratch = scratch_.data();
    scratch += (64 - reinterpret_cast<uintptr_t>(scratch) % 64) % 64;
    return Milliseconds([&] {
             for (int i = 0; i < times; ++i) {
               convolution->Forward(1, x_.data(), weights_.data(), end, scratch, y_.data());
             }
           }) /
           times;
  }

  std::vector<uint8_t> x_;
  std::vector<int8_t> weights_, y_;
  std::vector<float> bias_, scale_;
  std::vector<int32_t> whole_bias_, multipliers_, shifts_;
  std::vector<float> slopes_;
  std::vector<int32_t> other_shifts_;
  std::vector<char> scratch_;
  caffe::kernels::PostOps floats_;
  caffe::kernels::Rescaling integers_;
};

void CompareEnds(const Row& row, int rounds, bool slopes) {
  Layer layer(row);
  if (slopes) layer.SetSlopes();
  const Int8Convolution* const ways[] = {layer.int8.get(), layer.two.get(), layer.four.get()};
  double floats[] = {kNone, kNone, kNone}, integers[] = {kNone, kNone, kNone};
  // Long enough for the clock.
  const int times = 1 + static_cast<int>(0.2 / layer.InFloats(layer.int8.get(), 5));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 3; ++i) {
      floats[i] = std::min(floats[i], layer.InFloats(ways[i], times));
      integers[i] = std::min(integers[i], layer.InIntegers(ways[i], times));
    }
  }
  std::printf("| %-24s |", row.name);
  for (int i = 0; i < 3; ++i) {
    if (ways[i]) {
      std::printf(" %8.4f | %8.4f | %5.3f |", floats[i], integers[i], integers[i] / floats[i]);
    } else {
      std::printf("  |  |  |");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

void Compare(const Row& row, int rounds) {
  Layer layer(row);
  const ConvolutionShape& s = layer.shape;
  const bool plain = layer.plain;
  const auto packed = PackedConvolution::Make(s, plain);
  caffe::onednn::WeightedPrimitive::Options options;
  options.bias = true;
  const auto onednn = caffe::onednn::Convolution::Make(s, 1, options);

  const size_t inputs = layer.inputs, outputs = layer.outputs;
  const std::vector<float> x = Random(inputs), bias = Random(s.outputs);
  const std::vector<float> scale(s.outputs, 1e-3f);
  const std::vector<float> w =
      Random(std::max(packed->packed_size(), onednn ? onednn->packed_size() : 0));
  std::vector<float> y(outputs), float_scratch(packed->scratch_size(1));
  std::vector<float16> half_x(inputs), half_w(packed->packed_size()), half_y(outputs);
  caffe::kernels::Convert(inputs, x.data(), half_x.data());
  caffe::kernels::Convert(half_w.size(), w.data(), half_w.data());
  const auto floats = [&](const auto& from, const auto& weights, auto& to) {
    return Milliseconds([&] {
      packed->Forward(1, from.data(), weights.data(), caffe::kernels::PostOps(bias.data()),
                      float_scratch.data(), to.data());
    });
  };
  constexpr int kOurs = 4, kWays = 9;
  double least[kWays];
  std::fill_n(least, kWays, kNone);
  for (int round = 0; round < rounds; ++round) {
    const double times[kWays] = {layer.InFloats(layer.int8.get()),
                                 plain ? floats(x, half_w, half_y) : floats(half_x, half_w, half_y),
                                 floats(x, half_w, y),
                                 floats(x, w, y),
                                 onednn ? Milliseconds([&] {
                                   onednn->Forward(x.data(), w.data(),
                                                   caffe::kernels::PostOps(bias.data()), y.data());
                                 })
                                        : kNone,
                                 layer.InFloats(layer.small_pairs.get()),
                                 layer.InFloats(layer.copied.get()),
                                 layer.InFloats(layer.two.get()),
                                 layer.InFloats(layer.four.get())};
    for (int i = 0; i < kWays; ++i) least[i] = std::min(least[i], times[i]);
  }
  std::printf("| %-24s |", row.name);
  for (int i = 0; i <= kOurs; ++i) std::printf(" %8.3f |", least[i]);
  for (int i = 0; i < kOurs; ++i) std::printf(" %5.2f |", least[kOurs] / least[i]);
  for (int i = kOurs + 1; i < kWays; ++i) {
    if (least[i] < kNone) {
      std::printf(" %8.3f | %5.2f |", least[i], least[0] / least[i]);
    } else {
      std::printf("  |  |");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool slopes = mode == "slopes", ends = slopes || mode == "ends";
  if (ends) {
    ++argv;
    --argc;
  }
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
  const std::string wanted = argc > 2 ? argv[2] : "";
  if (ends) {
    std::printf(
        "| layer | float ms | integers ms | x | 2 x 2 float ms | integers ms | x | 4 x 4 float ms "
        "| integers ms | x |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  } else {
    std::printf(
        "| layer | 8 bits ms | half ms | half weights ms | float ms | oneDNN ms | 8 bits x "
        "| half x | half weights x | float x | small pairs ms | x | copied ms | x | 2 x 2 ms | x | "
        "4 x 4 ms | x |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
        "\n");
  }
  for (const Row& row : kRows) {
    if (std::string(row.name).find(wanted) == std::string::npos) continue;
    if (ends) {
      CompareEnds(row, rounds, slopes);
    } else {
      Compare(row, rounds);
    }
  }
}
