// A test of a custom layer, with Caffe's test headers.
#include <vector>

#include "gtest/gtest.h"

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/filler.hpp"
#include "caffe/layers/inner_product_layer.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/test/test_caffe_main.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {

template <typename Dtype>
class CubeLayer : public NeuronLayer<Dtype> {
 public:
  explicit CubeLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "Cube"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    caffe_powx(bottom[0]->count(), bottom[0]->cpu_data(), Dtype(3), top[0]->mutable_cpu_data());
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    for (int i = 0; i < bottom[0]->count(); ++i) {
      const Dtype x = bottom[0]->cpu_data()[i];
      bottom[0]->mutable_cpu_diff()[i] = 3 * x * x * top[0]->cpu_diff()[i];
    }
  }
};

template <typename TypeParam>
class CubeLayerTest : public MultiDeviceTest<TypeParam> {
  typedef typename TypeParam::Dtype Dtype;

 protected:
  CubeLayerTest() : blob_bottom_(new Blob<Dtype>(2, 3, 4, 5)), blob_top_(new Blob<Dtype>()) {
    Caffe::set_random_seed(1701);
    FillerParameter filler_param;
    UniformFiller<Dtype> filler(filler_param);
    filler.Fill(this->blob_bottom_);
    blob_bottom_vec_.push_back(blob_bottom_);
    blob_top_vec_.push_back(blob_top_);
  }
  virtual ~CubeLayerTest() {
    delete blob_bottom_;
    delete blob_top_;
  }
  Blob<Dtype>* const blob_bottom_;
  Blob<Dtype>* const blob_top_;
  vector<Blob<Dtype>*> blob_bottom_vec_;
  vector<Blob<Dtype>*> blob_top_vec_;
};

TYPED_TEST_SUITE(CubeLayerTest, TestDtypesAndDevices);

TYPED_TEST(CubeLayerTest, TestForward) {
  typedef typename TypeParam::Dtype Dtype;
  LayerParameter layer_param;
  CubeLayer<Dtype> layer(layer_param);
  layer.SetUp(this->blob_bottom_vec_, this->blob_top_vec_);
  layer.Forward(this->blob_bottom_vec_, this->blob_top_vec_);
  for (int i = 0; i < this->blob_bottom_->count(); ++i) {
    const Dtype x = this->blob_bottom_->cpu_data()[i];
    EXPECT_NEAR(this->blob_top_->cpu_data()[i], x * x * x, 1e-4);
  }
}

TYPED_TEST(CubeLayerTest, TestGradient) {
  typedef typename TypeParam::Dtype Dtype;
  LayerParameter layer_param;
  CubeLayer<Dtype> layer(layer_param);
  GradientChecker<Dtype> checker(1e-2, 1e-2);
  checker.CheckGradientEltwise(&layer, this->blob_bottom_vec_, this->blob_top_vec_);
}

TYPED_TEST(CubeLayerTest, TestGradientOfParameters) {
  typedef typename TypeParam::Dtype Dtype;
  LayerParameter layer_param;
  InnerProductParameter* inner_product_param = layer_param.mutable_inner_product_param();
  inner_product_param->set_num_output(2);
  inner_product_param->mutable_weight_filler()->set_type("gaussian");
  inner_product_param->mutable_bias_filler()->set_type("gaussian");
  InnerProductLayer<Dtype> layer(layer_param);
  GradientChecker<Dtype> checker(1e-2, 1e-2);
  checker.CheckGradientExhaustive(&layer, this->blob_bottom_vec_, this->blob_top_vec_);
}

// Where Caffe's own tests look for their files.
TEST(TestPathsTest, TestPaths) {
  const string file = ABS_TEST_DATA_DIR "/sample_data_list.txt";
  const string image = EXAMPLES_SOURCE_DIR "images/cat.jpg";
#ifdef CMAKE_BUILD
  EXPECT_EQ(file, "/caffe/test_data/sample_data_list.txt");
  EXPECT_EQ(image, "/caffe/examples/images/cat.jpg");
  EXPECT_EQ(CUDA_TEST_DEVICE, 1);
#else
  EXPECT_EQ(file, "src/caffe/test/test_data/sample_data_list.txt");
  EXPECT_EQ(image, "examples/images/cat.jpg");
  EXPECT_EQ(CUDA_TEST_DEVICE, -1);
  EXPECT_EQ(string(CMAKE_SOURCE_DIR "caffe/test/test_data/solver_data.h5" CMAKE_EXT),
            "src/caffe/test/test_data/solver_data.h5");
#endif
}

}  // namespace caffe

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  caffe::GlobalInit(&argc, &argv);
  cout << "Running tests" << endl;
  return RUN_ALL_TESTS();
}
