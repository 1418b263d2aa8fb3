#ifndef CAFFE_UTIL_DETECTION_RESULTS_HPP_
#define CAFFE_UTIL_DETECTION_RESULTS_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/util/bbox_util.hpp"
#include "caffe/util/detection/box.hpp"
#include "caffe/util/label_map.hpp"

namespace caffe {

/// Writes detections to the files that benchmarks score, in the pixels of the images as
/// they were. save_output_param names the images (name_size_file, in the order in which they
/// pass), the labels and the format:
///
///   VOC     a file for each label, PREFIXLABEL.txt: image score xmin ymin xmax ymax
///   ILSVRC  PREFIX.txt: image label score xmin ymin xmax ymax
///   COCO    PREFIX.json: an array of {image_id, category_id, bbox: [x, y, width, height], score}
///
/// The files are written when num_test_image images have passed, and again with each further
/// round.
class DetectionResults {
 public:
  /// Throws Error for files that cannot be read and fields that do not fit.
  DetectionResults(const SaveOutputParameter& param, int background_label);

  /// False if the parameters ask for no files.
  bool wanted() const { return !param_.output_directory().empty(); }
  /// A detection in the image that is passing.
  void Add(int label, float score, const Box& box);
  /// The next image; writes the files behind the last one of a round.
  void NextImage();

 private:
  struct Detection {
    string image;
    int label;
    float score;
    Box box;
  };
  string LabelName(int label) const;
  void WriteLines(const string& file, int label) const;
  void WriteCoco(const string& file) const;
  void Write() const;

  const SaveOutputParameter param_;
  const int background_label_;
  std::map<int, string> names_;
  vector<NamedSize> images_;
  size_t round_ = 0, image_ = 0;  // images in a round; the one that is passing
  vector<Detection> detections_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_DETECTION_RESULTS_HPP_
