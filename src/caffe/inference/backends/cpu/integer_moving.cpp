// Layers that move elements of 8 bits, and resizing with integers alone.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/backends/moved_elements.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/integer_resize.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/transpose_bytes.hpp"
#include "caffe/layers/permute_layer.hpp"
#include "cpu_target.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {
namespace {

constexpr size_t kGrain = 1 << 14;

/// A run of neighbours in an output that are neighbours in an input.
struct MovedRun {
  int input;  ///< -1: they come from none
  size_t from, to, length;
};

/// Any layer that moves elements, in Caffe's order.
class AnyMovingStep : public MovedBytesStep {
 public:
  using MovedBytesStep::MovedBytesStep;

  void Run(void*) override {
    for (size_t t = 0; t < runs_.size(); ++t) {
      const std::vector<MovedRun>& runs = runs_[t];
      const Operand& y = binding_.outputs[t];
      const size_t mean = std::max<size_t>(1, y.elements() / std::max<size_t>(1, runs.size()));
      kernels::ParallelFor(runs.size(), std::max<size_t>(1, kGrain / mean),
                           [&](size_t begin, size_t end) {
                             for (size_t i = begin; i < end; ++i) Copy(runs[i], y);
                           });
    }
  }

 private:
  void Prepare(const std::vector<Shape>& inputs,
               const std::vector<std::vector<int64_t>>& moved_from) override {
    runs_.clear();
    for (const std::vector<int64_t>& from : moved_from) {
      std::vector<MovedRun>& runs = runs_.emplace_back();
      for (size_t i = 0; i < from.size(); ++i) {
        int input = -1;
        int64_t place = from[i] - 1;
        if (place >= 0) {
          for (input = 0; place >= static_cast<int64_t>(CountOf(inputs[input])); ++input) {
            place -= static_cast<int64_t>(CountOf(inputs[input]));
          }
        }
        const size_t at = place < 0 ? 0 : static_cast<size_t>(place);
        if (!runs.empty() && runs.back().input == input &&
            (input < 0 || runs.back().from + runs.back().length == at)) {
          ++runs.back().length;
        } else {
          runs.push_back({input, at, i, 1});
        }
      }
    }
  }

  void Copy(const MovedRun& run, const Operand& y) const {
    uint8_t* to = y.as<uint8_t>() + run.to;
    if (run.input < 0) {
      std::memset(to, y.zero_point, run.length);
      return;
    }
    const uint8_t* from = binding_.inputs[run.input].as<const uint8_t>() + run.from;
    if (run.length == 1) {
      *to = *from;
    } else {
      std::memcpy(to, from, run.length);
    }
  }

  std::vector<std::vector<MovedRun>> runs_;  // of each output
};

/// The parameters of a Permute layer.
struct OpenPermute : PermuteLayer<float> {
  using PermuteLayer<float>::PermuteLayer;
  std::vector<int> Of(const Shape& bottom) const { return Order(bottom); }
};

/// Transposes `num` matrices.
struct Transposition {
  size_t num = 1, rows = 1, columns = 1;
};

/// A Permute that leaves the leading axes where they are and puts some of the others in front of
/// the rest, such as (N, C, H, W) to (N, H, W, C); not set for others.
std::optional<Transposition> TranspositionOf(const Node& node, const Shape& bottom) {
  if (node.type() != "Permute") return std::nullopt;
  const std::vector<int> order = OpenPermute(node.layer).Of(bottom);
  const size_t axes = order.size();
  size_t first = 0;
  while (first < axes && order[first] == static_cast<int>(first)) ++first;
  if (first == axes) return std::nullopt;
  const size_t split = order[first];
  for (size_t i = first, axis = split; i < axes; ++i, axis = axis + 1 < axes ? axis + 1 : first) {
    if (order[i] != static_cast<int>(axis)) return std::nullopt;
  }
  const auto count = [&](size_t begin, size_t end) {
    return CountOf({bottom.begin() + begin, bottom.begin() + end});
  };
  return Transposition{count(0, first), count(first, split), count(split, axes)};
}

/// A Permute in Caffe's order that is a transposition.
class TransposingStep : public Step {
 public:
  explicit TransposingStep(const Node& node) : node_(node) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    const std::optional<Transposition> transposition = TranspositionOf(node_, x_.shape);
    Require(transposition && IsInteger(x_) && x_.type == y_.type &&
                x_.zero_point == y_.zero_point && x_.plain() && y_.plain() &&
                x_.elements() == y_.elements(),
            "its blobs are in a layout that the kernel does not take");
    by_ = *transposition;
  }

  void Run(void*) override {
    const size_t grain = std::max<size_t>(1, kGrain / std::max<size_t>(1, by_.rows));
    kernels::ParallelFor(by_.num * by_.columns, grain, [&](size_t begin, size_t end) {
      while (begin < end) {
        const size_t matrix = begin / by_.columns, column = begin % by_.columns;
        const size_t some = std::min(end - begin, by_.columns - column);
        const size_t at = matrix * by_.rows * by_.columns;
        kernels::TransposeBytes(by_.rows, some, x_.as<const uint8_t>() + at + column, by_.columns,
                                y_.as<uint8_t>() + at + column * by_.rows, by_.rows);
        begin += some;
      }
    });
  }

