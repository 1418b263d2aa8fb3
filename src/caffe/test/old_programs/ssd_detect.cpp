// A detector as the example of the SSD fork has it and, compiled with NV_CAFFE, that of NVCaffe.
#include <caffe/caffe.hpp>
#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/highgui/highgui.hpp>
#include <opencv2/imgproc/imgproc.hpp>
#endif  // USE_OPENCV
#include <algorithm>
#include <iomanip>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef USE_OPENCV
using namespace caffe;  // NOLINT(build/namespaces)

#ifdef NV_CAFFE
typedef Net DetectionNet;
typedef Blob NetBlob;
typedef TBlob<float> FloatBlob;
static float* InputData(NetBlob* blob) { return blob->mutable_cpu_data<float>(); }
static const float* OutputData(NetBlob* blob) { return blob->cpu_data<float>(); }
#else
typedef Net<float> DetectionNet;
typedef Blob<float> NetBlob;
typedef Blob<float> FloatBlob;
static float* InputData(NetBlob* blob) { return blob->mutable_cpu_data(); }
static const float* OutputData(NetBlob* blob) { return blob->cpu_data(); }
#endif

class Detector {
 public:
  Detector(const string& model_file, const string& weights_file, const string& mean_file,
           const string& mean_value);
  std::vector<vector<float> > Detect(const cv::Mat& img);

 private:
  void SetMean(const string& mean_file, const string& mean_value);
  void WrapInputLayer(std::vector<cv::Mat>* input_channels);
  void Preprocess(const cv::Mat& img, std::vector<cv::Mat>* input_channels);

  shared_ptr<DetectionNet> net_;
  cv::Size input_geometry_;
  int num_channels_;
  cv::Mat mean_;
};

Detector::Detector(const string& model_file, const string& weights_file, const string& mean_file,
                   const string& mean_value) {
#ifdef CPU_ONLY
  Caffe::set_mode(Caffe::CPU);
#endif
  net_.reset(new DetectionNet(model_file, TEST));
  net_->CopyTrainedLayersFrom(weights_file);
  CHECK_EQ(net_->num_inputs(), 1) << "Network should have exactly one input.";
  CHECK_EQ(net_->num_outputs(), 1) << "Network should have exactly one output.";
  NetBlob* input_layer = net_->input_blobs()[0];
  num_channels_ = input_layer->channels();
  CHECK(num_channels_ == 3 || num_channels_ == 1) << "Input layer should have 1 or 3 channels.";
  input_geometry_ = cv::Size(input_layer->width(), input_layer->height());
  SetMean(mean_file, mean_value);
}

std::vector<vector<float> > Detector::Detect(const cv::Mat& img) {
  NetBlob* input_layer = net_->input_blobs()[0];
  input_layer->Reshape(1, num_channels_, input_geometry_.height, input_geometry_.width);
  net_->Reshape();
  std::vector<cv::Mat> input_channels;
  WrapInputLayer(&input_channels);
  Preprocess(img, &input_channels);
  net_->Forward();

  NetBlob* result_blob = net_->output_blobs()[0];
  const float* result = OutputData(result_blob);
  const int num_det = result_blob->height();
  vector<vector<float> > detections;
  for (int k = 0; k < num_det; ++k) {
    if (result[0] == -1) {
      result += 7;  // no detection
      continue;
    }
    detections.push_back(vector<float>(result, result + 7));
    result += 7;
  }
  return detections;
}

void Detector::SetMean(const string& mean_file, const string& mean_value) {
  cv::Scalar channel_mean;
  if (!mean_file.empty()) {
    CHECK(mean_value.empty()) << "Cannot specify mean_file and mean_value at the same time";
    BlobProto blob_proto;
    ReadProtoFromBinaryFileOrDie(mean_file.c_str(), &blob_proto);
    FloatBlob mean_blob;
    mean_blob.FromProto(blob_proto);
    CHECK_EQ(mean_blob.channels(), num_channels_)
        << "Number of channels of mean file doesn't match input layer.";
    std::vector<cv::Mat> channels;
    float* data = mean_blob.mutable_cpu_data();
    for (int i = 0; i < num_channels_; ++i) {
      channels.push_back(cv::Mat(mean_blob.height(), mean_blob.width(), CV_32FC1, data));
      data += mean_blob.height() * mean_blob.width();
    }
    cv::Mat mean;
    cv::merge(channels, mean);
    channel_mean = cv::mean(mean);
    mean_ = cv::Mat(input_geometry_, mean.type(), channel_mean);
  }
  if (!mean_value.empty()) {
    std::vector<cv::Mat> channels;
    std::stringstream ss(mean_value);
    string item;
    while (getline(ss, item, ',')) {
      channels.push_back(cv::Mat(input_geometry_, CV_32FC1, cv::Scalar(std::atof(item.c_str()))));
    }
    CHECK_EQ(channels.size(), num_channels_);
    cv::merge(channels, mean_);
  }
}

void Detector::WrapInputLayer(std::vector<cv::Mat>* input_channels) {
  NetBlob* input_layer = net_->input_blobs()[0];
  float* input_data = InputData(input_layer);
  for (int i = 0; i < input_layer->channels(); ++i) {
    input_channels->push_back(
        cv::Mat(input_layer->height(), input_layer->width(), CV_32FC1, input_data));
    input_data += input_layer->width() * input_layer->height();
  }
}

void Detector::Preprocess(const cv::Mat& img, std::vector<cv::Mat>* input_channels) {
  cv::Mat sample = img, sample_resized, sample_float, sample_normalized;
  if (img.channels() == 3 && num_channels_ == 1) cv::cvtColor(img, sample, cv::COLOR_BGR2GRAY);
  cv::resize(sample, sample_resized, input_geometry_);
  sample_resized.convertTo(sample_float, num_channels_ == 3 ? CV_32FC3 : CV_32FC1);
  cv::subtract(sample_float, mean_, sample_normalized);
  cv::split(sample_normalized, *input_channels);
  CHECK(reinterpret_cast<float*>(input_channels->at(0).data) == OutputData(net_->input_blobs()[0]))
      << "Input channels are not wrapping the input layer of the network.";
}

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 5) << "usage: ssd_detect deploy.prototxt net.caffemodel mean.binaryproto image";
  const cv::Mat img = cv::imread(argv[4], -1);
  CHECK(!img.empty()) << "Unable to decode image " << argv[4];
  Detector by_file(argv[1], argv[2], argv[3], ""), by_value(argv[1], argv[2], "", "120,120,120");
  const vector<vector<float> > detections = by_file.Detect(img), same = by_value.Detect(img);
  CHECK(!detections.empty());
  CHECK(detections == same);
  // Item, label, score and corners; scores fall. Priors lie where the image is.
  for (int i = 0; i < detections.size(); ++i) {
    const vector<float>& d = detections[i];
    CHECK_EQ(d[0], 0);
    CHECK_EQ(d[1], 1);
    CHECK_GT(d[2], 0);
    CHECK_LE(d[2], i > 0 ? detections[i - 1][2] : 1);
    CHECK_LT(d[3], d[5]);
    CHECK_LT(d[4], d[6]);
    std::cout << argv[4] << " " << static_cast<int>(d[1]) << " " << d[2] << " "
              << static_cast<int>(d[3] * img.cols) << " " << static_cast<int>(d[4] * img.rows)
              << " " << static_cast<int>(d[5] * img.cols) << " "
              << static_cast<int>(d[6] * img.rows) << std::endl;
  }
  return 0;
}

#else

int main() { return 0; }

#endif  // USE_OPENCV
