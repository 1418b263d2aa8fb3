// Times convolutions of 8-bit integers beside float ones, by this library's kernels and by oneDNN:
// one line per layer of ResNet-50, VGG-16 and MobileNet. All ways take turns; a line has the least
// milliseconds of each and how many times as long oneDNN takes in float as 8 bits do.
//
//     int8_benchmark [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "../../src/caffe/onednn/onednn.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/kernels/packed_convolution.hpp"

namespace {

using caffe::kernels::ConvolutionShape;
using caffe::kernels::Int8Convolution;
using caffe::kernels::PackedConvolution;

/// A layer on square pictures.
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
                     {"MobileNet 1x1", 512, 512, 14, 1, 1, 0, 1},
                     {"MobileNet depthwise", 512, 512, 14, 3, 1, 1, 512},
                     {"MobileNet depthwise / 2", 128, 128, 56, 3, 2, 1, 128}};

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

double Milliseconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::vector<float> Random(size_t n) {
  static std::mt19937 random(7);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(n);
  for (float& value : values) value = distribution(random);
  return values;
}

template <typename T>
std::vector<T> Bytes(size_t n) {
  std::vector<T> bytes(n);
  const std::vector<float> values = Random(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<T>(static_cast<int>(values[i] * 127));
  return bytes;
}

void Compare(const Row& row, int rounds) {
  const ConvolutionShape s = ShapeOf(row);
  const bool plain = row.channels < 8;
  const auto int8 = Int8Convolution::Make(s, plain);
  const auto packed = PackedConvolution::Make(s, plain);
  caffe::onednn::LinearMap::Options options;
  options.bias = true;
  options.keep_weights = false;
  const auto onednn = caffe::onednn::Convolution::Make(s, 1, options);

  const size_t block = int8->block();
  const size_t inputs = (s.channels + block - 1) / block * block * s.input_spatial();
  const size_t outputs = (s.outputs + block - 1) / block * block * s.output_spatial();
  const std::vector<uint8_t> x8 = Bytes<uint8_t>(inputs);
  const std::vector<int8_t> w8 = Bytes<int8_t>(int8->packed_size());
  std::vector<int8_t> y8(outputs);
  const std::vector<float> x = Random(inputs), bias = Random(s.outputs);
  const std::vector<float> scale(s.outputs, 1e-3f);
  const std::vector<float> w =
      Random(std::max(packed->packed_size(), onednn ? onednn->packed_size() : 0));
  std::vector<float> y(outputs), float_scratch(packed->scratch_size(1));
  std::vector<char> scratch(int8->scratch_bytes(1) + 64);
  void* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  Int8Convolution::Epilogue<int8_t> epilogue;
  epilogue.scale = scale.data();
  epilogue.bias = bias.data();

  const double none = std::numeric_limits<double>::infinity();
  double least[3] = {none, none, none};
  for (int round = 0; round < rounds; ++round) {
    const double times[3] = {
        Milliseconds([&] { int8->Forward(1, x8.data(), w8.data(), epilogue, aligned, y8.data()); }),
        Milliseconds([&] {
          packed->Forward(1, x.data(), w.data(), bias.data(), caffe::PointwiseActivation(),
                          float_scratch.data(), y.data());
        }),
        onednn ? Milliseconds(
                     [&] { onednn->ForwardPacked(w.data(), x.data(), bias.data(), y.data()); })
               : none};
    for (int i = 0; i < 3; ++i) least[i] = std::min(least[i], times[i]);
  }
  std::printf("%-24s %9.3f %9.3f %9.3f %7.2f\n", row.name, least[0], least[1], least[2],
              least[2] / least[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
  std::printf("%-24s %9s %9s %9s %7s\n", "layer", "8 bits", "float", "oneDNN", "x");
  for (const Row& row : kRows) Compare(row, rounds);
}
