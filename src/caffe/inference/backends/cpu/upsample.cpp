// Upsample without a mask, on blobs whose channels lie in blocks, or last, in every type: each
// position is copied to a rectangle.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

/// How the positions of a blob lie, in bytes; a plane is an image, or a block of
/// channels of one.
struct PositionStrides {
  char* data;
  size_t position;  ///< from one position to the next
  size_t block;     ///< from one plane of an image to the next
  size_t image;     ///< from one image to the next
};

PositionStrides PositionStridesOf(const Operand& operand) {
  const size_t size = SizeOf(operand.type);
  const size_t positions = size_t(operand.shape[2]) * operand.shape[3];
  if (operand.channels_last()) {
    const size_t pixel = operand.stride * size;
    return {operand.as<char>(), pixel, 0, positions * pixel};
  }
  const size_t position = operand.block * size;
  return {operand.as<char>(), position, positions * position, operand.stride * size};
}

class UpsampleStep : public Step {
 public:
  bool takes_strides() const override { return true; }

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    const Shape &from = x_.shape, &to = y_.shape;
    Require(from.size() == 4 && to.size() == 4 && from[0] == to[0] && from[1] == to[1] &&
                x_.layout == y_.layout && x_.block == y_.block && x_.type == y_.type &&
                x_.scale == y_.scale && x_.zero_point == y_.zero_point,
            "its blobs are in a layout that the kernel does not take");
    Require(x_.blocked() || x_.image == y_.image, "its blobs differ in padding");
    height_ = from[2] > 0 ? to[2] / from[2] : 0;
    width_ = from[3] > 0 ? to[3] / from[3] : 0;
    Require(height_ * from[2] == to[2] && width_ * from[3] == to[3],
            "its top is not a multiple of its bottom");
  }

  void Run(void*) override {
    const size_t bytes = (x_.channels_last() ? x_.image : size_t(x_.block)) * SizeOf(x_.type);
    // Numbers that the compiler knows are copied in registers.
    switch (bytes) {
      case 16:
        return Copy(std::integral_constant<size_t, 16>());
      case 32:
        return Copy(std::integral_constant<size_t, 32>());
      case 64:
        return Copy(std::integral_constant<size_t, 64>());
      default:
        return Copy(bytes);
    }
  }

 private:
  /// So many bytes for each position.
  template <typename Size>
  void Copy(Size bytes) const {
    constexpr size_t kGrain = 1 << 14;  // bytes
    const PositionStrides x = PositionStridesOf(x_), y = PositionStridesOf(y_);
    const size_t blocks = x_.channels_last() ? 1 : kernels::CeilDiv(x_.shape[1], x_.block);
    const size_t rows = y_.shape[2], columns = x_.shape[3];
    const size_t x_row = columns * x.position, y_row = y_.shape[3] * y.position;
    const size_t grain = std::max<size_t>(1, kGrain / std::max<size_t>(1, y_.shape[3] * bytes));
    kernels::ParallelFor(y_.shape[0] * blocks * rows, grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t row = i % rows, block = i / rows % blocks, image = i / rows / blocks;
        const char* from = x.data + image * x.image + block * x.block + row / height_ * x_row;
        char* to = y.data + image * y.image + block * y.block + row * y_row;
        for (size_t column = 0; column < columns; ++column, from += x.position) {
          for (int k = 0; k < width_; ++k, to += y.position) std::memcpy(to, from, bytes);
        }
      }
    });
  }

  Operand x_, y_;
  int height_ = 0, width_ = 0;  // of a rectangle
};

bool Repeats(const Graph& graph, const Node& node) {
  return node.type() == "Upsample" && node.inputs.size() == 1 && node.outputs.size() == 1 &&
         node.epilogue.empty() && graph.values[node.inputs[0]].shape.size() == 4;
}

class UpsampleImpl : public Implementation {
 public:
  const char* name() const override { return "upsample"; }
  bool Takes(const Node&) const override { return true; }
  bool TakesZeroPoints(const Node&) const override { return true; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!Repeats(context.graph, node)) return context.None("is for Upsample without a mask");
    std::vector<Candidate> candidates;
    for (const ElementType type : context.storage) {
      const Range &x = context.ranges[node.inputs[0]], &y = context.ranges[node.outputs[0]];
      if (type == ElementType::INT8 && !IsSame(x, y)) continue;
      for (const Layout::Kind layout : {kBlocked, kChannelsLast}) {
        candidates.push_back(
            Formats(*this, node, ElementType::FLOAT, {type, layout}, {type, layout}));
      }
    }
    return candidates;
  }
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    Require(Repeats(graph, node), "layer '", node.name(), "' (", node.type(),
            ") does not only repeat positions");
    return std::make_unique<UpsampleStep>();
  }
};

}  // namespace

const Implementation& Upsample() {
  static const UpsampleImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
