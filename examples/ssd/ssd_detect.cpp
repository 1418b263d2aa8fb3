// Finds objects in images with an SSD detector, or any net whose output is a DetectionOutput's.
#include <gflags/gflags.h>

#include <caffe/caffe.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <sstream>
#include <string>
#include <vector>

DEFINE_string(mean_file, "", "the mean image (.binaryproto) that is subtracted");
DEFINE_string(mean_value, "104,117,123", "instead: a value for each channel, or one for all");
DEFINE_double(scale, 1, "what the pixels are multiplied with, after the mean");
DEFINE_string(file_type, "image", "what LIST_FILE names: image");
DEFINE_string(out_file, "", "where the detections go; standard output if empty");
DEFINE_double(confidence_threshold, 0.01, "scores below are left out");

namespace {

using caffe::Blob;
using caffe::Require;

constexpr char kUsage[] =
    "usage: ssd_detect [FLAG...] deploy.prototxt weights.caffemodel LIST_FILE\n"
    "\n"
    "Writes, for each object in each image that LIST_FILE names (a path a line), a line\n"
    "\"image label score left top right bottom\", the corners in pixels.\n"
    "\n"
    "  -mean_value A,B,C         subtracted from blue, green, red, or one for all (104,117,123)\n"
    "  -mean_file FILE           instead: the mean image, a .binaryproto\n"
    "  -scale S                  what the pixels are then multiplied by (1)\n"
    "  -confidence_threshold T   scores below are left out (0.01)\n"
    "  -out_file FILE            where the lines go (standard output)\n"
    "\n"
    "example:\n"
    "  ssd_detect -confidence_threshold 0.5 deploy.prototxt ssd.caffemodel images.txt\n";

/// Corners in pixels of the image.
struct Detection {
  int label;
  float score, left, top, right, bottom;
};

class Detector {
 public:
  Detector(const std::string& net_file, const std::string& weights) : net_(net_file, caffe::TEST) {
    net_.CopyTrainedLayersFrom(weights);
    Require(net_.num_inputs() == 1 && net_.num_outputs() == 1, net_file,
            ": a detector has one input and one output");
    const int channels = input().channels();
    Require(channels == 1 || channels == 3, net_file, ": the input has ", channels,
            " channels; 1 (grey) or 3 (color) are needed");
    ReadMean();
  }

  bool color() { return input().channels() == 3; }

  std::vector<Detection> Detect(const cv::Mat& image) {
    WriteInput(image);
    const Blob<float>& rows = *net_.Forward()[0];
    Require(rows.num_axes() == 4 && rows.shape(3) == 7,
            "the net's output must be a DetectionOutput's, of shape 1 1 N 7, not ",
            rows.shape_string());
    std::vector<Detection> found;
    for (int i = 0; i < rows.height(); ++i) {
      const float* row = rows.cpu_data() + 7 * i;  // item, label, score, corners
      if (row[0] < 0 || row[2] < FLAGS_confidence_threshold) continue;
      found.push_back({static_cast<int>(row[1]), row[2], row[3] * image.cols, row[4] * image.rows,
                       row[5] * image.cols, row[6] * image.rows});
    }
    return found;
  }

 private:
  Blob<float>& input() { return *net_.input_blobs()[0]; }
  cv::Size size() { return cv::Size(input().width(), input().height()); }

  void ReadMean() {
    if (!FLAGS_mean_file.empty()) return ReadMeanFile();
    std::vector<float> values;
    std::istringstream stream(FLAGS_mean_value);
    for (std::string value; std::getline(stream, value, ',');) {
      std::istringstream number(value);
      values.emplace_back();
      Require(!(number >> values.back()).fail(), "-mean_value: '", value, "' is not a number");
    }
    const size_t channels = input().channels();
    Require(values.size() == 1 || values.size() == channels, "-mean_value: ", values.size(),
            " values for ", channels, " channel(s)");
    for (size_t c = 0; c < channels; ++c) {
      mean_.emplace_back(size(), CV_32F, cv::Scalar(values[values.size() == 1 ? 0 : c]));
    }
  }

  void ReadMeanFile() {
    caffe::BlobProto proto;
    caffe::ReadProtoFromBinaryFileOrDie(FLAGS_mean_file, &proto);
    Blob<float> mean;
    mean.FromProto(proto);
    Require(mean.channels() == input().channels(), FLAGS_mean_file, ": the mean has ",
            mean.channels(), " channels, the net's input ", input().channels());
    for (int c = 0; c < mean.channels(); ++c) {
      const cv::Mat plane(mean.height(), mean.width(), CV_32F,
                          mean.mutable_cpu_data() + mean.offset(0, c));
      mean_.emplace_back();
      cv::resize(plane, mean_.back(), size());
    }
  }

  /// The image in the net's size, less the mean, one plane per channel.
  void WriteInput(const cv::Mat& image) {
    cv::Mat sample;
    cv::resize(image, sample, size());
    sample.convertTo(sample, CV_32F);
    std::vector<cv::Mat> planes;
    float* plane = input().mutable_cpu_data();
    for (int c = 0; c < input().channels(); ++c, plane += size().area()) {
      planes.emplace_back(size(), CV_32F, plane);
    }
    cv::split(sample, planes);
    for (size_t c = 0; c < planes.size(); ++c) planes[c] = (planes[c] - mean_[c]) * FLAGS_scale;
  }

  caffe::Net<float> net_;
  std::vector<cv::Mat> mean_;  // a plane per channel
};

void DetectAll(const std::string& list, Detector* detector, std::ostream* out) {
  std::ifstream stream(list);
  Require(stream.is_open(), list, ": cannot be opened");
  for (std::string file; std::getline(stream, file);) {
    if (file.empty()) continue;
    const cv::Mat image = caffe::ReadImageToCVMat(file, detector->color());
    Require(!image.empty(), file, ": cannot be read as an image");
    for (const Detection& d : detector->Detect(image)) {
      *out << file << " " << d.label << " " << d.score << " " << static_cast<int>(d.left) << " "
           << static_cast<int>(d.top) << " " << static_cast<int>(d.right) << " "
           << static_cast<int>(d.bottom) << "\n";
    }
  }
}

int Run(int argc, char** argv) {
  Require(argc == 4, "give deploy.prototxt, weights.caffemodel and a list; --help shows how");
  Require(FLAGS_file_type == "image", "-file_type ", FLAGS_file_type,
          ": videos are not read; write their frames to images first");
  Detector detector(argv[1], argv[2]);
  std::ofstream file;
  if (!FLAGS_out_file.empty()) {
    file.open(FLAGS_out_file);
    Require(file.is_open(), FLAGS_out_file, ": cannot be written");
  }
  std::ostream& out = FLAGS_out_file.empty() ? std::cout : file;
  DetectAll(argv[3], &detector, &out);
  out.flush();
  Require(out.good(), FLAGS_out_file, ": cannot be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string("--help")) {
      std::cout << kUsage;
      return 0;
    }
  }
  FLAGS_minloglevel = google::ERROR;
  gflags::SetUsageMessage(kUsage);
  try {
    caffe::GlobalInit(&argc, &argv);
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "ssd_detect: " << error.what() << "\n";
    return 1;
  }
}
