// Softmax and divisions by norms with integers alone.
#include "caffe/kernels/integer_normalization.hpp"

#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "cpu_target.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {
namespace {

/// One bottom and one top of one shape and layout.
class NormalizationStep : public Step {
 public:
  explicit NormalizationStep(const Node& node) : node_(node) {}
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(IsInteger(x_) && IsInteger(y_) && x_.layout == y_.layout &&
                (x_.plain() || NormalizesBlocks(node_, x_.shape, x_.layout)) &&
                x_.shape == y_.shape,
            "its blobs are in a layout that the kernel does not take");
    Prepare();
  }

 protected:
  virtual void Prepare() = 0;
  const int32_t* Table(size_t index) const {
    return ParameterOf<int32_t>(node_, index, ElementType::INT32, kernels::kFallingTableSize);
  }
  kernels::IntegerOperand x() const { return OperandOf(x_, x_.data); }
  /// f(y as int8_t* or uint8_t*).
  template <typename Function>
  void Write(Function&& f) {
    DispatchInteger(y_.type, [&](auto tag) { f(y_.as<decltype(tag)>()); });
  }

  const Node& node_;
  Operand x_, y_;
  kernels::IntegerResult result_;
};

class SoftmaxStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;
  void Run(void*) override {
    DispatchInteger(x_.type, [&](auto tag) {
      Write([&](auto* y) {
        kernels::SoftmaxIntegers(extents_, table_, steps_, result_, x_.as<const decltype(tag)>(),
                                 y);
      });
    });
  }

 private:
  void Prepare() override {
    table_ = ParameterOf<int32_t>(node_, 0, ElementType::INT32, 256);
    steps_ = *ParameterOf<int32_t>(node_, 1, ElementType::INT32, 1);
    result_ = ResultOf(node_, y_);
    extents_ = SoftmaxExtentsOf(node_, x_.shape);
  }

  kernels::SoftmaxExtents extents_;
  const int32_t* table_ = nullptr;
  int32_t steps_ = 0;
};

class IntegerLrnStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;
  void Run(void*) override {
    Write([&](auto* y) {
      x_.plain() ? kernels::LrnIntegers(shape_, table_, x(), result_, y)
                 : kernels::LrnIntegersInBlocks(shape_, table_, x(), result_, y);
    });
  }

 private:
  void Prepare() override {
    result_ = ResultOf(node_, y_, MultipliersOf(node_, 0, 1)[0]);
    table_ = Table(1);
    shape_ = LrnShapeOf(node_, ShapeByPosition(x_));
  }

  kernels::LrnShape shape_;
  const int32_t* table_ = nullptr;
};

class NormalizeStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;
  void Run(void*) override {
    Write([&](auto* y) {
      x_.plain() ? kernels::NormalizeIntegers(extents_, table_, x(), by_, result_, y)
                 : kernels::NormalizeIntegersInBlocks(extents_, table_, x(), by_, result_, y);
    });
  }

 private:
  void Prepare() override {
    extents_ = NormExtentsOf(node_, ShapeByPosition(x_));
    const bool shared = !node_.parameters.empty() && node_.parameters[0].count() == 2;
    by_ = MultipliersOf(node_, 0, shared ? 1 : extents_.channels);
    by_.resize(extents_.channels, by_[0]);
    result_ = ResultOf(node_, y_);
    table_ = Table(1);
  }

  kernels::NormExtents extents_;
  std::vector<kernels::Multiplier> by_;
  const int32_t* table_ = nullptr;
};

class MvnStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;
  void Run(void*) override {
    Write([&](auto* y) {
      kernels::StandardizeIntegers(rows_.rows, rows_.length, table_, x(), result_, y);
    });
  }

 private:
  void Prepare() override {
    result_ = ResultOf(node_, y_, MultipliersOf(node_, 0, 1)[0]);
    rows_ = StandardizedRowsOf(node_, x_.shape);
    table_ = node_.layer.mvn_param().normalize_variance() ? Table(1) : nullptr;
  }

  RowExtents rows_;
  const int32_t* table_ = nullptr;
};

}  // namespace

bool NormalizesBlocks(const Node& node, const Shape& shape, Layout::Kind layout) {
  if (node.type() == "LRN") {
    const LRNParameter& param = node.layer.lrn_param();
    return shape.size() == 4 && param.norm_region() == LRNParameter_NormRegion_ACROSS_CHANNELS &&
           param.local_size() <= kernels::kMaxWindowInBlocks;
  }
  if (node.type() != "Normalize" || shape.size() < 2) return false;
  if (layout == kChannelsLast && NormExtentsOf(node, shape).across_spatial) return false;
  return static_cast<size_t>(shape[1]) <= kernels::kMaxChannelsInBlocks;
}

std::unique_ptr<Step> MakeIntegerNormalization(const Node& node) {
  if (node.type() == "Softmax") return std::make_unique<SoftmaxStep>(node);
  if (node.type() == "LRN") return std::make_unique<IntegerLrnStep>(node);
  if (node.type() == "Normalize") return std::make_unique<NormalizeStep>(node);
  if (node.type() == "MVN") return std::make_unique<MvnStep>(node);
  return nullptr;
}

}  // namespace caffe::inference::cpu
