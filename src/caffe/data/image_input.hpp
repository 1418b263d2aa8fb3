#ifndef CAFFE_UTIL_IMAGE_INPUT_HPP_
#define CAFFE_UTIL_IMAGE_INPUT_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/inference/image_preprocessing.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// An input of a net or an engine: its name and what it holds.
struct NamedBlob {
  std::string name;
  Blob<float>* blob;
};
std::vector<NamedBlob> InputsOf(Net<float>* net);

/// Fills a blob with values, repeated. Throws Error, naming it, if they do not fill it.
void FillWith(const std::vector<float>& values, const NamedBlob& input);

/// Writes images to the items of an input, and constants to the inputs that take none.
class ImageInput {
 public:
  /// `preprocessing` outlives it. Throws Error for an input with neither images nor a constant.
  ImageInput(const inference::ImagePreprocessing& preprocessing,
             const std::vector<NamedBlob>& inputs);

  int items() const { return images_->shape(0); }
  Blob<float>& blob() { return *images_; }
  /// The size of images before they are cut.
  int image_height() const { return height_; }
  int image_width() const { return width_; }

  /// Values in the input's own shape, channels outermost, in the net's order of channels.
  void WriteValues(const Datum& datum, int item);
#ifdef USE_OPENCV
  /// An image of 8 bits with 1 channel, or 3: blue, green, red.
  void Write(const cv::Mat& image, int item);
#endif

 private:
  void MakeTransformer();
  void Copy(int item);

  const inference::ImagePreprocessing& preprocessing_;
  Blob<float>* images_ = nullptr;
  Blob<float> item_;
  std::unique_ptr<DataTransformer<float>> transformer_;
  std::vector<float> mean_image_;  // cut; empty: the transformer does it
  int height_ = 0, width_ = 0;     // before cutting
  bool crop_ = false;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_IMAGE_INPUT_HPP_
