// What a pose estimator does with NVCaffe: a net behind a pointer, blobs of a fixed type handed on
// as void pointers, inputs of changing sizes, some layers of a pass.
#include <glog/logging.h>
#include <boost/shared_ptr.hpp>
#include <caffe/blob.hpp>
#include <caffe/net.hpp>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace pose {

// An array that owns a blob, or looks at one of a net's.
template <typename T>
class BlobArray {
 public:
  BlobArray() : own_{new caffe::TBlob<T>{}}, blob_{own_.get()} {}
  explicit BlobArray(const std::vector<int>& shape)
      : own_{new caffe::TBlob<T>{shape}}, blob_{own_.get()} {}
  BlobArray(const int num, const int channels, const int height, const int width)
      : own_{new caffe::TBlob<T>{num, channels, height, width}}, blob_{own_.get()} {}
  explicit BlobArray(const void* blob) : blob_{(caffe::TBlob<T>*)blob} {}

  caffe::TBlob<T>* operator->() const { return blob_; }

 private:
  std::unique_ptr<caffe::TBlob<T>> own_;
  caffe::TBlob<T>* blob_;
};

class Estimator {
 public:
  Estimator(const std::string& proto, const std::string& weights, const std::string& last_blob) {
    caffe::Caffe::set_mode(caffe::Caffe::CPU);
    net_.reset(new caffe::Net{proto, caffe::TEST});
    net_->CopyTrainedLayersFrom(weights);
    output_ = boost::static_pointer_cast<caffe::TBlob<float>>(net_->blob_by_name(last_blob));
    CHECK(output_ != nullptr);
  }

  BlobArray<float> Forward(const std::vector<int>& shape, const std::vector<float>& input) {
    if (shape != shape_) {
      shape_ = shape;
      ReshapeNet(net_.get(), shape);
    }
    auto* data = net_->blobs().at(0)->mutable_cpu_data<float>();
    std::copy(input.begin(), input.end(), data);
    net_->ForwardFrom(0);
    return BlobArray<float>{static_cast<const void*>(output_.get())};
  }

  caffe::Net* net() { return net_.get(); }

 private:
  static void ReshapeNet(caffe::Net* net, const std::vector<int>& shape) {
    net->blobs()[0]->Reshape(shape);
    net->Reshape();
  }

  std::unique_ptr<caffe::Net> net_;
  boost::shared_ptr<caffe::TBlob<float>> output_;
  std::vector<int> shape_;
};

template <typename T>
void CheckBlobs() {
  BlobArray<T> none, some{std::vector<int>{2, 3}}, image{1, 2, 3, 4};
  CHECK_EQ(none->count(), 0);
  CHECK_EQ(some->shape_string(), "2 3 (6)");
  CHECK_EQ(image->num() * image->channels() * image->height() * image->width(), image->count());
  CHECK_EQ(image->offset(0, 1, 2, 3), 23);
  for (int i = 0; i < image->count(); ++i) image->mutable_cpu_data()[i] = T(i) / 3;
  CHECK_EQ(image->cpu_data()[5], T(5) / 3) << "a blob of another type would round";
  CHECK_EQ(image->template cpu_data<float>()[5], float(T(5) / 3));
  CHECK_EQ(image->data_at(0, 1, 0, 1), float(T(13) / 3));
  CHECK_EQ(image->data_type(), caffe::tp<T>());
  CHECK_NEAR(image->asum_data(), 92, 1e-4);
  CHECK_NEAR(image->amax_data(), 23. / 3, 1e-5);
  image->scale_data(2);
  CHECK_EQ(image->cpu_data()[3], T(2));
  image->Reshape(1, 1, 1, 2);
  CHECK_EQ(image->count(), 2);
  std::vector<T> own(6, T(7));
  some->set_cpu_data(own.data());
  CHECK_EQ(some->cpu_data()[5], T(7));
  own[5] = T(8);
  CHECK_EQ(some->cpu_data()[5], T(8));
}

}  // namespace pose

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 3) << "usage: nv_pose deploy.prototxt net.caffemodel";
  pose::CheckBlobs<float>();
  pose::CheckBlobs<double>();

  pose::Estimator estimator{argv[1], argv[2], "prob"};
  caffe::Net* const net = estimator.net();
  std::vector<int> shape = net->input_blobs()[0]->shape();
  std::vector<float> first;
  for (const int items : {1, 2, 1}) {
    shape[0] = items;
    std::vector<float> input(
        std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<int>()));
    for (size_t i = 0; i < input.size(); ++i) input[i] = i % (input.size() / items) % 5;
    const pose::BlobArray<float> output = estimator.Forward(shape, input);
    CHECK_EQ(output->num(), items);
    const float* const scores = output->cpu_data();
    if (first.empty()) first.assign(scores, scores + output->count());
    for (int i = 0; i < output->count(); ++i) CHECK_NEAR(scores[i], first[i % first.size()], 1e-5);
  }
  // The same blob is the same handle, by whichever way it is reached.
  CHECK(net->blob_by_name("prob").get() == net->output_blobs()[0]);
  CHECK(net->blobs().back() == net->blob_by_name(net->blob_names().back()));
  CHECK(net->blob_by_name("nothing") == nullptr);
  CHECK(net->layer_by_name(net->layer_names()[1]) == net->layers()[1]);
  return 0;
}
