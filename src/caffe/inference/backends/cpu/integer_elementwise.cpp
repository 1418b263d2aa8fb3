// Functions of one number, sums, products and maxima with integers alone.
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/kernels/byte_elementwise.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {

namespace {

class TableStep : public ByteStep {
 public:
  explicit TableStep(const Node& node) : node_(node) {}

  void Bind(const Binding& binding) override {
    ByteStep::Bind(binding);
    Require(x_.size() == 1 && x_[0].shape == y_.shape && x_[0].block == y_.block,
            "its blobs differ in shape");
    const size_t channels = y_.shape.size() < 2 ? 1 : y_.shape[1];
    by_channel_ = !node_.parameters.empty() && node_.parameters[0].count() != kByteTable;
    tables_ = ParameterOf<uint8_t>(node_, 0, ElementType::UINT8,
                                   (by_channel_ ? channels : 1) * kByteTable);
  }

 private:
  void Compute(const std::vector<const void*>& x, void* y, size_t images) override {
    const bool has_channels = y_.shape.size() >= 2;
    const size_t channels = has_channels ? y_.shape[1] : 1;
    const size_t spatial = has_channels ? positions() : y_.image;
    kernels::LookUpBytes(images, channels, spatial, y_.block, by_channel_, tables_,
                         static_cast<const uint8_t*>(x[0]), static_cast<uint8_t*>(y));
  }

  const Node& node_;
  bool by_channel_ = false;
  const uint8_t* tables_ = nullptr;
};

/// All blobs have one shape.
class IntegerEltwiseStep : public ByteStep {
 public:
  explicit IntegerEltwiseStep(const Node& node)
      : node_(node), operation_(node.layer.eltwise_param().operation()) {}

  void Bind(const Binding& binding) override {
    ByteStep::Bind(binding);
    for (const Operand& x : x_) {
      Require(x.shape == y_.shape && x.block == y_.block, "its blobs differ in shape");
    }
    by_.clear();
    tables_ = nullptr;
    if (operation_ == EltwiseParameter_EltwiseOp_MAX) {
      tables_ = ParameterOf<uint8_t>(node_, 0, ElementType::UINT8, x_.size() * kByteTable);
      result_ = ResultOf(node_, y_);
      return;
    }
    const bool adds = operation_ == EltwiseParameter_EltwiseOp_SUM;
    by_ = MultipliersOf(node_, 0, adds ? x_.size() + 1 : 1);
    result_ = ResultOf(node_, y_, by_.back());
    by_.pop_back();
  }

 private:
  void Compute(const std::vector<const void*>& x, void* y, size_t images) override {
    const size_t n = images * y_.image;
    std::vector<kernels::IntegerOperand> operands;
    std::vector<const uint8_t*> bytes, tables;
    for (size_t i = 0; i < x.size(); ++i) {
      operands.push_back(OperandOf(x_[i], x[i]));
      bytes.push_back(static_cast<const uint8_t*>(x[i]));
      tables.push_back(tables_ + i * kByteTable);
    }
    DispatchInteger(y_.type, [&](auto tag) {
      auto* to = static_cast<decltype(tag)*>(y);
      switch (operation_) {
        case EltwiseParameter_EltwiseOp_SUM:
          return kernels::AddIntegers(n, operands, by_, result_, to);
        case EltwiseParameter_EltwiseOp_PROD:
          return kernels::MultiplyIntegers(n, operands, result_, to);
        case EltwiseParameter_EltwiseOp_MAX:
          return kernels::MaximumOfIntegers(n, bytes, tables, result_.least, result_.most, to);
      }
    });
  }

  const Node& node_;
  const EltwiseParameter_EltwiseOp operation_;
  std::vector<kernels::Multiplier> by_;
  const uint8_t* tables_ = nullptr;
  kernels::IntegerResult result_;
};

/// Scale with two bottoms (x, a), Axpy (a, x, b): a number for each of some leading axes.
class BroadcastStep : public Step {
 public:
  explicit BroadcastStep(const Node& node) : node_(node), adds_(node.type() == "Axpy") {}

  void Bind(const Binding& binding) override {
    Require(binding.inputs.size() == (adds_ ? 3 : 2), "it has another number of bottoms");
    x_ = binding.inputs;
    y_ = binding.outputs[0];
    const Operand &x = x_[adds_ ? 1 : 0], &a = x_[adds_ ? 0 : 1];
    for (const Operand& operand : x_) {
      Require(IsInteger(operand) && IsInteger(y_) && operand.layout == y_.layout &&
                  operand.dense() && y_.dense() && operand.block == y_.block,
              "its blobs are in a layout that the kernel does not take");
    }
    Require(x.shape == y_.shape && (!adds_ || x_[2].shape == y_.shape),
            "its blobs differ in shape");
    by_ = MultipliersOf(node_, 0, adds_ ? 3 : 1);
    result_ = ResultOf(node_, y_, by_.back());
    // Rows have one number of `a`, a block of channels `block` numbers, a pixel all of its
    // channels; they begin at some axis.
    outer_ = BroadcastOuterOf(node_, x.shape);
    shape_.width = y_.channels_last() ? y_.image : y_.block;
    Require(shape_.width > 0, "its blobs have no channels");
    shape_.rows = a.elements() / shape_.width;
    const size_t numbers = outer_ * a.elements();
    Require(numbers > 0 && y_.elements() % numbers == 0 && (y_.plain() || outer_ == 1),
            "its factors do not fit its bottom");
    shape_.run = y_.elements() / numbers;
  }

  void Run(void*) override {
    const size_t step = y_.elements() / outer_;
    const Operand &x = x_[adds_ ? 1 : 0], &a = x_[adds_ ? 0 : 1];
    DispatchInteger(y_.type, [&](auto tag) {
      using Y = decltype(tag);
      for (size_t i = 0; i < outer_; ++i) {
        const auto from = OperandOf(x, x.as<const char>() + i * step);
        const auto factors = OperandOf(a, a.data);
        Y* to = y_.as<Y>() + i * step;
        if (adds_) {
          kernels::ScaleAndAddIntegers(shape_, factors, from,
                                       OperandOf(x_[2], x_[2].as<const char>() + i * step),
                                       by_.data(), result_, to);
        } else {
          kernels::ScaleIntegers(shape_, from, factors, result_, to);
        }
      }
    });
  }

 private:
  const Node& node_;
  const bool adds_;
  std::vector<Operand> x_;
  Operand y_;
  size_t outer_ = 1;
  kernels::BroadcastShape shape_;
  std::vector<kernels::Multiplier> by_;
  kernels::IntegerResult result_;
};

}  // namespace

std::unique_ptr<Step> MakeTableStep(const Node& node) { return std::make_unique<TableStep>(node); }

std::unique_ptr<Step> MakeIntegerEltwise(const Node& node) {
  return std::make_unique<IntegerEltwiseStep>(node);
}

std::unique_ptr<Step> MakeIntegerBroadcast(const Node& node) {
  return std::make_unique<BroadcastStep>(node);
}

}  // namespace caffe::inference::cpu
