// Layers without weights on 8-bit integers, with integers alone.
#include <algorithm>

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/quantize/integer_operations.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/layers/pooling_layer.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cuda {

using caffe::cuda::CurrentStream;
using caffe::cuda::Integers;

Integers IntegersOf(const Operand& operand) {
  const Shape& shape = operand.shape;
  Integers integers;
  integers.data = operand.data;
  integers.is_unsigned = operand.type == ElementType::UINT8;
  integers.zero_point = operand.zero_point;
  integers.images = shape.empty() ? 1 : shape[0];
  integers.channels = shape.size() < 2 ? 1 : shape[1];
  integers.positions =
      shape.size() < 3 ? 1 : static_cast<int>(CountOf({shape.begin() + 2, shape.end()}));
  const size_t positions = integers.positions;
  if (operand.layout == kLast) {
    integers.image = positions * operand.stride;
    integers.channel = 1;
    integers.position = operand.stride;
  } else {
    integers.image = shape.size() < 2 ? 1 : operand.stride;
    integers.channel = positions;
    integers.position = 1;
  }
  return integers;
}

Integers RowsOf(const Operand& operand, size_t images) {
  Require(operand.layout == kPlain && operand.dense(), "its rows are not contiguous");
  Integers integers = IntegersOf(operand);
  const size_t length = operand.elements() / std::max<size_t>(1, images);
  integers.images = static_cast<int>(images);
  integers.channels = static_cast<int>(length);
  integers.positions = 1;
  integers.image = length;
  integers.channel = integers.position = 1;
  return integers;
}

void IntegerStep::Bind(const Binding& binding) {
  binding_ = binding;
  for (size_t i = 0; i < binding_.inputs.size(); ++i) {
    Require(ReadsShapeOnly(node_, i) || (IsInteger(x(i)) && x(i).layout == y().layout),
            "its blobs are in a layout that the kernel does not take");
  }
  Require(IsInteger(y()), "its top is not of 8-bit integers");
  Prepare();
}

void DeviceNumbers::Set(const std::vector<int32_t>& values) {
  memory_ = std::make_shared<SyncedMemory>(std::max<size_t>(1, values.size()) * sizeof(int32_t));
  std::copy(values.begin(), values.end(), static_cast<int32_t*>(memory_->overwrite_cpu_data()));
  memory_->gpu_data();
}

namespace {

/// A function of one number.
class TableStep : public IntegerStep {
 public:
  using IntegerStep::IntegerStep;

 private:
  void Prepare() override {
    Require(binding_.inputs.size() == 1 && x().shape == y().shape, "its blobs differ in shape");
    const size_t channels = y().shape.size() < 2 ? 1 : y().shape[1];
    by_channel_ = !node_.parameters.empty() && node_.parameters[0].count() != kTableSize;
    tables_ = Parameter<uint8_t>(0, ElementType::UINT8, (by_channel_ ? channels : 1) * kTableSize);
  }
  void Compute(void*) override {
    caffe::cuda::LookUpIntegers(CurrentStream(), IntegersOf(x()), tables_, by_channel_,
                                IntegersOf(y()));
  }

  bool by_channel_ = false;
  const uint8_t* tables_ = nullptr;
};

/// Sums, products and maxima of blobs of one shape.
class EltwiseStep : public IntegerStep {
 public:
  explicit EltwiseStep(const Node& node)
      : IntegerStep(node), operation_(node.layer.eltwise_param().operation()) {}
  size_t scratch_bytes() const override {
    return caffe::cuda::CombinationScratchBytes(binding_.inputs.size(), CountOf(y().shape));
  }

 private:
  void Prepare() override {
    for (const Operand& input : binding_.inputs) {
      Require(input.shape == y().shape, "its blobs differ in shape");
    }
    if (operation_ == EltwiseParameter_EltwiseOp_MAX) {
      tables_ = Parameter<uint8_t>(0, ElementType::UINT8, binding_.inputs.size() * kTableSize);
      result_ = ResultOf(node_, y());
      return;
    }
    const bool adds = operation_ == EltwiseParameter_EltwiseOp_SUM;
    by_ = MultipliersOf(node_, 0, adds ? binding_.inputs.size() + 1 : 1);
    result_ = ResultOf(node_, y(), by_.back());
    by_.pop_back();
  }

  void Compute(void* scratch) override {
    Stream& stream = CurrentStream();
    std::vector<Integers> x;
    for (const Operand& input : binding_.inputs) x.push_back(IntegersOf(input));
    const Integers y = IntegersOf(this->y());
    switch (operation_) {
      case EltwiseParameter_EltwiseOp_SUM:
        return caffe::cuda::AddIntegers(stream, x, by_, result_, scratch, y);
      case EltwiseParameter_EltwiseOp_PROD:
        return caffe::cuda::MultiplyIntegers(stream, x, result_, scratch, y);
      case EltwiseParameter_EltwiseOp_MAX:
        return caffe::cuda::MaximumOfIntegers(stream, x, tables_, result_, scratch, y);
    }
  }

  const EltwiseParameter_EltwiseOp operation_;
  std::vector<kernels::Multiplier> by_;
  const uint8_t* tables_ = nullptr;
  kernels::IntegerResult result_;
};

/// Scale with two bottoms (x, a), Axpy (a, x, b): a number for each of some leading axes.
class BroadcastStep : public IntegerStep {
 public:
  explicit BroadcastStep(const Node& node) : IntegerStep(node), adds_(node.type() == "Axpy") {}
  bool takes_strides() const override { return false; }

 private:
  void Prepare() override {
    Require(binding_.inputs.size() == (adds_ ? 3 : 2), "it has another number of bottoms");
    const Operand &from = x(adds_), &factors = x(!adds_);
    Require(from.layout == kPlain && from.shape == y().shape && (!adds_ || x(2).shape == y().shape),
            "its blobs are in a layout that the kernel does not take");
    by_ = MultipliersOf(node_, 0, adds_ ? 3 : 1);
    result_ = ResultOf(node_, y(), by_.back());
    outer_ = BroadcastOuterOf(node_, from.shape);
    shape_.rows = factors.elements();
    const size_t numbers = outer_ * shape_.rows;
    Require(numbers > 0 && y().elements() % numbers == 0, "its factors do not fit its bottom");
    shape_.run = y().elements() / numbers;
  }

  void Compute(void*) override {
    const auto operand = [&](size_t i) { return OperandOf(x(i), x(i).data); };
    const int outer = static_cast<int>(outer_);
    if (adds_) {
      caffe::cuda::ScaleAndAddIntegers(CurrentStream(), outer, shape_, operand(0), operand(1),
                                       operand(2), by_.data(), result_, y().as<uint8_t>());
    } else {
      caffe::cuda::ScaleIntegers(CurrentStream(), outer, shape_, operand(0), operand(1), result_,
                                 y().as<uint8_t>());
    }
  }

  const bool adds_;
  size_t outer_ = 1;
  kernels::BroadcastShape shape_;
  std::vector<kernels::Multiplier> by_;
  kernels::IntegerResult result_;
};

class PoolingStep : public IntegerStep {
 public:
  explicit PoolingStep(const Node& node) : IntegerStep(node), param_(node.layer.pooling_param()) {}

 private:
  void Prepare() override {
    Require(x().type == y().type && x().zero_point == y().zero_point && x().shape.size() == 4,
            "its blobs are in a layout that the kernel does not take");
    shape_ = PooledShape(param_, x().shape);
    const kernels::IntegerResult result = ResultOf(node_, y());
    range_ = {result.least, result.most};
  }
  void Compute(void*) override {
    const bool means = param_.pool() == PoolingParameter_PoolMethod_AVE;
    (means ? caffe::cuda::AveragePoolIntegers : caffe::cuda::MaxPoolIntegers)(
        CurrentStream(), shape_, range_, IntegersOf(x()), IntegersOf(y()));
  }

  const PoolingParameter& param_;
  kernels::PoolingShape shape_;
  kernels::ByteRange range_;
};

template <typename T>
std::unique_ptr<Step> MakeStep(const Node& node) {
  return std::make_unique<T>(node);
}

std::unique_ptr<Step> MakePooling(const Graph&, const Node& node) {
  return MakeStep<PoolingStep>(node);
}

class IntegerOperationImpl : public IntegerOperationImplBase {
 public:
  IntegerOperationImpl()
      : IntegerOperationImplBase(
            {kLast},
            {MakeStep<TableStep>, MakeStep<EltwiseStep>, MakeStep<BroadcastStep>, MakePooling,
             MakeIntegerNormalization, MakeIntegerResizing, MakeIntegerMoving}) {}

 private:
  bool TakesLayout(const Graph& graph, const Node& node, Layout::Kind) const override {
    if (graph.values[node.outputs[0]].shape.size() < 3) return false;
    switch (KindOf(node)) {
      case IntegerKind::BROADCAST:
        return false;
      case IntegerKind::DIVISION:
        return node.type() == "LRN" || node.type() == "Normalize";
      case IntegerKind::MOVING:
        return JoinsChannels(graph, node) &&
               HaveWholeChannels(graph, node, ChannelMultiple(ElementType::INT8));
      default:
        return true;
    }
  }
};

}  // namespace

const Implementation& IntegerOperation() {
  static const IntegerOperationImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
