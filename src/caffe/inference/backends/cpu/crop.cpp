// A part of a blob whose channels lie in blocks, or last, in every type: its rows are copied.
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
    Require(!x_.plain() && x_.layout == y_.layout && x_.type == y_.type && x_.scale == y_.scale &&
                x_.zero_point == y_.zero_point && x_.shape.size() == y_.shape.size() &&
                x_.shape[0] == y_.shape[0] && x_.shape[1] == y_.shape[1],
            "its blobs are in a layout that the kernel does not take");
    Require(x_.blocked() || x_.image == y_.image, "its blobs differ in padding");
    // Copies the channels of a position as doubles: those of a block, or of a pixel.
    const auto doubles = [](const Operand& operand, size_t elements) {
      return static_cast<int>(elements * SizeOf(operand.type) / sizeof(double));
    };
    const auto positions = [](const Operand& operand) {
      Shape shape = operand.shape;
      shape[1] = operand.channels_last()
                     ? 1
                     : static_cast<int>(kernels::CeilDiv(operand.shape[1], operand.block));
      return shape;
    };
    const auto laid_out = [&](const Operand& operand) {
      Shape shape = positions(operand);
      shape.push_back(doubles(operand, operand.channels_last() ? operand.image : operand.block));
      return shape;
    };
    const auto strides = [&](const Operand& operand) {
      if (operand.blocked()) {
        kernels::Strides all = kernels::ContiguousStrides(laid_out(operand));
        all[0] = doubles(operand, operand.stride);
        return all;
      }
      kernels::Strides all = kernels::ContiguousStrides(positions(operand));
      for (ptrdiff_t& stride : all) stride *= doubles(operand, operand.stride);
      all.push_back(1);
      return all;
    };
    shape_ = laid_out(y_);
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
        for (const Layout::Kind layout : {kBlocked, kChannelsLast}) {
          for (const Layout::Kind of_reference : {kBlocked, kChannelsLast, kPlain}) {
            candidates.push_back(
                Formats(*this, node, ElementType::FLOAT, {type, layout}, {type, layout}));
            candidates.back().inputs[1] = {reference, of_reference};
          }
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
