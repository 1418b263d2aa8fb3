// Softmax and divisions by norms with integers alone.
#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cuda {
namespace {

using caffe::cuda::CurrentStream;

/// One bottom and one top of one shape and layout.
class NormalizationStep : public IntegerStep {
 public:
  using IntegerStep::IntegerStep;

 protected:
  void Prepare() override {
    Require(binding_.inputs.size() == 1 && x().shape == y().shape, "its blobs differ in shape");
    result_ = ResultOf(node_, y());
    PrepareTables();
  }
  virtual void PrepareTables() = 0;
  const int32_t* Table(size_t index) const {
    return Parameter<int32_t>(index, ElementType::INT32, kernels::kFallingTableSize);
  }
  void SetMultiplier() { result_.by = MultipliersOf(node_, 0, 1)[0]; }
  void RequirePlain() const { Require(y().layout == kPlain, "its blobs are not in Caffe's order"); }

  kernels::IntegerResult result_;
};

class SoftmaxStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;
  bool takes_strides() const override { return false; }
  size_t scratch_bytes() const override {
    return caffe::cuda::SoftmaxIntegersScratchBytes(extents_);
  }

 private:
  void PrepareTables() override {
    RequirePlain();
    table_ = Parameter<int32_t>(0, ElementType::INT32, 256);
    steps_ = *ParameterOf<int32_t>(node_, 1, ElementType::INT32, 1);
    extents_ = SoftmaxExtentsOf(node_, x().shape);
  }
  void Compute(void* scratch) override {
    caffe::cuda::SoftmaxIntegers(CurrentStream(), extents_, table_, steps_, result_,
                                 OperandOf(x(), x().data), scratch, y().as<uint8_t>());
  }

  kernels::SoftmaxExtents extents_;
  const int32_t* table_ = nullptr;
  int32_t steps_ = 0;
};

class LrnStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;

 private:
  void PrepareTables() override {
    SetMultiplier();
    table_ = Table(1);
    shape_ = LrnShapeOf(node_, x().shape);
  }
  void Compute(void*) override {
    caffe::cuda::LrnIntegers(CurrentStream(), shape_, table_, result_, IntegersOf(x()),
                             IntegersOf(y()));
  }

  kernels::LrnShape shape_;
  const int32_t* table_ = nullptr;
};

class NormalizeStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;
  size_t scratch_bytes() const override {
    return caffe::cuda::NormalizeIntegersScratchBytes(extents_.across_spatial, IntegersOf(x()));
  }

 private:
  void PrepareTables() override {
    extents_ = NormExtentsOf(node_, x().shape);
    const bool shared = !node_.parameters.empty() && node_.parameters[0].count() == 2;
    multipliers_ = shared ? 1 : extents_.channels;
    MultipliersOf(node_, 0, multipliers_);  // checks them
    by_ = Parameter<int32_t>(0, ElementType::INT32, 2 * multipliers_);
    table_ = Table(1);
  }
  void Compute(void* scratch) override {
    caffe::cuda::NormalizeIntegers(CurrentStream(), extents_.across_spatial, table_, by_,
                                   static_cast<int>(multipliers_), result_, IntegersOf(x()),
                                   scratch, IntegersOf(y()));
  }

  kernels::NormExtents extents_;
  size_t multipliers_ = 0;
  const int32_t* by_ = nullptr;
  const int32_t* table_ = nullptr;
};

class MvnStep : public NormalizationStep {
 public:
  using NormalizationStep::NormalizationStep;
  bool takes_strides() const override { return false; }
  size_t scratch_bytes() const override {
    return caffe::cuda::StandardizeIntegersScratchBytes(static_cast<int>(rows_.rows));
  }

 private:
  void PrepareTables() override {
    RequirePlain();
    SetMultiplier();
    rows_ = StandardizedRowsOf(node_, x().shape);
    table_ = node_.layer.mvn_param().normalize_variance() ? Table(1) : nullptr;
  }
  void Compute(void* scratch) override {
    caffe::cuda::StandardizeIntegers(CurrentStream(), static_cast<int>(rows_.rows),
                                     static_cast<int>(rows_.length), table_, result_,
                                     OperandOf(x(), x().data), scratch, y().as<uint8_t>());
  }

  RowExtents rows_;
  const int32_t* table_ = nullptr;
};

}  // namespace

std::unique_ptr<Step> MakeIntegerNormalization(const Node& node) {
  if (node.type() == "Softmax") return std::make_unique<SoftmaxStep>(node);
  if (node.type() == "LRN") return std::make_unique<LrnStep>(node);
  if (node.type() == "Normalize") return std::make_unique<NormalizeStep>(node);
  return std::make_unique<MvnStep>(node);
}

}  // namespace caffe::inference::cuda
