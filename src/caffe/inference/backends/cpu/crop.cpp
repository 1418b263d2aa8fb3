// A part of a blob whose channels lie in blocks, in every type: its rows are copied.
#include "caffe/layers/crop_layer.hpp"

#include <algorithm>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/strided_copy.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

class CropStep : public Step {
 public:
  explicit CropStep(const Node& node) : param_(node.layer.crop_param()) {}
  bool takes_strides() const override { return true; }

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    const std::vector<int> offsets = CropOffsets(param_, x_.shape, binding.inputs[1].shape);
    Require(x_.blocked() && y_.blocked() && x_.type == y_.type && x_.scale == y_.scale &&
                x_.zero_point == y_.zero_point && x_.shape.size() == y_.shape.size() &&
                x_.shape[0] == y_.shape[0] && x_.shape[1] == y_.shape[1],
            "its blobs are in a layout that the kernel does not take");
    // Copies the channels of a position as doubles.
    const int unit = static_cast<int>(x_.block * SizeOf(x_.type) / sizeof(double));
    const auto blocked = [&](const Operand& operand) {
      Shape shape = {operand.shape[0],
                     static_cast<int>(kernels::CeilDiv(operand.shape[1], operand.block))};
      shape.insert(shape.end(), operand.shape.begin() + 2, operand.shape.end());
      shape.push_back(unit);
      return shape;
    };
    const auto strides = [&](const Operand& operand) {
      kernels::Strides all = kernels::ContiguousStrides(blocked(operand));
      all[0] = static_cast<ptrdiff_t>(operand.stride * SizeOf(operand.type) / sizeof(double));
      return all;
    };
    shape_ = blocked(y_);
    x_strides_ = strides(x_);
    y_strides_ = strides(y_);
    first_ = 0;
    for (size_t i = 2; i < offsets.size(); ++i) first_ += offsets[i] * x_strides_[i];
  }

  void Run(void*) override {
    kernels::CopyStrided(shape_, x_.as<const double>() + first_, x_strides_, y_.as<double>(),
                         y_strides_);
  }

 private:
  const CropParameter& param_;
  Operand x_, y_;
  Shape shape_;
  kernels::Strides x_strides_, y_strides_;
  ptrdiff_t first_ = 0;
};

/// Takes all images and channels of bottom 0.
bool CropsPositions(const Graph& graph, const Node& node) {
  if (node.type() != "Crop" || node.inputs.size() != 2 || node.outputs.size() != 1 ||
      !node.epilogue.empty() || node.inputs[0] == node.inputs[1]) {
    return false;
  }
  const Shape &bottom = graph.values[node.inputs[0]].shape,
              &top = graph.values[node.outputs[0]].shape;
  const int axis = node.layer.crop_param().axis();
  return bottom.size() >= 3 && top.size() == bottom.size() &&
         (axis < 0 ? axis + static_cast<int>(bottom.size()) : axis) >= 2;
}

class CropImpl : public Implementation {
 public:
  const char* name() const override { return "crop"; }
  bool Takes(const Node&) const override { return true; }
  bool TakesZeroPoints(const Node&) const override { return true; }
  // Only the shape of bottom 1 is read: it may have any layout.
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!CropsPositions(context.graph, node)) return context.None("is for Crop of positions");
    std::vector<Candidate> candidates;
    for (const ElementType type : context.storage) {
      const Range &x = context.ranges[node.inputs[0]], &y = context.ranges[node.outputs[0]];
      if (type == ElementType::INT8 && !IsSame(x, y)) continue;
      for (const ElementType reference : context.storage) {
        if (reference == ElementType::INT8 && !context.ranges[node.inputs[1]].known()) continue;
        for (const Layout::Kind layout : {kBlocked, kPlain}) {
          candidates.push_back(
              Formats(*this, node, ElementType::FLOAT, {type, kBlocked}, {type, kBlocked}));
          candidates.back().inputs[1] = {reference, layout};
        }
      }
    }
    return candidates;
  }
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    Require(CropsPositions(graph, node), "layer '", node.name(), "' (", node.type(),
            ") does not crop positions");
    return std::make_unique<CropStep>(node);
  }
};

}  // namespace

const Implementation& Crop() {
  static const CropImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
