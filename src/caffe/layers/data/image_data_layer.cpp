#include "caffe/layers/image_data_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include <algorithm>
#include <cmath>

#include "caffe/core/error_context.hpp"
#include "caffe/core/limits.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "caffe/util/text/list_line.hpp"
#include "data_fields.hpp"

namespace caffe {
namespace {

// Shapes depend on the first image; tops hold labels: both stay in the net's own type.
const bool image_data_registered = OperationTable::Add(
    Operation("ImageData").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());
const bool image_data_dealt_out = RecordShare::AddType("ImageData");

}  // namespace

template <typename Dtype>
std::pair<string, int> ImageDataLayer<Dtype>::ParseLine(const string& line) const {
  const auto parts = SplitListLine(line);
  if (!parts) {
    LOG_FIRST_N(WARNING, 1) << "'" << line << "' and maybe other images have no label in "
                            << this->layer_param_.image_data_param().source()
                            << ": it is taken as 0.";
    return {line, 0};
  }
  int label = 0;
  const string& source = this->layer_param_.image_data_param().source();
  Require(ParseLabel(parts->rest, source, &label), "'", parts->rest,
          "' is no label: a line is the path of an image, a space and a whole number");
  return {parts->path, label};
}

#ifdef USE_OPENCV

template <typename Dtype>
cv::Mat ImageDataLayer<Dtype>::Read(const string& file) const {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const string path = param.root_folder() + file;
  if (param.short_side() == 0) {
    return ReadListedImage(path, param.new_height(), param.new_width(), param.is_color());
  }
  const cv::Mat image = ReadListedImage(path, 0, 0, param.is_color());
  const double factor = double(param.short_side()) / std::min(image.rows, image.cols);
  const cv::Size size(std::lround(image.cols * factor), std::lround(image.rows * factor));
  if (size == image.size()) return image;
  limits::CheckImage(size.height, size.width, "image_data_param: short_side");
  cv::Mat resized;
  cv::resize(image, resized, size);
  return resized;
}

template <typename Dtype>
void ImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                           const vector<Blob<Dtype>*>& top) {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const int batch_size = CheckedBatchSize("image_data_param", param.batch_size());
  Require(!param.source().empty(), Error::Field{"image_data_param"}, ": source is missing");
  CheckNewSize("image_data_param", param.new_height(), param.new_width());
  CheckNewSize("image_data_param: short_side", param.short_side(), param.short_side());
  Require(param.label_type() != ImageDataParameter::PIXEL, Error::Field{"image_data_param"},
          ": label_type PIXEL is not for ImageData, whose labels are numbers in the list",
          Error::Remedy{"choose the layer type ImageSegData, or leave it out"});
  WarnOfOldTransformation(this->layer_param_, "image_data_param", param);
  LOG_IF(INFO, (param.cache() || param.precache()) && Caffe::root_solver())
      << "image_data_param: cache and precache are ignored: the system keeps files in memory";
  LOG_IF(WARNING, param.dataset_share_per_node() != 1)
      << "image_data_param: dataset_share_per_node is ignored: every solver deals with its share "
         "of the list";
  this->OpenList(param.source(), param.shuffle(), param.rand_skip());

  const string& first = this->lines_[this->lines_id_].first;
  vector<int> shape = WithFile(param.root_folder() + first, [&] {
    return this->data_transformer_->InferBlobShape(Read(first));
  });
  this->transformed_data_.Reshape(shape);
  shape[0] = batch_size;
  top[0]->Reshape(shape);
  top[1]->Reshape(vector<int>(1, batch_size));
  for (const auto& batch : this->prefetch_) {
    batch->data_.Reshape(shape);
    batch->label_.Reshape(top[1]->shape());
  }
  LOG_IF(INFO, Caffe::root_solver())
      << "output data size: " << top[0]->num() << "," << top[0]->channels() << ","
      << top[0]->height() << "," << top[0]->width();
}

template <typename Dtype>
void ImageDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const auto items = this->TakeItems(static_cast<int>(param.batch_size()));
  const cv::Mat first = Read(items[0].line.first);
  // Sizes may change from batch to batch.
  vector<int> shape = WithFile(param.root_folder() + items[0].line.first,
                               [&] { return this->data_transformer_->InferBlobShape(first); });
  shape[0] = static_cast<int>(items.size());
  batch->data_.Reshape(shape);
  Dtype* const pixels = batch->data_.mutable_cpu_data();
  Dtype* const labels = batch->label_.mutable_cpu_data();
  const int item_count = batch->data_.count(1);
  this->DecodingTeam(param.threads()).ForEach(shape[0], [&](int i) {
    const string& file = items[i].line.first;
    const cv::Mat image = i == 0 ? first : Read(file);
    WithFile(param.root_folder() + file, [&] {
      this->data_transformer_->TransformTo(image, items[i].draws, shape,
                                           pixels + size_t(i) * item_count);
    });
    labels[i] = static_cast<Dtype>(items[i].line.second);
  });
}

#else

template <typename Dtype>
void ImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                           const vector<Blob<Dtype>*>&) {
  Fail("ImageData needs OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
}

template <typename Dtype>
void ImageDataLayer<Dtype>::load_batch(Batch<Dtype>*) {}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(ImageDataLayer);
REGISTER_LAYER_CLASS(ImageData);

}  // namespace caffe
