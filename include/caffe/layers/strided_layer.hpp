#ifndef CAFFE_STRIDED_LAYER_HPP_
#define CAFFE_STRIDED_LAYER_HPP_

#include <cstddef>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// An array of elements of a bottom that a layer has in its top: where both have its index 0, and
/// the distances between neighbours.
struct StridedPart {
  /// All of a top that takes its elements from a bottom of this shape one for one, and has them
  /// one behind another.
  static StridedPart WholeTop(const Shape& top, vector<std::ptrdiff_t> in_bottom);

  Shape shape;
  vector<std::ptrdiff_t> in_bottom, in_top;
  std::ptrdiff_t first_in_bottom = 0, first_in_top = 0;
  bool forward = true, backward = true;  ///< false: 0 instead
};

/// What layers have in common that put elements of their bottoms elsewhere, without arithmetic: a
/// part of each of the first bottoms, Parts, lies in the top. Other elements of the top, and of the
/// bottoms' gradients, are 0.
template <typename Dtype>
class StridedLayer : public Layer<Dtype> {
 public:
  /// The top has the shape that the row of type `operation` says.
  StridedLayer(const LayerParameter& param, const char* operation)
      : Layer<Dtype>(param), operation_(operation) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  virtual vector<StridedPart> Parts(const vector<Shape>& bottoms, const Shape& top) const = 0;

  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

 private:
  const char* const operation_;
};

}  // namespace caffe

#endif  // CAFFE_STRIDED_LAYER_HPP_