 private:
  const Node& node_;
  Operand x_, y_;
  Transposition by_;
};

/// Concatenates inputs with different scales, each by its table.
class RescalingConcatStep : public Step {
 public:
  RescalingConcatStep(const Node& node, int axis) : node_(node), axis_(axis) {}
  bool takes_strides() const override { return axis_ == 1; }

  void Bind(const Binding& binding) override {
    x_ = binding.inputs;
    y_ = binding.outputs[0];
    Require(axis_ >= 0 && size_t(axis_) < y_.shape.size() && (axis_ == 1 || y_.plain()),
            "its blobs are in a layout that the kernel does not take");
    size_t elements = 0;
    for (const Operand& x : x_) {
      Require(IsInteger(x) && IsInteger(y_) && x.layout == y_.layout && x.block == y_.block &&
                  x.shape.size() == y_.shape.size(),
              "its blobs are in a layout that the kernel does not take");
      Require(axis_ != 1 || x.images == y_.images, "its blobs differ in shape");
      elements += LengthOf(x) * x.images;
    }
    Require(elements == LengthOf(y_) * y_.images, "the parts do not add up to the whole");
    tables_ = ParameterOf<uint8_t>(node_, 0, ElementType::UINT8, x_.size() * kByteTable);
    outer_ = axis_ == 1 ? y_.images : CountOf({y_.shape.begin(), y_.shape.begin() + axis_});
  }

  void Run(void*) override {
    if (outer_ == 0) return;
    const auto stride = [&](const Operand& operand) {
      return axis_ == 1 ? operand.stride : operand.elements() / outer_;
    };
    size_t offset = 0;
    for (size_t i = 0; i < x_.size(); ++i) {
      const size_t length = axis_ == 1 ? LengthOf(x_[i]) : x_[i].elements() / outer_;
      const uint8_t* table = tables_ + i * kByteTable;
      kernels::ParallelFor(outer_ * length, kGrain, [&](size_t begin, size_t end) {
        while (begin < end) {
          const size_t piece = begin / length, first = begin % length;
          const size_t some = std::min(end - begin, length - first);
          const uint8_t* from = x_[i].as<const uint8_t>() + piece * stride(x_[i]) + first;
          uint8_t* to = y_.as<uint8_t>() + piece * stride(y_) + offset + first;
          for (size_t k = 0; k < some; ++k) to[k] = table[from[k]];
          begin += some;
        }
      });
      offset += length;
    }
    if (y_.channels_last()) ClearPadding(y_);
  }

 private:
  /// Elements of a piece: of a pixel without padding.
  static size_t LengthOf(const Operand& operand) {
    return operand.channels_last() ? operand.shape[1] : operand.image;
  }

  const Node& node_;
  const int axis_;
  size_t outer_ = 1;
  const uint8_t* tables_ = nullptr;
  std::vector<Operand> x_;
  Operand y_;
};

class ResizingStep : public Step {
 public:
  explicit ResizingStep(const Node& node) : node_(node) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    std::vector<Shape> shapes;
    for (const Operand& x : binding.inputs) shapes.push_back(x.shape);
    resizing_ = ResizingOf(node_, shapes);
    Require(IsInteger(x_) && x_.type == y_.type && x_.zero_point == y_.zero_point &&
                x_.layout == y_.layout && x_.block == y_.block && x_.shape.size() == 4 &&
                ResizedShapes(x_.shape, resizing_)[0] == y_.shape,
            "its blobs are in a layout that the kernel does not take");
  }

  void Run(void*) override {
    const kernels::IntegerResult result = ResultOf(node_, y_);
    const auto [planes, lanes] = LanesOf(x_);
    DispatchInteger(x_.type, [&, planes = planes, lanes = lanes](auto tag) {
      using T = decltype(tag);
      kernels::ResizeIntegers(planes, lanes, resizing_.h, resizing_.w, x_.zero_point, result.least,
                              result.most, x_.as<const T>(), y_.as<T>());
    });
  }

 private:
  const Node& node_;
  Resizing resizing_;
  Operand x_, y_;
};

}  // namespace

std::unique_ptr<Step> MakeIntegerResizing(const Node& node) {
  return std::make_unique<ResizingStep>(node);
}

std::unique_ptr<Step> MakeIntegerMoving(const Graph& graph, const Node& node) {
  if (node.type() == "Concat" && !node.parameters.empty()) {
    return std::make_unique<RescalingConcatStep>(node, ConcatAxis(graph, node));
  }
  if (JoinsChannels(graph, node) || Reshapes(node)) return Moving().Make(graph, node);
  if (TranspositionOf(node, graph.values[node.inputs[0]].shape)) {
    return std::make_unique<TransposingStep>(node);
  }
  return std::make_unique<AnyMovingStep>(node);
}

}  // namespace caffe::inference::cpu
