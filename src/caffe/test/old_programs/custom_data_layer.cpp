// A custom data layer on top of the prefetching base.
#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#endif

#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/caffe.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/internal_thread.hpp"
#include "caffe/layer.hpp"
#include "caffe/layers/base_data_layer.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/benchmark.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/rng.hpp"

#ifdef USE_OPENCV

namespace caffe {

// Image number i has value i + column everywhere.
template <typename Dtype>
class StripeDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit StripeDataLayer(const LayerParameter& param)
      : BasePrefetchingDataLayer<Dtype>(param), next_(0) {}
  virtual ~StripeDataLayer() { this->StopInternalThread(); }
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const int batch_size = this->layer_param_.image_data_param().batch_size();
    CHECK_GT(batch_size, 0) << "Positive batch size required";
    cv::Mat cv_img = NextImage();
    next_ = 0;
    vector<int> top_shape = this->data_transformer_->InferBlobShape(cv_img);
    this->transformed_data_.Reshape(top_shape);
    top_shape[0] = batch_size;
    for (int i = 0; i < this->prefetch_.size(); ++i) {
      this->prefetch_[i]->data_.Reshape(top_shape);
    }
    top[0]->Reshape(top_shape);
    LOG(INFO) << "output data size: " << top[0]->num() << "," << top[0]->channels() << ","
              << top[0]->height() << "," << top[0]->width();
    vector<int> label_shape(1, batch_size);
    top[1]->Reshape(label_shape);
    for (int i = 0; i < this->prefetch_.size(); ++i) {
      this->prefetch_[i]->label_.Reshape(label_shape);
    }
  }
  virtual inline const char* type() const { return "StripeData"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int ExactNumTopBlobs() const { return 2; }

 protected:
  cv::Mat NextImage() {
    const ImageDataParameter& param = this->layer_param_.image_data_param();
    cv::Mat image(param.new_height(), param.new_width(), CV_8UC3);
    for (int h = 0; h < image.rows; ++h) {
      for (int w = 0; w < image.cols; ++w) {
        image.at<cv::Vec3b>(h, w) = cv::Vec3b(next_ + w, next_ + w, next_ + w);
      }
    }
    ++next_;
    return image;
  }
  virtual void load_batch(Batch<Dtype>* batch) {
    CPUTimer batch_timer;
    batch_timer.Start();
    double trans_time = 0;
    CPUTimer timer;
    CHECK(batch->data_.count());
    CHECK(this->transformed_data_.count());
    const int batch_size = this->layer_param_.image_data_param().batch_size();
    Dtype* prefetch_data = batch->data_.mutable_cpu_data();
    Dtype* prefetch_label = batch->label_.mutable_cpu_data();
    for (int item_id = 0; item_id < batch_size; ++item_id) {
      prefetch_label[item_id] = next_;
      cv::Mat cv_img = NextImage();
      timer.Start();
      int offset = batch->data_.offset(item_id);
      this->transformed_data_.set_cpu_data(prefetch_data + offset);
      this->data_transformer_->Transform(cv_img, &(this->transformed_data_));
      trans_time += timer.MicroSeconds();
    }
    batch_timer.Stop();
    DLOG(INFO) << "Prefetch batch: " << batch_timer.MilliSeconds() << " ms.";
    DLOG(INFO) << "Transform time: " << trans_time / 1000 << " ms.";
  }

  int next_;
};

INSTANTIATE_CLASS(StripeDataLayer);
REGISTER_LAYER_CLASS(StripeData);

}  // namespace caffe

using caffe::Blob;
using caffe::Net;

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: custom_data_layer net.prototxt";
  // In the TEST phase crops are in the middle: columns 2 to 5.
  Net<float> net(argv[1], caffe::TEST);
  for (int batch = 0; batch < 20; ++batch) {
    net.Forward();
    const Blob<float>& data = *net.blob_by_name("relu");
    const Blob<float>& label = *net.blob_by_name("seen_label");
    CHECK_EQ(data.shape_string(), "3 3 4 4 (144)");
    for (int i = 0; i < 3; ++i) {
      const int number = 3 * batch + i;
      CHECK_EQ(label.cpu_data()[i], number);
      for (int w = 0; w < 4; ++w) {
        const float expected = std::max(0.f, (number + 2 + w - 10) * 0.5f);
        CHECK_EQ(data.data_at(i, 1, 3, w), expected);
      }
    }
  }
  return 0;
}

#else

int main() { return 0; }

#endif  // USE_OPENCV
