// Classifies an image with a trained net and prints the best five classes.
#include <caffe/caffe.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

/// A class and how sure the net is of it.
using Prediction = std::pair<std::string, float>;

class Classifier {
 public:
  Classifier(const std::string& model_file, const std::string& trained_file,
             const std::string& mean_file, const std::string& label_file)
      : net_(model_file, caffe::TEST) {
    net_.CopyTrainedLayersFrom(trained_file);
    caffe::Require(net_.num_inputs() == 1 && net_.num_outputs() == 1, model_file,
                   ": a classifier has one input and one output");
    const int channels = input().channels();
    caffe::Require(channels == 1 || channels == 3, model_file, ": the input has ", channels,
                   " channels; 1 (grey) or 3 (color) are needed");
    ReadMean(mean_file);
    ReadLabels(label_file);
  }

  /// The `count` best classes, the best first.
  std::vector<Prediction> Classify(const cv::Mat& image, size_t count = 5) {
    input().Reshape(1, input().channels(), input().height(), input().width());
    WriteInput(image);
    const caffe::Blob<float>& output = *net_.Forward()[0];
    const float* scores = output.cpu_data();

    std::vector<int> order(labels_.size());
    std::iota(order.begin(), order.end(), 0);
    count = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [scores](int a, int b) { return scores[a] > scores[b]; });
    std::vector<Prediction> best;
    for (size_t i = 0; i < count; ++i) best.emplace_back(labels_[order[i]], scores[order[i]]);
    return best;
  }

 private:
  caffe::Blob<float>& input() { return *net_.input_blobs()[0]; }

  /// One value per channel: the mean image's mean.
  void ReadMean(const std::string& file) {
    caffe::BlobProto proto;
    caffe::ReadProtoFromBinaryFileOrDie(file, &proto);
    caffe::Blob<float> mean;
    mean.FromProto(proto);
    caffe::Require(mean.channels() == input().channels(), file, ": the mean has ", mean.channels(),
                   " channels, the net's input ", input().channels());
    const int pixels = mean.height() * mean.width();
    for (int c = 0; c < mean.channels(); ++c) {
      const float* plane = mean.cpu_data() + mean.offset(0, c);
      mean_.push_back(std::accumulate(plane, plane + pixels, 0.f) / pixels);
    }
  }

  void ReadLabels(const std::string& file) {
    std::ifstream stream(file);
    caffe::Require(stream.is_open(), file, ": cannot be opened");
    for (std::string line; std::getline(stream, line);) labels_.push_back(line);
    const int classes = net_.output_blobs()[0]->count(1);
    caffe::Require(static_cast<int>(labels_.size()) == classes, file, " has ", labels_.size(),
                   " lines, the net has ", classes, " classes");
  }

  /// The image in the net's size and number of channels, less the mean, one plane per channel.
  void WriteInput(const cv::Mat& image) {
    const int channels = input().channels();
    cv::Mat sample = image;
    if (image.channels() != channels) {
      constexpr int kToGrey[] = {cv::COLOR_BGR2GRAY, cv::COLOR_BGRA2GRAY};
      constexpr int kToColor[] = {cv::COLOR_GRAY2BGR, cv::COLOR_BGRA2BGR};
      const bool alpha = image.channels() == 4;
      cv::cvtColor(image, sample, channels == 1 ? kToGrey[alpha] : kToColor[alpha]);
    }
    const cv::Size size(input().width(), input().height());
    if (sample.size() != size) cv::resize(sample, sample, size);
    sample.convertTo(sample, CV_32F);

    float* plane = input().mutable_cpu_data();
    std::vector<cv::Mat> planes;
    for (int c = 0; c < channels; ++c, plane += size.area()) {
      planes.emplace_back(size, CV_32F, plane);
    }
    cv::split(sample, planes);
    for (int c = 0; c < channels; ++c) planes[c] -= mean_[c];
  }

  caffe::Net<float> net_;
  std::vector<float> mean_;
  std::vector<std::string> labels_;
};

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "Usage: " << argv[0]
              << " deploy.prototxt network.caffemodel mean.binaryproto labels.txt img.jpg\n";
    return 1;
  }
  ::google::InitGoogleLogging(argv[0]);
  try {
    Classifier classifier(argv[1], argv[2], argv[3], argv[4]);
    const cv::Mat image = cv::imread(argv[5], cv::IMREAD_UNCHANGED);
    caffe::Require(!image.empty(), argv[5], ": cannot be read as an image");
    std::cout << "---------- Prediction for " << argv[5] << " ----------\n";
    for (const Prediction& prediction : classifier.Classify(image)) {
      std::cout << std::fixed << std::setprecision(4) << prediction.second << " - \""
                << prediction.first << "\"\n";
    }
  } catch (const caffe::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
