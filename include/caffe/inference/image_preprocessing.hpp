#ifndef CAFFE_INFERENCE_IMAGE_PREPROCESSING_HPP_
#define CAFFE_INFERENCE_IMAGE_PREPROCESSING_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe::inference {

struct Graph;

/// How images become what a net's input takes: they are resized, cut in the middle to the input's
/// size, their channels are ordered, and each value from 0 to 255 becomes (value - mean) * scale.
struct ImagePreprocessing {
  /// The input that takes images (N x C x H x W); "": the only one that `constants` leaves.
  std::string input;
  /// None (0), one for all channels, one for each channel, or a mean image, C x resize_height x
  /// resize_width, which is cut as images are. In the net's order of channels.
  std::vector<float> mean;
  float scale = 1;
  bool rgb = false;  ///< channels red, green, blue instead of OpenCV's blue, green, red
  /// Images are resized to this, and cut in the middle to the input's size; 0: they are resized to
  /// the input's size.
  int resize_height = 0, resize_width = 0;
  /// Values for inputs that take no images, by name, repeated to fill them.
  std::map<std::string, std::vector<float>> constants;
  /// Mean and scale are part of the engine (NetworkDefinition::NormalizeInput): it takes values
  /// from 0 to 255.
  bool engine_normalizes = false;

  /// Mean and scale as in data layers: the other fields of a transform_param are left alone. Throws
  /// Error as ReadMeanImage, and for a mean_file and mean_values.
  static ImagePreprocessing Of(const TransformationParameter& transform);

  /// Takes the mean image of a .binaryproto, and its size as what images are resized to. Throws
  /// Error with the file if it is no mean image, or of another size than a resize_height given.
  void ReadMeanImage(const std::string& file);
  /// Whether `mean` is an image, for an input with this many channels.
  bool HasMeanImage(int channels) const { return mean.size() > static_cast<size_t>(channels); }
  /// The middle of the mean image, C x height x width. Throws Error unless it covers that.
  std::vector<float> MiddleOfMeanImage(int channels, int height, int width) const;

  /// Throws Error, naming field and input, unless the graph has the inputs that are named, `mean`
  /// and `constants` are as many as these inputs can take, images are not resized to less than the
  /// input, numbers are finite and the scale is not 0.
  void Validate(const Graph& graph) const;
};

/// "104,117,123" of values; of many how many they are.
std::string ValuesText(const std::vector<float>& values);
/// One line: "data: 3x300x300 BGR, (value - 127.5) * 0.00784".
std::string ToText(const ImagePreprocessing& preprocessing, const Graph& graph);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_IMAGE_PREPROCESSING_HPP_
