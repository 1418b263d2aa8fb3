#include "caffe/inference/image_preprocessing.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/util/io.hpp"

namespace caffe::inference {
namespace {

/// More rows or columns than this are no image.
constexpr int kMaxExtent = 1 << 15;

bool AreFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

const Shape& InputShapeOf(const Graph& graph, const std::string& name, const char* what) {
  const int value = graph.FindValue(name);
  Require(value >= 0 && graph.IsInput(value), what, ": the net has no input '", name, "'");
  return graph.values[value].shape;
}

std::string SizeText(int height, int width) { return Join(height, "x", width); }

}  // namespace

ImagePreprocessing ImagePreprocessing::Of(const TransformationParameter& transform) {
  Require(!transform.has_mean_file() || transform.mean_value_size() == 0,
          Error::Field{"transform_param"}, Error::Remedy{"give mean_file or mean_value, not both"});
  ImagePreprocessing preprocessing;
  preprocessing.mean.assign(transform.mean_value().begin(), transform.mean_value().end());
  preprocessing.scale = transform.scale();
  if (transform.has_mean_file()) preprocessing.ReadMeanImage(transform.mean_file());
  return preprocessing;
}

void ImagePreprocessing::ReadMeanImage(const std::string& file) {
  BlobProto proto;
  ReadProtoFromBinaryFileOrDie(file, &proto);
  Blob<float> image;
  image.FromProto(proto);
  Require((image.num_axes() == 4 || image.num_axes() == 3) && image.count() > 0 &&
              image.count() == image.shape(-3) * image.shape(-2) * image.shape(-1),
          Error::File{file}, ": no mean image but a blob of ", image.shape_string());
  const int height = image.shape(-2), width = image.shape(-1);
  Require(resize_height == 0 || (resize_height == height && resize_width == width),
          Error::File{file}, ": the mean image is ", SizeText(height, width),
          ", images are resized to ", SizeText(resize_height, resize_width));
  resize_height = height;
  resize_width = width;
  mean.assign(image.cpu_data(), image.cpu_data() + image.count());
}

std::vector<float> ImagePreprocessing::MiddleOfMeanImage(int channels, int height,
                                                         int width) const {
  Require(mean.size() == CountOf({channels, resize_height, resize_width}) &&
              resize_height >= height && resize_width >= width,
          "a mean image of ", mean.size(), " values and ", SizeText(resize_height, resize_width),
          " does not cover an input of ", Join(channels, "x", SizeText(height, width)));
  const int top = (resize_height - height) / 2, left = (resize_width - width) / 2;
  std::vector<float> middle;
  middle.reserve(CountOf({channels, height, width}));
  for (int c = 0; c < channels; ++c) {
    for (int y = 0; y < height; ++y) {
      const auto row = mean.begin() + (size_t(c) * resize_height + top + y) * resize_width + left;
      middle.insert(middle.end(), row, row + width);
    }
  }
  return middle;
}

void ImagePreprocessing::Validate(const Graph& graph) const {
  constexpr char kWhat[] = "image preprocessing";
  const Shape& shape = InputShapeOf(graph, input, kWhat);
  Require(shape.size() == 4, kWhat, ": input '", input, "' is ", ShapeString(shape),
          ", no images (N, C, H, W)");
  const bool resizes = resize_height != 0 || resize_width != 0;
  Require(!resizes || (resize_height >= shape[2] && resize_width >= shape[3] &&
                       resize_height <= kMaxExtent && resize_width <= kMaxExtent),
          kWhat, ": images are resized to ", SizeText(resize_height, resize_width),
          ", less than input '", input, "', ", SizeText(shape[2], shape[3]), ", or more than ",
          kMaxExtent);
  const size_t channels = shape[1];
  const bool of_image = resizes && mean.size() == CountOf({shape[1], resize_height, resize_width});
  Require(mean.size() <= 1 || mean.size() == channels || of_image, kWhat, ": the mean has ",
          mean.size(), " values, input '", input, "' has ", channels,
          " channels: give one, one for each, or a mean image of the size that images are resized "
          "to",
          resizes ? ", " + SizeText(resize_height, resize_width) : "");
  Require(AreFinite(mean) && std::isfinite(scale) && scale != 0, kWhat,
          ": mean and scale must be finite, scale not 0");
  for (const auto& [name, values] : constants) {
    const Shape& filled = InputShapeOf(graph, name, "values for an input that takes no images");
    Require(name != input, kWhat, ": input '", input,
            "' takes images, and values are given for it");
    Require(!values.empty() && CountOf(filled) % values.size() == 0 && AreFinite(values),
            "values for input '", name, "': ", values.size(), " do not fill ", ShapeString(filled),
            ", or are not finite");
  }
}

std::string ValuesText(const std::vector<float>& values) {
  constexpr size_t kMaxWritten = 8;
  if (values.empty()) return "0";
  if (values.size() > kMaxWritten) return Join("an image of ", values.size(), " values");
  std::string text;
  for (const float value : values) text += Join(text.empty() ? "" : ",", value);
  return text;
}

std::string ToText(const ImagePreprocessing& preprocessing, const Graph& graph) {
  const Shape& shape = InputShapeOf(graph, preprocessing.input, "image preprocessing");
  std::string text = Join(preprocessing.input, ": ");
  if (preprocessing.resize_height > 0) {
    text += Join("resized to ", SizeText(preprocessing.resize_height, preprocessing.resize_width),
                 ", cut in the middle to ");
  } else {
    text += "resized to ";
  }
  text += SizeText(shape[2], shape[3]);
  if (shape[1] == 3) text += preprocessing.rgb ? ", RGB" : ", BGR";
  if (preprocessing.engine_normalizes) text += ", values from 0 to 255: the engine computes";
  const std::string mean = ValuesText(preprocessing.mean);
  text += Join(preprocessing.engine_normalizes ? " " : ", ", "(value - ",
               mean.find(',') == std::string::npos ? mean : "(" + mean + ")", ") * ",
               preprocessing.scale);
  for (const auto& [name, values] : preprocessing.constants) {
    text += Join("; ", name, " = ", ValuesText(values));
  }
  return text;
}

}  // namespace caffe::inference
