#ifndef CAFFE_INFERENCE_IMAGE_PREPROCESSING_HPP_
#define CAFFE_INFERENCE_IMAGE_PREPROCESSING_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe::inference {

struct Graph;

/// How images become a net's input: they are resized, center-cropped to the input's size, their
/// channels are ordered, and each value from 0 to 255 becomes (value - mean) * scale.
struct ImagePreprocessing {
  /// The input that takes images (N x C x H x W); "": the only one that is not in `constants`.
  std::string input;
  /// None (0), one for all channels, one for each channel, or a mean image, C x resize_height x
  /// resize_width, which is cropped as images are. In the net's order of channels.
  std::vector<float> mean;
  float scale = 1;
  bool rgb = false;  ///< channels red, green, blue instead of OpenCV's blue, green, red
  /// Images are resized to this, then center-cropped to the input's size; 0: they are resized to
  /// the input's size.
  int resize_height = 0, resize_width = 0;
  /// Values for inputs that take no images, by name, repeated to fill them.
  std::map<std::string, std::vector<float>> constants;
  /// Mean and scale are part of the engine (NetworkDefinition::NormalizeInput): it takes values
  /// from 0 to 255.
  bool engine_normalizes = false;

  /// Reads mean and scale, as data layers do, and ignores the other fields of a transform_param.
  /// Throws Error as ReadMeanImage does, and if there are both a mean_file and mean_values.
  static ImagePreprocessing Of(const TransformationParameter& transform);

  /// Takes the mean image of a .binaryproto, and its size as that to resize images to. Throws Error
  /// with the file if it is not a mean image or its size differs from a given resize_height.
  void ReadMeanImage(const std::string& file);
  /// Whether `mean` is an image, for an input with this many channels.
  bool HasMeanImage(int channels) const { return mean.size() > static_cast<size_t>(channels); }
  /// The center crop of the mean image, C x height x width. Throws Error if it is smaller.
  std::vector<float> MiddleOfMeanImage(int channels, int height, int width) const;

  /// Throws Error, naming field and input, unless the graph has the named inputs, `mean` and
  /// `constants` have as many values as these inputs can take, images are not resized to less than
  /// the input, numbers are finite and the scale is not 0.
  void Validate(const Graph& graph) const;
};

/// "104,117,123" for a few values; the number of many.
std::string ValuesText(const std::vector<float>& values);
/// One line: "data: 3x300x300 BGR, (value - 127.5) * 0.00784".
std::string ToText(const ImagePreprocessing& preprocessing, const Graph& graph);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_IMAGE_PREPROCESSING_HPP_
