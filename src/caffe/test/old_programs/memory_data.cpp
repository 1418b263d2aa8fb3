// A program that feeds a net with images and arrays of its own.
#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#endif

#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/layers/memory_data_layer.hpp"

using boost::shared_ptr;
using caffe::Blob;
using caffe::Caffe;
using caffe::Datum;
using caffe::MemoryDataLayer;
using caffe::Net;
using std::vector;

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: memory_data net.prototxt";
  Caffe::set_mode(Caffe::CPU);
  shared_ptr<Net<float> > net(new Net<float>(argv[1], caffe::TEST));

  // Records, through a pointer cast.
  shared_ptr<MemoryDataLayer<float> > memory_layer =
      boost::static_pointer_cast<MemoryDataLayer<float> >(net->layer_by_name("data"));
  CHECK(memory_layer);
  vector<Datum> datums(4);
  for (int i = 0; i < 4; ++i) {
    datums[i].set_channels(1);
    datums[i].set_height(2);
    datums[i].set_width(2);
    datums[i].set_data(std::string(4, static_cast<char>(2 * i)));
    datums[i].set_label(i);
  }
  memory_layer->AddDatumVector(datums);
  for (int batch = 0; batch < 2; ++batch) {
    float loss = 0.0;
    net->ForwardPrefilled(&loss);
    const shared_ptr<Blob<float> > sum = net->blob_by_name("sum");
    CHECK_EQ(sum->cpu_data()[0], 4 * 2 * batch);
    CHECK_EQ(sum->cpu_data()[1], 4 * (2 * batch + 1));
  }

#ifdef USE_OPENCV
  vector<cv::Mat> images(2, cv::Mat(2, 2, CV_8UC1, cv::Scalar(20)));
  vector<int> labels(2, 1);
  memory_layer->AddMatVector(images, labels);
  net->Forward();
  CHECK_EQ(net->blob_by_name("sum")->cpu_data()[1], 40);
#endif

  // Arrays, through a raw pointer.
  MemoryDataLayer<float>* raw = dynamic_cast<MemoryDataLayer<float>*>(net->layers()[0].get());
  CHECK(raw != NULL);
  raw->set_batch_size(3);
  vector<float> data(6 * 4), label(6);
  for (int i = 0; i < data.size(); ++i) data[i] = i / 4;
  raw->Reset(data.data(), label.data(), 6);
  net->Forward();
  CHECK_EQ(net->blob_by_name("sum")->num(), 3);
  CHECK_EQ(net->blob_by_name("sum")->cpu_data()[2], 8);
  net->Forward();
  CHECK_EQ(net->blob_by_name("sum")->cpu_data()[0], 12);
  data[0] = 100;
  net->Forward();
  CHECK_EQ(net->blob_by_name("sum")->cpu_data()[0], 100);
  return 0;
}
