#ifndef CAFFE_INFERENCE_RESULT_DRAWING_HPP_
#define CAFFE_INFERENCE_RESULT_DRAWING_HPP_

#include <map>
#include <set>
#include <string>

#include "caffe/inference/results.hpp"
#include "caffe/util/input_batches.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#endif

namespace caffe::inference {

// Draws engines' outputs.

/// How an output of one item is drawn.
enum class ResultKind {
  CLASSES,       ///< scores of classes: the best with names and bars below the image
  BOXES,         ///< detections: boxes with class and score
  SEGMENTATION,  ///< (C, H, W) scores or (H, W) labels: a colour for each class over the image
  IMAGE,         ///< (1, H, W) or (3, H, W): the output itself, where nothing else is drawn
  NOTHING        ///< it is left out
};
/// "classes", "boxes", "segmentation", "image", "nothing". Throws Error for other names.
ResultKind ParseResultKind(const std::string& name);
/// As the shape of an output of one item (ItemOf) and its values suggest:
///   (1, 1, N, 7)                  BOXES
///   one axis longer than 1        CLASSES
///   (H, W), (1, H, W)             SEGMENTATION if all values are labels (whole numbers from 0 to
///                                 254), else IMAGE
///   (3, H, W)                     SEGMENTATION if channels add up to 1 everywhere, else IMAGE
///   (C, H, W)                     SEGMENTATION
///   anything else                 NOTHING
ResultKind ResultKindOf(const NamedTensor& item);

struct DrawingOptions {
  int top = 5;               ///< of CLASSES
  float least_score = 0.5f;  ///< of BOXES
  double opacity = 0.5;      ///< of the colours of a SEGMENTATION, 0 to 1
  bool rgb = false;          ///< channels of an IMAGE are red, green, blue; else blue, green, red
  /// By output: how it is drawn, where that is not as ResultKindOf says.
  std::map<std::string, ResultKind> kinds;
};

#ifdef USE_OPENCV

/// The colour of a class in boxes and overlays: blue, green, red.
cv::Vec3b ColorOfClass(int label);

/// The image (8 bits; grey or blue, green, red) with what the outputs of one item (ItemOf) say, in
/// three channels.
///
/// `seen` is the part of the image that the net saw: boxes (0 to 1) and segmentations fill it. A
/// class 0 without a name, or which names call background, has no colour. Images whose longer side
/// has less than 200 pixels are first enlarged by a whole number, so that text can be read.
/// Outputs of the kind IMAGE are shown alone if there is nothing else to draw; their values are
/// taken as 0 to 1 if all lie there, else as 0 to 255.
///
/// Throws Error naming the output for a kind that does not fit its shape, for fewer names than
/// classes, and if there is nothing to draw.
cv::Mat DrawResults(const cv::Mat& image, const Tensors& outputs, const ClassNames& names,
                    const ImagePart& seen, const DrawingOptions& options = DrawingOptions());

/// Writes images into a folder, or one image into a file.
class ImageWriter {
 public:
  /// `out` is a folder, which is made if it is missing, or a file if it ends in .png, .jpg or
  /// .jpeg and is no folder. Throws Error if it cannot be written.
  explicit ImageWriter(const std::string& out);

  /// Writes the image that belongs to the image file `source`: to FOLDER/name.png, where name is
  /// the source's without folder and extension (name_2 if that was written before, and so on), or
  /// to the file. Returns the path. Throws Error if the source is in the folder or is the file,
  /// for a second image in a file, and if it cannot be written.
  std::string Write(const std::string& source, const cv::Mat& image);

 private:
  std::string PathFor(const std::string& source);

  const std::string out_;
  bool is_file_ = false;
  std::set<std::string> written_;  // paths
};

#endif  // USE_OPENCV

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_RESULT_DRAWING_HPP_
