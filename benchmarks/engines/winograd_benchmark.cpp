// Times 3x3 and 5x5 convolutions by Winograd's algorithm and oneDNN's direct float ones, in blocks
// of 8 or 16 channels (whichever oneDNN takes), both with bias and ReLU: one line per layer of
// VGG-16, ResNet, GoogLeNet, SSD300 and CIFAR-10 quick. All ways take turns; a line has the medians
// in milliseconds, how many times as long oneDNN takes, and what WinogradPays says.
//
//     winograd_benchmark [word [rounds]]     only the lines in which the word occurs

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmark_support.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/winograd.hpp"
#include "caffe/onednn/onednn.hpp"

namespace {

using caffe::float16;
using caffe::kernels::CeilDiv;
using caffe::kernels::PostOps;
using caffe::kernels::RoundUp;
using caffe::kernels::WinogradShape;

/// A layer with as many inputs as outputs on a side.
struct Row {
  const char* name;
  int channels, outputs, extent;
  int kernel = 3;
};

const Row kRows[] = {{"VGG conv1_2", 64, 64, 224},        {"VGG conv2_1", 64, 128, 112},
                     {"VGG conv2_2", 128, 128, 112},      {"VGG conv3_1", 128, 256, 56},
                     {"VGG conv3_2", 256, 256, 56},       {"VGG conv4_1", 256, 512, 28},
                     {"VGG conv4_2", 512, 512, 28},       {"VGG conv5_1", 512, 512, 14},
                     {"ResNet conv2", 64, 64, 56},        {"ResNet conv3", 128, 128, 28},
                     {"ResNet conv4", 256, 256, 14},      {"ResNet conv5", 512, 512, 7},
                     {"GoogLeNet conv2", 64, 192, 56},    {"GoogLeNet 3a 3x3", 96, 128, 28},
                     {"GoogLeNet 3b 3x3", 128, 192, 28},  {"GoogLeNet 4a 3x3", 96, 208, 14},
                     {"GoogLeNet 4e 3x3", 160, 320, 14},  {"GoogLeNet 5b 3x3", 192, 384, 7},
                     {"SSD conv1_2", 64, 64, 300},        {"SSD conv3_2", 256, 256, 75},
                     {"SSD conv4_2", 512, 512, 38},       {"SSD conv5_1", 512, 512, 19},
                     {"SSD conv4_3 boxes", 512, 16, 38},  {"SSD fc7 classes", 1024, 126, 19},
                     {"SSD conv8_2 boxes", 256, 24, 5},   {"VGG conv1_1", 3, 64, 224},
                     {"GoogLeNet 3a 5x5", 16, 32, 28, 5}, {"GoogLeNet 3b 5x5", 32, 96, 28, 5},
                     {"GoogLeNet 4a 5x5", 16, 48, 14, 5}, {"GoogLeNet 4e 5x5", 32, 128, 14, 5},
                     {"GoogLeNet 5b 5x5", 48, 128, 7, 5}, {"CIFAR conv2", 32, 32, 16, 5},
                     {"CIFAR conv3", 32, 64, 8, 5}};

template <typename T>
std::vector<T> Narrow(const std::vector<float>& values) {
  std::vector<T> result(values.size());
  caffe::kernels::Convert(values.size(), values.data(), result.data());
  return result;
}

void Compare(const Row& row, int num, int rounds) {
  caffe::kernels::ConvolutionShape shape;
  shape.channels = row.channels;
  shape.outputs = row.outputs;
  shape.input = shape.output = {row.extent, row.extent};
  shape.kernel = {row.kernel, row.kernel};
  shape.pad = {row.kernel / 2, row.kernel / 2};
  shape.stride = shape.dilation = {1, 1};
  caffe::onednn::WeightedPrimitive::Options options;
  options.bias = true;
  options.activation.kind = caffe::kernels::Activation::RELU;
  const auto onednn = caffe::onednn::Convolution::Make(shape, num, options);
  WinogradShape s;
  s.num = num;
  s.channels = row.channels;
  s.outputs = row.outputs;
  s.height = s.width = row.extent;
  s.kernel = row.kernel;
  s.pad_h = s.pad_w = row.kernel / 2;
  s.block = std::max(8, onednn->target().block);

  const size_t blocks = CeilDiv(s.channels, s.block);
  const size_t spatial = size_t(row.extent) * row.extent;
  std::vector<float> x = Random(num * blocks * s.block * spatial);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i / (s.block * spatial) % blocks * s.block + i % s.block >= size_t(s.channels)) x[i] = 0;
  }
  const std::vector<float> w = Random(shape.weight_count()), bias = Random(s.outputs);
  std::vector<float> onednn_weights(onednn->packed_size()), packed(WinogradPackedSize(s));
  onednn->PackWeights(w.data(), onednn_weights.data());
  caffe::kernels::WinogradPackWeights(s, w.data(), packed.data());
  const auto half_x = Narrow<float16>(x), half_packed = Narrow<float16>(packed);
  const size_t outputs = num * RoundUp(s.outputs, s.block) * spatial;
  std::vector<float> onednn_y(outputs), y(outputs);
  std::vector<float16> half_y(outputs);
  const caffe::kernels::WinogradConvolution winograd(s);
  const size_t scratch_size = winograd.scratch_bytes();
  Aligned scratch(scratch_size);
  const PostOps post(bias.data(), {}, options.activation);

  const std::vector<std::function<void()>> ways = {
      [&] { onednn->Forward(x.data(), onednn_weights.data(), post, onednn_y.data()); },
      [&] { winograd.Run(x.data(), packed.data(), post, y.data(), scratch.get()); },
      [&] { winograd.Run(half_x.data(), half_packed.data(), post, half_y.data(), scratch.get()); }};
  std::vector<std::vector<double>> times(ways.size());
  std::vector<int> often;
  for (const auto& way : ways) {
    way();
    often.push_back(std::clamp(static_cast<int>(5 / std::max(0.01, Milliseconds(way))), 1, 500));
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      times[i].push_back(Milliseconds([&] {
                           for (int k = 0; k < often[i]; ++k) ways[i]();
                         }) /
                         often[i]);
    }
  }
  std::vector<double> ms;
  for (const auto& values : times) ms.push_back(Median(values));
  const double gflop = 2e-9 * num * shape.weight_count() * spatial;
  std::printf("| %-17s | %d | %8.3f | %8.3f | %8.3f | %.2f | %.2f | %s | %.1f | %.0f |\n", row.name,
              num, ms[0], ms[1], ms[2], ms[0] / ms[1], ms[0] / ms[2],
              WinogradPays(s) ? "yes" : "no", scratch_size / 1048576., gflop / ms[1] * 1e3);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if (!caffe::onednn::Enabled()) {
    std::fprintf(stderr, "this build has no oneDNN, or CAFFE_ONEDNN=0\n");
    return 1;
  }
  std::printf(
      "| layer | batch | oneDNN float ms | float ms | half ms | float x | half x "
      "| pays | scratch MB | direct GFLOP/s |\n");
  std::printf("|---|---:|---:|---:|---:|---:|---:|---|---:|---:|\n");
  for (int num : {1, 8}) {
    for (const Row& row : kRows) {
      if (std::string(row.name).find(wanted) != std::string::npos) Compare(row, num, rounds);
    }
  }
  return 0;
}
