#ifndef CAFFE_TEST_TRAINED_DETECTORS_HPP_
#define CAFFE_TEST_TRAINED_DETECTORS_HPP_
#ifdef USE_OPENCV

#include <algorithm>
#include <opencv2/core.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "caffe/data_transformer.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/util/detection/box.hpp"
#include "net_fixture.hpp"
#include "test_data.hpp"

// Trained detectors and photographs for them, from the shared data.

namespace caffe {

/// An object in an image, corners in fractions of the image's width and height.
struct Object {
  int label;
  double score;
  Box box;
};

inline std::ostream& operator<<(std::ostream& stream, const Object& o) {
  return stream << "label " << o.label << " score " << o.score << " box " << o.box.xmin << " "
                << o.box.ymin << " " << o.box.xmax << " " << o.box.ymax;
}

/// Rows (item, label, score, corners) that score at least `least`.
template <typename T>
std::vector<Object> Objects(const T* rows, size_t count, double least) {
  std::vector<Object> objects;
  for (size_t i = 0; i < count; ++i, rows += 7) {
    if (rows[2] < least) continue;
    objects.push_back({int(rows[1]), double(rows[2]),
                       Box{float(rows[3]), float(rows[4]), float(rows[5]), float(rows[6])}});
  }
  return objects;
}

/// Channels are blue, green, red, or the other way round.
enum class Order { kBlueFirst, kRedFirst };

/// Writes a file of images/ to `input`, resized to it.
inline void ReadImage(const std::string& file, const std::string& transform, Order order,
                      Blob<float>* input) {
  const cv::Mat image = ReadImageToCVMat(SharedData("images/" + file), input->height(),
                                         input->width(), input->channels() == 3);
  Require(!image.empty(), file, ": cannot be read");
  TransformationParameter param;
  ParseProtoText(transform, "transform", &param);
  DataTransformer<float>(param, TEST).Transform(image, input);
  if (order == Order::kRedFirst) {
    const int plane = input->height() * input->width();
    float* data = input->mutable_cpu_data();
    std::swap_ranges(data, data + plane, data + 2 * plane);
  }
}

struct Detector {
  const char* model;
  const char* image;
  const char* transform;
  const char* output;
  const char* reference;  ///< what OpenCV found
  double least;           ///< score of what is compared
};

inline std::ostream& operator<<(std::ostream& stream, const Detector& d) {
  return stream << d.model << " on " << d.image;
}

constexpr char kPlates[] = "scale: 0.007843 mean_value: 127.5";
constexpr char kCodes[] = "scale: 0.00392156862745098";
constexpr char kYuFace[] = "mean_value: 104 mean_value: 117 mean_value: 123";
const Detector kDetectors[] = {
    {"hyperlpr_mininet_ssd_v1", "plates/zeusees_1.jpg", kPlates, "detection_out", "zeusees_1", 0.5},
    {"hyperlpr_mininet_ssd_v1", "plates/zeusees_4.jpg", kPlates, "detection_out", "zeusees_4", 0.5},
    {"intel_face_detection_retail_0044", "faces_misc/linzaer_1.jpg", "", "detection_out",
     "linzaer_1", 0.5},
    {"wechat_qrcode_detect", "qr/qrcode.jpg", kCodes, "detection_output", "qrcode", 0.5},
    {"wechat_qrcode_detect", "qr/test3.jpg", kCodes, "detection_output", "test3", 0.5},
    {"wechat_qrcode_detect", "qr/4_barcodes.jpg", kCodes, "detection_output", "4_barcodes", 0.35},
    {"yufacedetectnet_v2", "mtcnn_faces/test1.jpg", kYuFace, "detection_out", "test1", 0.5},
};

}  // namespace caffe

#endif  // USE_OPENCV
#endif  // CAFFE_TEST_TRAINED_DETECTORS_HPP_
