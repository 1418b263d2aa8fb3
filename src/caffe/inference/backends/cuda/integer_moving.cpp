// Layers that move elements of 8 bits, and resizing with integers alone.
#include <algorithm>
#include <limits>

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/moved_elements.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/kernels/integer_resize.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cuda {
namespace {

using caffe::cuda::CurrentStream;
using caffe::cuda::Integers;

/// Any layer that moves elements, in Caffe's order.
class GatherStep : public MovedBytesStep {
 public:
  using MovedBytesStep::MovedBytesStep;

  void Run(void*) override {
    for (size_t t = 0; t < sources_.size(); ++t) {
      Stream& stream = CurrentStream();
      const Operand& y = binding_.outputs[t];
      const int32_t* const from = sources_[t].numbers.get();
      const int count = static_cast<int>(y.elements());
      for (const Source& source : sources_[t].inputs) {
        caffe::cuda::GatherBytes(stream, count, from, source.begin, source.end,
                                 binding_.inputs[source.input].as<const uint8_t>(),
                                 y.as<uint8_t>());
      }
      if (sources_[t].has_gaps) {
        caffe::cuda::FillBytes(stream, count, from, static_cast<uint8_t>(y.zero_point),
                               y.as<uint8_t>());
      }
    }
  }

 private:
  /// An input, and the range of its elements in the numbering of all inputs.
  struct Source {
    size_t input;
    int begin, end;
  };
  /// The source of each element of an output; -1: none.
  struct Sources {
    DeviceNumbers numbers;
    std::vector<Source> inputs;
    bool has_gaps = false;
  };

  void Prepare(const std::vector<Shape>& inputs,
               const std::vector<std::vector<int64_t>>& moved_from) override {
    sources_.clear();
    for (const std::vector<int64_t>& from : moved_from) {
      Sources& sources = sources_.emplace_back();
      std::vector<int32_t> numbers;
      for (const int64_t number : from) {
        Require(number <= std::numeric_limits<int32_t>::max(), "its bottoms have ", number,
                " elements: kernels take 2^31 - 1");
        numbers.push_back(static_cast<int32_t>(number) - 1);
      }
      sources.numbers.Set(numbers);
      const auto any = [&](int begin, int end) {
        return std::any_of(numbers.begin(), numbers.end(),
                           [&](int32_t number) { return number >= begin && number < end; });
      };
      sources.has_gaps = any(-1, 0);
      int begin = 0;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const int end = begin + static_cast<int>(CountOf(inputs[i]));
        if (any(begin, end)) sources.inputs.push_back({i, begin, end});
        begin = end;
      }
    }
  }

  std::vector<Sources> sources_;  // of each output
};

/// Concatenates inputs with different scales, each by its table.
class RescalingConcatStep : public IntegerStep {
 public:
  RescalingConcatStep(const Node& node, int axis) : IntegerStep(node), axis_(axis) {}
  bool takes_strides() const override { return axis_ == 1; }

 private:
  void Prepare() override {
    const Shape& whole = y().shape;
    Require(axis_ >= 0 && size_t(axis_) < whole.size() && (axis_ == 1 || y().layout == kPlain),
            "its blobs are in a layout that the kernel does not take");
    int extent = 0;
    for (const Operand& part : binding_.inputs) {
      Require(part.shape.size() == whole.size(), "the parts do not add up to the whole");
      Shape shape = whole;
      shape[axis_] = part.shape[axis_];
      Require(part.shape == shape, "the parts do not add up to the whole");
      extent += part.shape[axis_];
    }
    Require(extent == whole[axis_], "the parts do not add up to the whole");
    tables_ = Parameter<uint8_t>(0, ElementType::UINT8, binding_.inputs.size() * kTableSize);
    outer_ = CountOf({whole.begin(), whole.begin() + axis_});
  }

  void Compute(void*) override {
    const uint8_t* table = tables_;
    size_t offset = 0;
    for (const Operand& part : binding_.inputs) {
      const Integers from = PiecesOf(part);
      Integers to = PiecesOf(y());
      to.data = static_cast<uint8_t*>(to.data) + offset * to.channel;
      to.channels = from.channels;
      caffe::cuda::LookUpIntegers(CurrentStream(), from, table, false, to);
      offset += from.channels;
      table += kTableSize;
    }
  }

  /// What is put one behind the other, as channels.
  Integers PiecesOf(const Operand& operand) const {
    return axis_ == 1 ? IntegersOf(operand) : RowsOf(operand, outer_);
  }

  const int axis_;
  size_t outer_ = 1;
  const uint8_t* tables_ = nullptr;
};

/// An axis of a resizing on the device.
class DeviceAxis {
 public:
  void Set(const kernels::ResizeAxis& axis) {
    std::vector<int32_t> index;
    for (int i = 0; i < axis.output(); ++i) {
      for (int k = 0; k < axis.terms(i); ++k) index.push_back(axis.first[i] + k);
    }
    input_ = axis.input;
    output_ = axis.output();
    start_.Set(axis.start);
    index_.Set(index);
    weight_.Set(kernels::ResizeWeights(axis));
  }
  caffe::cuda::ResizeAxis<int32_t> get() const {
    return {input_, output_, start_.get(), index_.get(), weight_.get()};
  }

 private:
  int input_ = 0, output_ = 0;
  DeviceNumbers start_, index_, weight_;
};

class ResizingStep : public IntegerStep {
 public:
  using IntegerStep::IntegerStep;

 private:
  void Prepare() override {
    std::vector<Shape> shapes;
    for (const Operand& input : binding_.inputs) shapes.push_back(input.shape);
    const Resizing resizing = ResizingOf(node_, shapes);
    Require(x().type == y().type && x().zero_point == y().zero_point &&
                ResizedShapes(x().shape, resizing)[0] == y().shape,
            "its blobs are in a layout that the kernel does not take");
    const kernels::IntegerResult result = ResultOf(node_, y());
    range_ = {result.least, result.most};
    if (shapes == shapes_) return;
    h_.Set(resizing.h);
    w_.Set(resizing.w);
    shapes_ = shapes;
  }
  void Compute(void*) override {
    caffe::cuda::ResizeIntegers(CurrentStream(), h_.get(), w_.get(), range_, IntegersOf(x()),
                                IntegersOf(y()));
  }

  std::vector<Shape> shapes_;
  DeviceAxis h_, w_;
  kernels::ByteRange range_;
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
  return std::make_unique<GatherStep>(node);
}

}  // namespace caffe::inference::cuda
