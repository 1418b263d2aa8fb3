#ifndef CAFFE_REVERSE_LAYER_HPP_
#define CAFFE_REVERSE_LAYER_HPP_

#include <cstddef>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The bottom backwards along `axis` (0, time, by default; negative ones count from the end), as
/// nets that read a sequence from both ends need it.
template <typename Dtype>
class ReverseLayer : public Layer<Dtype> {
 public:
  explicit ReverseLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Reverse"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  /// The axes of a bottom of this shape that are reversed; checked.
  virtual vector<int> Axes(const Shape& bottom) const;

 private:
  template <typename T>
  void Copy(const Shape& shape, const T* from, T* to) const;
  /// The strides of the reversed array, whose first element becomes number *first.
  vector<std::ptrdiff_t> Backwards(const Shape& shape, std::ptrdiff_t* first) const;
};

}  // namespace caffe

#endif  // CAFFE_REVERSE_LAYER_HPP_
