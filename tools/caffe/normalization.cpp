#include "normalization.hpp"

#include <string>
#include <vector>

#include "caffe/util/io.hpp"

namespace caffe {
namespace {

/// A mean picture. Throws Error for a file that is none.
void ReadMeanPicture(const std::string& file, Blob<float>* mean) {
  BlobProto proto;
  ReadProtoFromBinaryFileOrDie(file, &proto);
  mean->FromProto(proto);
  Require(mean->num_axes() == 4 || mean->num_axes() == 3, file, ": no mean picture but a blob of ",
          mean->shape_string());
}

/// The middle of a mean picture, of the size that `shape` has.
std::vector<float> MiddleOf(const Blob<float>& mean, const Shape& shape, const std::string& file) {
  const int channels = mean.shape(-3), rows = mean.shape(-2), columns = mean.shape(-1);
  Require(channels == shape[1] && rows >= shape[2] && columns >= shape[3], file,
          ": a mean picture of ", mean.shape_string(), " does not cover the input, ",
          ShapeString(shape));
  const int top = (rows - shape[2]) / 2, left = (columns - shape[3]) / 2;
  std::vector<float> middle;
  for (int c = 0; c < channels; ++c) {
    for (int y = 0; y < shape[2]; ++y) {
      const float* row = mean.cpu_data() + (size_t(c) * rows + top + y) * columns + left;
      middle.insert(middle.end(), row, row + shape[3]);
    }
  }
  return middle;
}

/// The input that pictures go to: the first one with four axes.
const inference::Value& PictureInput(const inference::Graph& graph) {
  for (const int input : graph.inputs) {
    if (graph.values[input].shape.size() == 4) return graph.values[input];
  }
  Fail("-normalize: net '", graph.name, "' has no input that takes pictures");
}

}  // namespace

PicturePreparation WithoutMeanAndScale(PicturePreparation preparation) {
  TransformationParameter& transform = preparation.transform;
  if (transform.has_mean_file() && preparation.resize_height == 0) {
    Blob<float> mean;
    ReadMeanPicture(transform.mean_file(), &mean);
    preparation.resize_height = mean.shape(-2);
    preparation.resize_width = mean.shape(-1);
  }
  transform.clear_mean_file();
  transform.clear_mean_value();
  transform.clear_scale();
  return preparation;
}

void NormalizePictures(const PicturePreparation& preparation, inference::NetworkDefinition* net) {
  const TransformationParameter& transform = preparation.transform;
  const inference::Value input = PictureInput(net->graph());
  std::vector<float> mean(transform.mean_value().begin(), transform.mean_value().end());
  if (transform.has_mean_file()) {
    Blob<float> picture;
    ReadMeanPicture(transform.mean_file(), &picture);
    mean = MiddleOf(picture, input.shape, transform.mean_file());
  }
  Require(!mean.empty() || transform.scale() != 1,
          "-normalize: there is neither -mean nor -scale, nor a transform_param in the net");
  net->NormalizeInput(input.name, mean, transform.scale());
  net->SetRange(input.name, 0, 255);
}

}  // namespace caffe
