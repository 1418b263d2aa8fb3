#ifndef CAFFE_DUMMY_DATA_LAYER_HPP_
#define CAFFE_DUMMY_DATA_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/filler.hpp"
#include "caffe/layer.hpp"

namespace caffe {

/// Tops filled by data_filler: constant ones once, random ones again in every pass. Shapes and
/// fillers are given once for all tops or once each; num, channels, height, width is the old form.
template <typename Dtype>
class DummyDataLayer : public Layer<Dtype> {
 public:
  explicit DummyDataLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}
  const char* type() const override { return "DummyData"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int MinTopBlobs() const override { return 1; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}

  vector<std::unique_ptr<Filler<Dtype>>> fillers_;  // one, or one per top
  vector<bool> refill_;

 private:
  void Fill(const vector<Blob<Dtype>*>& top);
};

}  // namespace caffe

#endif  // CAFFE_DUMMY_DATA_LAYER_HPP_
