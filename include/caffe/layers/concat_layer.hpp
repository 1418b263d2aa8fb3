#ifndef CAFFE_CONCAT_LAYER_HPP_
#define CAFFE_CONCAT_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

namespace caffe {

namespace onednn {
class Concat;
template <typename>
class ForShape;
}  // namespace onednn

/// The bottoms behind one another along `axis` (1 by default; concat_dim is its old name). Their
/// other extents agree.
template <typename Dtype>
class ConcatLayer : public Layer<Dtype> {
 public:
  explicit ConcatLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Concat"; }
  const char* forward_engine() const override { return EngineName(by_onednn_); }
  int MinBottomBlobs() const override { return 1; }
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

  int concat_axis_ = 1;

 private:
  /// How many channels lie together where `stored` has them in blocks that may be copied as they
  /// are; else 1, Caffe's order.
  int Block(const Layout& stored, const vector<Blob<Dtype>*>& bottom) const;
  bool ForwardOneDnn(const vector<Blob<Dtype>*>& bottom, Blob<Dtype>* top);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<onednn::ForShape<onednn::Concat>> onednn_;
  bool by_onednn_ = false;  // the latest forward pass
};

}  // namespace caffe

#endif  // CAFFE_CONCAT_LAYER_HPP_
