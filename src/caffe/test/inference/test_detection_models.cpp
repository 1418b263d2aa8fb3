// Trained detectors find what is to be seen in photographs: boxes that overlap the true ones, with
// good scores. (test_net_references.cpp compares the same nets with other programs, number by
// number.)
#ifdef USE_OPENCV

#include <gtest/gtest.h>

#include "caffe/io/proto_text.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/npy.hpp"
#include "caffe/test/support/trained_detectors.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

/// What `net` finds in a file of images/.
std::vector<Object> Detect(const std::string& image, const std::string& transform, Order order,
                           const std::string& output, double least, Net<float>* net) {
  ReadImage(image, transform, order, net->input_blobs()[0]);
  net->Forward();
  const Blob<float>& found = *net->blob_by_name(output);
  return Objects(found.cpu_data(), found.height(), least);
}

/// Each wanted object has been found, with that overlap and nearly that score; there are no others.
void ExpectFound(const std::vector<Object>& wanted, const std::vector<Object>& found,
                 double overlap, double score_tolerance) {
  EXPECT_EQ(found.size(), wanted.size()) << testing::PrintToString(found);
  for (const Object& object : wanted) {
    const bool seen = std::any_of(found.begin(), found.end(), [&](const Object& candidate) {
      return candidate.label == object.label && Overlap(candidate.box, object.box) >= overlap &&
             std::abs(candidate.score - object.score) <= score_tolerance;
    });
    EXPECT_TRUE(seen) << object << " is not among " << testing::PrintToString(found);
  }
}

class DetectionModel : public testing::TestWithParam<Detector> {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }
  static void Check(bool half, double overlap, double score_tolerance) {
    const Detector& d = GetParam();
    const std::string folder = SharedData(std::string("models/") + d.model + "/");
    NetParameter param;
    ReadNetParamsFromTextFileOrDie(folder + "deploy.prototxt", &param);
    param.mutable_state()->set_phase(TEST);
    if (half) param.set_default_forward_type(FLOAT16);
    Net<float> net(param);
    net.CopyTrainedLayersFrom(folder + "weights.caffemodel");
    const NpyArray reference =
        ReadNpy(folder + "opencv_ref/" + d.reference + "/out_" + d.output + ".npy");
    const std::vector<Object> wanted =
        Objects(reference.values.data(), reference.values.size() / 7, d.least);
    EXPECT_FALSE(wanted.empty());
    ExpectFound(wanted, Detect(d.image, d.transform, Order::kBlueFirst, d.output, d.least, &net),
                overlap, score_tolerance);
  }
};

// From the photograph's file: reading, resizing, mean and scale are the library's.
TEST_P(DetectionModel, FindsWhatOpenCvFinds) { Check(false, 0.98, 5e-3); }
TEST_P(DetectionModel, FindsItInFloat16) { Check(true, 0.9, 2e-2); }

INSTANTIATE_TEST_SUITE_P(Models, DetectionModel, testing::ValuesIn(kDetectors));

/// MobileNetV2-YOLOv3-Nano with its anchors, of which the coarse map has the larger ones.
std::unique_ptr<Net<float>> MakeYolo() {
  const std::string folder = SharedData("models/mobilenetv2_yolov3_nano_voc/");
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(folder + "deploy.prototxt", &param);
  param.mutable_state()->set_phase(TEST);
  ParseProtoText(
      "name: 'found' type: 'Yolov3DetectionOutput' bottom: 'layer69-conv' bottom: 'layer79-conv' "
      "top: 'found' yolov3_detection_output_param { num_classes: 20 confidence_threshold: 0.6 "
      "biases: 26 biases: 48 biases: 67 biases: 84 biases: 72 biases: 175 biases: 189 biases: 126 "
      "biases: 137 biases: 236 biases: 265 biases: 259 mask: 3 mask: 4 mask: 5 mask: 0 mask: 1 "
      "mask: 2 anchors_scale: 32 anchors_scale: 16 }",
      "detection layer", param.add_layer());
  auto net = std::make_unique<Net<float>>(param);
  net->CopyTrainedLayersFrom(folder + "weights.caffemodel");
  return net;
}

constexpr int kBird = 3, kCar = 7, kDog = 12, kHorse = 13, kPerson = 15;

// The true boxes are those that people drew in these images of Darknet's, to a few pixels; a box
// that overlaps one by half counts as found, as in PASCAL VOC.
TEST(YoloModel, FindsDogCarPersonHorseAndBird) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const auto pixels = [](int width, int height, float x1, float y1, float x2, float y2) {
    return Box{x1 / width, y1 / height, x2 / width, y2 / height};
  };
  const std::pair<const char*, std::vector<Object>> images[] = {
      {"dog.jpg",
       {{kDog, 0.8, pixels(768, 576, 128, 223, 313, 541)},
        {kCar, 0.8, pixels(768, 576, 468, 75, 689, 172)}}},
      {"person.jpg",
       {{kDog, 0.8, pixels(640, 424, 60, 265, 203, 346)},
        {kPerson, 0.8, pixels(640, 424, 191, 96, 273, 377)},
        {kHorse, 0.8, pixels(640, 424, 400, 136, 602, 346)}}},
      {"eagle.jpg", {{kBird, 0.8, pixels(773, 512, 111, 91, 643, 452)}}},
  };
  const auto net = MakeYolo();
  for (const auto& [image, objects] : images) {
    SCOPED_TRACE(image);
    ExpectFound(objects,
                Detect(std::string("voc_like/") + image, "scale: 0.00392156862745098",
                       Order::kRedFirst, "found", 0.7, net.get()),
                0.5, 0.2);
  }
}

}  // namespace
}  // namespace caffe

#endif  // USE_OPENCV
