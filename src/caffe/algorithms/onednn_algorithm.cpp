#include "onednn_algorithm.hpp"

#include <utility>
#include <vector>

#include "caffe/core/pieces.hpp"

namespace caffe::algorithms {
namespace {

using kernels::Destination;
using kernels::Numbers;

class OneDnn : public Algorithm, public Gradients {
 public:
  OneDnn(std::unique_ptr<const onednn::WeightedPrimitive> primitive, const OneDnnSizes& sizes,
         const onednn::WeightedPrimitive::Options& options)
      : primitive_(std::move(primitive)),
        sizes_(sizes),
        type_(options.type),
        result_(options.result),
        training_(options.training) {}

  const char* engine() const override {
    return type_ == ElementType::FLOAT ? "oneDNN" : "oneDNN BFLOAT16";
  }
  Layout source() const override { return OfAllPieces(primitive_->source()); }
  Layout target() const override { return OfAllPieces(primitive_->target()); }

  bool packs() const override { return primitive_->packs(); }
  ElementType PackedType(ElementType) const override { return type_; }
  ElementType KeptType(ElementType type) const override {
    return type_ == ElementType::FLOAT ? type : type_;
  }
  size_t packed_size() const override { return primitive_->packed_size(); }
  void Pack(const Numbers& weights, const float* scale, const Destination& packed) const override {
    const FloatValues plain(weights, sizes_.weights);
    const float* values = plain.data();
    std::vector<float> scaled;
    if (scale) {
      scaled.assign(values, values + sizes_.weights);
      const size_t row = sizes_.weights_of_an_output;
      for (size_t o = 0; o < scaled.size() / row; ++o) {
        for (size_t i = 0; i < row; ++i) scaled[o * row + i] *= scale[o];
      }
      values = scaled.data();
    }
    PieceWriter(packed, type_, packed_size()).Write(0, [&](void* y) {
      primitive_->PackWeights(values, y);
    });
  }
  void Unpack(const Numbers& packed, const Destination& weights) const override {
    Require(type_ == ElementType::FLOAT, "weights of BFLOAT16 are not unpacked");
    const FloatValues wide(packed, packed_size());
    PieceWriter(weights, ElementType::FLOAT, sizes_.weights).Write(0, [&](void* plain) {
      primitive_->UnpackWeights(wide.data(), static_cast<float*>(plain));
    });
  }

  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps& post, void*,
           const Destination& y) const override {
    const size_t inputs = Extent(primitive_->source(), sizes_.inputs);
    const size_t outputs = Extent(primitive_->target(), sizes_.outputs);
    const auto stride = [&](size_t image, size_t dense) {
      return image > 0 ? image * sizes_.images : dense;
    };
    const size_t residual = stride(y.strides.residual, outputs);
    kernels::PostOps here = post;
    here.bias = static_cast<const float*>(weights.bias.data);
    const PieceReader values(weights.values, type_, packed_size());
    const void* const packed = values.Piece(0);
    const PieceReader from(x, type_, inputs, stride(y.strides.x, inputs));
    const PieceWriter to(y, result_, outputs, stride(y.strides.y, outputs));
    for (int i = 0; i < sizes_.pieces; ++i) {
      if (post.residual.data) here.residual.data = post.residual.at(i * residual);
      to.Write(i, [&](void* piece) { primitive_->Forward(from.Piece(i), packed, here, piece); });
    }
  }

  const Gradients* gradients() const override { return training_ ? this : nullptr; }
  Layouts data_layouts() const override {
    return {OfAllPieces(primitive_->data_source()), OfAllPieces(primitive_->data_target())};
  }
  Layouts weights_layouts() const override {
    return {OfAllPieces(primitive_->weights_source()), OfAllPieces(primitive_->weights_target())};
  }
  bool has_bias_alone() const override { return false; }

  void Data(const Numbers& dy, const Numbers& weights, const Destination& dx) const override {
    const FloatValues values(weights, sizes_.weights);
    const PieceReader from(dy, type_, Extent(primitive_->data_target(), sizes_.outputs));
    const PieceWriter to(dx, result_, Extent(primitive_->data_source(), sizes_.inputs));
    for (int i = 0; i < sizes_.pieces; ++i) {
      to.Write(i, [&](void* piece) {
        primitive_->BackwardData(from.Piece(i), values.data(), static_cast<float*>(piece));
      });
    }
  }
  void Parameters(const Numbers& x, const Numbers& dy, void* d_weights,
                  void* d_bias) const override {
    const PieceReader bottom(x, type_, Extent(primitive_->weights_source(), sizes_.inputs));
    const PieceReader top(dy, type_, Extent(primitive_->weights_target(), sizes_.outputs));
    for (int i = 0; i < sizes_.pieces; ++i) {
      primitive_->BackwardWeights(bottom.Piece(i), top.Piece(i), static_cast<float*>(d_weights),
                                  static_cast<float*>(d_bias));
    }
  }

 private:
  static size_t Extent(const Layout& layout, size_t count) { return layout.extent(count); }
  Layout OfAllPieces(Layout layout) const {
    layout.num *= sizes_.pieces;
    return layout;
  }

  const std::unique_ptr<const onednn::WeightedPrimitive> primitive_;
  const OneDnnSizes sizes_;
  const ElementType type_, result_;
  const bool training_;
};

}  // namespace

AlgorithmPtr OneDnnAlgorithm(std::unique_ptr<const onednn::WeightedPrimitive> primitive,
                             const OneDnnSizes& sizes,
                             const onednn::WeightedPrimitive::Options& options) {
  if (!primitive) return nullptr;
  return std::make_shared<OneDnn>(std::move(primitive), sizes, options);
}

}  // namespace caffe::algorithms
