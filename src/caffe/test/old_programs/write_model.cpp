// Writes a net's weights, a mean and an image, for programs that read them.
#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/highgui/highgui.hpp>
#endif

#include <string>

#include "caffe/caffe.hpp"
#include "caffe/util/io.hpp"

using namespace caffe;  // NOLINT(build/namespaces)

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 5) << "usage: write_model net.prototxt net.caffemodel mean.binaryproto image";
  Caffe::set_random_seed(42);
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(argv[1], &param);
  param.mutable_state()->set_phase(TEST);
  Net<float> net(param);
  NetParameter trained;
  net.ToProto(&trained, false);
  WriteProtoToBinaryFile(trained, argv[2]);

  BlobProto mean;
  mean.set_num(1);
  mean.set_channels(3);
  mean.set_height(8);
  mean.set_width(8);
  for (int i = 0; i < 3 * 8 * 8; ++i) mean.add_data(120);
  WriteProtoToBinaryFile(mean, argv[3]);
#ifdef USE_OPENCV
  cv::Mat image(20, 30, CV_8UC3);
  cv::randu(image, cv::Scalar::all(0), cv::Scalar::all(255));
  cv::imwrite(argv[4], image);
  const cv::Mat grey = ReadImageToCVMat(argv[4], 8, 8, CV_LOAD_IMAGE_GRAYSCALE != 0);
  CHECK_EQ(grey.channels(), 1);
#endif
  return 0;
}
