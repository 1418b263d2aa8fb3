#include "block_split.hpp"

#include <algorithm>

#include "caffe/kernels/ceil_div.hpp"

namespace caffe {
namespace {

using kernels::ConvolutionShape;
using kernels::SeparableBlock;

// Measured on AVX-512: what reading a float of weights takes, in products.
constexpr double kProductsPerFloat = 8;
// Sums are added up, written, and read by one thread, most of them from another core's cache. On
// cores that share one 4 would do; on those that do not, more.
constexpr double kAccessesPerSum = 6;
// Channels that the kernel expands at a time: four vectors of AVX-512, less with other registers.
constexpr int kChannelsOfPart = 64;
// Products of the slowest thread, of an equal share of all, above which layers run one by one; and
// what starting two more layers takes, in products.
constexpr double kMostWork = 1.15, kProductsOfStarts = 1e5;

/// What the slowest of the threads that share a block does for each image.
struct Share {
  double products = 0, floats = 0;
  double cost() const { return products + kProductsPerFloat * floats; }
};

/// The work of a block for an image, by its parts.
class BlockWork {
 public:
  explicit BlockWork(const SeparableBlock::Shapes& shapes)
      : shapes_(shapes),
        expand_(Products(*shapes.expand)),
        others_(Products(shapes.depthwise) + Products(shapes.project)),
        weights_(static_cast<double>(shapes.expand->weight_count() +
                                     shapes.depthwise.weight_count() +
                                     shapes.project.weight_count())) {}

  double products() const { return expand_ + others_; }

  /// Ranges of rows: each thread reads all weights.
  Share OfRows(int num, int threads) const {
    const int outputs = shapes_.depthwise.output[0], ranges = std::min(threads, outputs);
    int most = 0, most_expanded = 0;
    for (int i = 0; i < ranges; ++i) {
      const int begin = outputs * i / ranges, end = outputs * (i + 1) / ranges;
      most = std::max(most, end - begin);
      most_expanded = std::max(most_expanded, RowsUnder(begin, end));
    }
    const double each = double(kernels::CeilDiv(size_t(num) * ranges, threads)) / num;
    return {
        each * (expand_ * most_expanded / shapes_.depthwise.input[0] + others_ * most / outputs),
        each * weights_};
  }
  /// Parts of the channels: sums of all outputs are added up at the end.
  Share OfChannels(int threads) const {
    const size_t parts = kernels::CeilDiv(shapes_.depthwise.channels, kChannelsOfPart);
    const double share = double(kernels::CeilDiv(parts, threads)) / parts;
    const double sums = double(shapes_.project.outputs) * shapes_.project.output_spatial();
    return {share * products(), share * weights_ + kAccessesPerSum * sums};
  }

 private:
  static double Products(const ConvolutionShape& shape) {
    return double(shape.weight_count()) * shape.output_spatial();
  }
  /// Rows of the input under the kernels of these rows of the output.
  int RowsUnder(int begin, int end) const {
    const ConvolutionShape& s = shapes_.depthwise;
    const int first = begin * s.stride[0] - s.pad[0];
    const int last = (end - 1) * s.stride[0] - s.pad[0] + s.kernel[0];
    return std::max(0, std::min(s.input[0], last) - std::max(0, first));
  }

  const SeparableBlock::Shapes& shapes_;
  const double expand_, others_, weights_;
};

}  // namespace

std::optional<SeparableBlock::Split> ChooseBlockSplit(const SeparableBlock::Shapes& shapes, int num,
                                                      int threads) {
  using Split = SeparableBlock::Split;
  if (num % threads == 0) return Split::ROWS;  // whole images
  const BlockWork work(shapes);
  const Share rows = work.OfRows(num, threads), channels = work.OfChannels(threads);
  const double most = kMostWork * work.products() / threads + kProductsOfStarts;
  const bool may_be_rows = rows.products <= most, may_be_channels = channels.products <= most;
  if (may_be_rows && (!may_be_channels || rows.cost() <= channels.cost())) return Split::ROWS;
  if (may_be_channels) return Split::CHANNELS;
  return std::nullopt;
}

}  // namespace caffe
