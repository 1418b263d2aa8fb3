// examples/mtcnn finds the faces in photographs, where its authors' nets are there.
#ifdef USE_OPENCV

#include <gtest/gtest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "caffe/test/support/npy.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/util/detection/box.hpp"
#include "examples/mtcnn/mtcnn.hpp"

namespace caffe {
namespace {

mtcnn::Files NetFiles(const std::string& name) {
  const std::string folder = SharedData("models/" + name + "/");
  return {folder + "deploy.prototxt", folder + "weights.caffemodel"};
}

mtcnn::Detector MakeDetector(const mtcnn::Options& options = mtcnn::Options()) {
  return mtcnn::Detector(NetFiles("mtcnn_v1_det1"), NetFiles("mtcnn_v1_det2"),
                         NetFiles("mtcnn_v1_det3"), options);
}

cv::Mat Image(const std::string& file) {
  const cv::Mat image = ReadImageToCVMat(SharedData("images/" + file));
  Require(!image.empty(), file, ": cannot be read");
  return image;
}

Box BoxOfFace(const mtcnn::Face& face) { return {face.left, face.top, face.right, face.bottom}; }

/// The face that overlaps `box` most.
const mtcnn::Face& Nearest(const std::vector<mtcnn::Face>& faces, const Box& box) {
  return *std::max_element(faces.begin(), faces.end(), [&](const auto& a, const auto& b) {
    return Overlap(BoxOfFace(a), box) < Overlap(BoxOfFace(b), box);
  });
}

/// Each box that another detector gave at least `score` (rows of item, label, score and corners in
/// fractions of the image) is a face here.
void ExpectFoundToo(const std::string& model, const std::string& reference, double score,
                    const cv::Mat& image, const std::vector<mtcnn::Face>& faces) {
  const NpyArray rows = ReadNpy(
      SharedData("models/" + model + "/opencv_ref/" + reference + "/out_detection_out.npy"));
  ASSERT_FALSE(faces.empty());
  int compared = 0;
  for (size_t i = 0; i < rows.values.size(); i += 7) {
    const double* row = &rows.values[i];
    if (row[2] < score) continue;
    ++compared;
    const Box box = {float(row[3] * image.cols), float(row[4] * image.rows),
                     float(row[5] * image.cols), float(row[6] * image.rows)};
    EXPECT_GT(Overlap(BoxOfFace(Nearest(faces, box)), box), 0.5) << "row " << i / 7;
  }
  EXPECT_GT(compared, 0);
}

class Mtcnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }
};

// Another implementation with the same weights and thresholds found this, given blue where the nets
// take red.
TEST_F(Mtcnn, FindsOneFaceAndItsPoints) {
  cv::Mat swapped;
  cv::cvtColor(Image("mtcnn_faces/ivan.jpg"), swapped, cv::COLOR_BGR2RGB);
  const auto faces = MakeDetector().Detect(swapped);
  ASSERT_EQ(faces.size(), 1u);
  EXPECT_GT(Overlap(BoxOfFace(faces[0]), {277, 90, 277 + 48, 90 + 63}), 0.95);
  EXPECT_NEAR(faces[0].score, 0.9985, 0.0005);
  const float points[5][2] = {{291, 117}, {314, 114}, {303, 131}, {296, 143}, {313, 141}};
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(faces[0].points[i].x, points[i][0], 1.5) << i;
    EXPECT_NEAR(faces[0].points[i].y, points[i][1], 1.5) << i;
  }
}

TEST_F(Mtcnn, FindsNoFaceWhereThereIsNone) {
  EXPECT_TRUE(MakeDetector().Detect(Image("mtcnn_faces/no-faces.jpg")).empty());
}

TEST_F(Mtcnn, FindsTwoFacesThatYuFaceDetectFinds) {
  const cv::Mat image = Image("mtcnn_faces/test1.jpg");
  const auto faces = MakeDetector().Detect(image);
  EXPECT_EQ(faces.size(), 2u);
  ExpectFoundToo("yufacedetectnet_v2", "test1", 0.9, image, faces);
}

// A group of people; in each face the eyes are above the nose, and the nose above the mouth.
TEST_F(Mtcnn, FindsTheGroupThatSsdFinds) {
  const cv::Mat image = Image("faces_misc/linzaer_1.jpg");
  const auto faces = MakeDetector().Detect(image);
  ExpectFoundToo("intel_face_detection_retail_0044", "linzaer_1", 0.9, image, faces);
  for (const mtcnn::Face& face : faces) {
    if (face.score < 0.99) continue;
    EXPECT_LT(face.points[0].x, face.points[1].x);
    EXPECT_LT(face.points[0].y, face.points[2].y);
    EXPECT_LT(face.points[2].y, face.points[3].y);
    EXPECT_LT(face.points[3].x, face.points[4].x);
  }
}

TEST_F(Mtcnn, LooksForNoSmallerFacesThanAsked) {
  mtcnn::Options options;
  options.min_size = 250;
  EXPECT_TRUE(MakeDetector(options).Detect(Image("mtcnn_faces/ivan.jpg")).empty());
}

TEST_F(Mtcnn, RefusesOptionsOutOfRange) {
  mtcnn::Options options;
  options.factor = 1;
  EXPECT_THROW(MakeDetector(options), Error);
  options = mtcnn::Options();
  options.min_size = 11;
  EXPECT_THROW(MakeDetector(options), Error);
  EXPECT_THROW(MakeDetector().Detect(cv::Mat(20, 20, CV_8UC1)), Error);
}

}  // namespace
}  // namespace caffe

#endif  // USE_OPENCV
