// Trained nets compute what BVLC Caffe 1.0 and OpenCV's dnn computed: each folder of models/ that
// brings references is compared with all of them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/net.hpp"
#include "caffe/test/support/deployed_net.hpp"
#include "caffe/test/support/expected_blobs.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/npy.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

struct Reference {
  std::string model;   ///< a folder of models/
  std::string source;  ///< caffe_ref or opencv_ref
  std::string name;    ///< a folder in it

  std::string Folder() const { return SharedData("models/" + model + "/"); }
  std::string File(const std::string& file) const {
    return Folder() + source + "/" + name + "/" + file;
  }
};

std::ostream& operator<<(std::ostream& stream, const Reference& reference) {
  return stream << reference.model << "/" << reference.source << "/" << reference.name;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  if (!fs::is_directory(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Reference> References(const std::string& source) {
  std::vector<Reference> references;
  for (const std::string& model : FilesIn(SharedData("models"))) {
    for (const std::string& name : FilesIn(SharedData("models/" + model + "/" + source))) {
      references.push_back({model, source, name});
    }
  }
  if (references.empty()) references.push_back({"none", source, "none"});
  return references;
}

std::string NameOf(const testing::TestParamInfo<Reference>& info) {
  std::string name;
  for (const char c : info.param.model + "_" + info.param.name) name += std::isalnum(c) ? c : '_';
  return name;
}

/// The blob that OpenCV or Caffe calls so: by its own name or as a layer's top.
const Blob<float>& Output(const Net<float>& net, const std::string& name) {
  if (net.has_blob(name)) return *net.blob_by_name(name);
  for (size_t i = 0; i < net.layers().size(); ++i) {
    if (net.layer_names()[i] == name) return *net.top_vecs()[i].at(0);
  }
  throw Error("no blob and no layer is called " + name);
}

template <typename Dtype>
void SetInput(const std::vector<int>& shape, const std::vector<double>& values, Net<Dtype>* net) {
  net->input_blobs().at(0)->Reshape(shape);
  net->Reshape();
  SetValues(net->input_blobs()[0], values);
}

/// The difference relative to the largest value.
void ExpectCloseBlob(const NpyArray& expected, const Blob<float>& blob, double tolerance) {
  ASSERT_EQ(expected.values.size(), static_cast<size_t>(blob.count()));
  double largest = 1e-6, error = 0;
  for (int i = 0; i < blob.count(); ++i) {
    largest = std::max(largest, std::fabs(expected.values[i]));
    const double here = std::fabs(expected.values[i] - blob.cpu_data()[i]);
    error = here <= error ? error : here;  // NaN is an error
  }
  EXPECT_LE(error, tolerance * largest);
}

/// Rows (item, label, score, corners): each that scores at least 0.05 has its like. What scores
/// less may be cut off here and not there.
void ExpectDetections(const NpyArray& expected, const Blob<float>& found, double tolerance) {
  int compared = 0;
  for (size_t i = 0; i < expected.values.size(); i += 7) {
    const double* row = &expected.values[i];
    if (row[2] < 0.05) continue;
    ++compared;
    double nearest = 1e9;
    for (int j = 0; j < found.height(); ++j) {
      const float* candidate = found.cpu_data() + 7 * j;
      double distance = candidate[1] == row[1] ? 0 : 1e9;
      for (int k = 2; k < 7; ++k) distance = std::max(distance, std::fabs(candidate[k] - row[k]));
      nearest = std::min(nearest, distance);
    }
    EXPECT_LE(nearest, tolerance) << "score " << row[2];
  }
  EXPECT_GT(compared, 0);
}

/// Compares with each file out_NAME.npy.
void CompareOutputs(const Reference& reference, const Net<float>& net, double tolerance,
                    double detection_tolerance = 0) {
  int outputs = 0;
  for (const std::string& file : FilesIn(reference.File(""))) {
    if (file.rfind("out_", 0) != 0) continue;
    ++outputs;
    SCOPED_TRACE(file);
    const NpyArray expected = ReadNpy(reference.File(file));
    const std::string name = file.substr(4, file.size() - 8);
    const Blob<float>& blob = Output(net, name);
    const bool detections = expected.shape.size() == 4 && expected.shape[3] == 7 &&
                            expected.shape[0] == 1 && expected.shape[1] == 1;
    if (detections) {
      ExpectDetections(expected, blob, detection_tolerance);
    } else {
      ExpectCloseBlob(expected, blob, tolerance);
    }
  }
  EXPECT_GT(outputs, 0);
}

class CaffeReference : public testing::TestWithParam<Reference> {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }
  /// After one forward pass.
  template <typename Dtype = float>
  static std::unique_ptr<Net<Dtype>> Run(Type type) {
    NetParameter param = Deployed(GetParam().Folder() + "deploy.prototxt");
    if (type == FLOAT16) param.set_default_forward_type(FLOAT16);
    auto net = std::make_unique<Net<Dtype>>(param);
    net->CopyTrainedLayersFrom(GetParam().Folder() + "weights.caffemodel");
    const NpyArray input = ReadNpy(GetParam().File("input.npy"));
    SetInput(input.shape, input.values, net.get());
    net->Forward();
    return net;
  }
  /// This net magnifies rounding: other orders of summation differ by a few 1e-4 among themselves.
  static bool Magnifies() { return GetParam().model == "hdibco_fcn_binarize"; }
};

TEST_P(CaffeReference, BlobByBlob) {
  const auto net = Run(FLOAT);
  CompareOutputs(GetParam(), *net, Magnifies() ? 1e-3 : 2e-5);
  const std::vector<ExpectedBlob> blobs = ReadExpectedBlobs(GetParam().File("blobs.txt"));
  EXPECT_GT(blobs.size(), 5u);
  for (const ExpectedBlob& expected : blobs) {
    if (!net->has_blob(expected.name)) continue;  // a Split's top, which is named otherwise here
    CompareBlob(expected, *net->blob_by_name(expected.name), Magnifies() ? 1e-3 : 1e-4);
  }
}

// What FLOAT promises, whatever algorithm computes a layer: of a blob's largest value 1e-5.
TEST_P(CaffeReference, EveryBlobIsThatOfADoubleNet) {
  if (Magnifies()) GTEST_SKIP() << "this net magnifies rounding: direct sums differ by more, too";
  const auto net = Run(FLOAT);
  const auto exact = Run<double>(DOUBLE);
  for (const std::string& name : net->blob_names()) {
    SCOPED_TRACE(name);
    const Blob<double>& expected = *exact->blob_by_name(name);
    const double* values = expected.cpu_data();
    ExpectCloseBlob({expected.shape(), {values, values + expected.count()}},
                    *net->blob_by_name(name), 1e-5);
  }
}

TEST_P(CaffeReference, InFloat16) {
  if (Magnifies()) GTEST_SKIP() << "half precision is not enough for this net";
  CompareOutputs(GetParam(), *Run(FLOAT16), 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, CaffeReference, testing::ValuesIn(References("caffe_ref")),
                         NameOf);

#ifdef USE_OPENCV

/// The meta.txt of a reference from OpenCV.
struct OpenCvCase {
  std::string net, weights;  ///< file names
  double mean[3] = {0, 0, 0}, scale = 1;
  bool red_first = false;
};

std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  Require(from != std::string::npos, "no '", begin, "' in ", text);
  const size_t to = text.find_first_of(end, from + begin.size());
  return text.substr(from + begin.size(), to - from - begin.size());
}

OpenCvCase ReadCase(const std::string& file) {
  std::ifstream stream(file);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  OpenCvCase result;
  result.net = Between(text, "prototxt: ", " ");
  if (result.net == "TEST") result.net = "train_val.prototxt";  // "TEST part of ..."
  result.weights = Between(text, "weights: ", " \n");
  result.scale = std::stod(Between(text, "- mean) * ", ","));
  std::istringstream(Between(text, ", mean = ", "(")) >> result.mean[0] >> result.mean[1] >>
      result.mean[2];
  result.red_first = text.find("planes R,G,B") != std::string::npos;
  return result;
}

void SetImage(const cv::Mat& image, const OpenCvCase& how, Net<float>* net) {
  const int channels = image.channels();
  std::vector<double> values;
  for (int c = 0; c < channels; ++c) {
    const int from = how.red_first ? channels - 1 - c : c;
    for (int h = 0; h < image.rows; ++h) {
      for (int w = 0; w < image.cols; ++w) {
        const double pixel = image.ptr<uint8_t>(h)[w * channels + from];
        values.push_back((pixel - how.mean[c]) * how.scale);
      }
    }
  }
  SetInput({1, channels, image.rows, image.cols}, values, net);
}

class OpenCvReference : public testing::TestWithParam<Reference> {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }
  static void Check(Type type, double tolerance, double detection_tolerance) {
    const OpenCvCase how = ReadCase(GetParam().File("meta.txt"));
    NetParameter param = Deployed(GetParam().Folder() + how.net);
    if (type == FLOAT16) param.set_default_forward_type(FLOAT16);
    Net<float> net(param);
    net.CopyTrainedLayersFrom(GetParam().Folder() + how.weights);
    const cv::Mat image = cv::imread(GetParam().File("input.png"), cv::IMREAD_UNCHANGED);
    ASSERT_FALSE(image.empty());
    SetImage(image, how, &net);
    net.Forward();
    CompareOutputs(GetParam(), net, tolerance, detection_tolerance);
  }
};

TEST_P(OpenCvReference, InFloat) {
  const std::string& model = GetParam().model;
  // hyperlpr's prior boxes have fractional sizes, which PriorBox cuts to pixels and OpenCV does
  // not.
  Check(FLOAT, model == "hdibco_fcn_binarize" ? 1e-3 : 2e-5,
        model == "hyperlpr_mininet_ssd_v1" ? 4e-3 : 1e-4);
}

TEST_P(OpenCvReference, InFloat16) {
  if (GetParam().model == "hdibco_fcn_binarize") {
    GTEST_SKIP() << "half precision is not enough for this net";
  }
  Check(FLOAT16, 2e-2, 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, OpenCvReference, testing::ValuesIn(References("opencv_ref")),
                         NameOf);

#endif  // USE_OPENCV

// The cascade of Sun, Wang and Tang (2013): all 21 nets run; what they give are points of a face in
// fractions of its box.
TEST(DeepLandmark, RunsAllNets) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const std::string folder = SharedData("models/deep_landmark_v006/");
  int nets = 0;
  for (const std::string& file : FilesIn(folder)) {
    if (!EndsWith(file, ".prototxt")) continue;
    SCOPED_TRACE(file);
    ++nets;
    Net<float> net(Deployed(folder + file));
    net.CopyTrainedLayersFrom(folder + fs::path(file).stem().string() + ".caffemodel");
    const bool whole_face = file[0] == '1';
    const int size = whole_face ? 39 : 15;
    SetInput({1, 1, size, size}, std::vector<double>(size * size, 0.), &net);
    const Blob<float>& points = *net.Forward().at(0);
    ASSERT_EQ(points.count(), whole_face ? 10 : 2);
    for (int i = 0; i < points.count(); ++i) {
      EXPECT_GT(points.cpu_data()[i], 0);
      EXPECT_LT(points.cpu_data()[i], 1);
    }
  }
  EXPECT_EQ(nets, 21);
}

// No folder is forgotten: it has references, or another file tests it.
TEST(ModelFolders, AreAllTested) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const std::map<std::string, std::string> elsewhere = {
      {"cifar10_full_sigmoid_bn", "test_accuracy_of_models.cpp"},
      {"cifar10_quick_hdf5", "test_net_models.cpp"},
      {"mobilenetv2_yolov3_nano_voc", "test_detection_models.cpp"},
      {"nvidia_digits_lenet", "test_net_models.cpp"},
      {"opencv_dnn_caffe_layer_refs", "test_reference_layers.cpp"},
  };
  std::set<std::string> referenced;
  for (const char* source : {"caffe_ref", "opencv_ref"}) {
    for (const Reference& reference : References(source)) referenced.insert(reference.model);
  }
  for (const std::string& model : FilesIn(SharedData("models"))) {
    EXPECT_TRUE(referenced.count(model) || elsewhere.count(model)) << model;
  }
}

}  // namespace
}  // namespace caffe
