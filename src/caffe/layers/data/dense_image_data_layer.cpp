#include "caffe/layers/dense_image_data_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>

#include "caffe/core/error_context.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "data_fields.hpp"
#endif

namespace caffe {
namespace {

const bool dense_image_data_registered = OperationTable::Add(
    Operation("DenseImageData").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());
const bool dense_image_data_dealt_out = RecordShare::AddType("DenseImageData");

}  // namespace

template <typename Dtype>
DenseImageDataLayer<Dtype>::DenseImageDataLayer(const LayerParameter& param)
    : ImageListLayer<Dtype, string>(param) {
  const DenseImageDataParameter& own = param.dense_image_data_param();
  TransformationParameter& transform = this->transform_param_;
  if (own.mirror()) transform.set_mirror(true);
  if (own.crop_height()) transform.set_crop_height(own.crop_height());
  if (own.crop_width()) transform.set_crop_width(own.crop_width());
  if (own.has_mean_file()) transform.set_mean_file(own.mean_file());
}

template <typename Dtype>
std::pair<string, string> DenseImageDataLayer<Dtype>::ParseLine(const string& line) const {
  StringReader stream(line);
  string image, labels, more;
  Require(stream >> image >> labels && !(stream >> more), "'", line,
          "' is not the path of an image, a space and the path of its labels");
  return {image, labels};
}

#ifdef USE_OPENCV

template <typename Dtype>
cv::Mat DenseImageDataLayer<Dtype>::ReadImage(const string& file) const {
  const DenseImageDataParameter& param = this->layer_param_.dense_image_data_param();
  return ReadListedImage(param.root_folder() + file, param.new_height(), param.new_width(),
                         param.is_color());
}

template <typename Dtype>
cv::Mat DenseImageDataLayer<Dtype>::ReadLabels(const string& file, const cv::Mat& image) const {
  const DenseImageDataParameter& param = this->layer_param_.dense_image_data_param();
  const int factor = static_cast<int>(param.label_divide_factor());
  Require(image.cols >= factor && image.rows >= factor, Error::Field{"dense_image_data_param"},
          ": label_divide_factor ", factor, " leaves nothing of an image of ", image.rows, " x ",
          image.cols);
  return ReadListedLabels(param.root_folder() + file, image, param.new_height() > 0, factor);
}

template <typename Dtype>
void DenseImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                                const vector<Blob<Dtype>*>& top) {
  const DenseImageDataParameter& param = this->layer_param_.dense_image_data_param();
  const TransformationParameter& transform = this->transform_param_;
  const int batch_size = CheckedBatchSize("dense_image_data_param", param.batch_size());
  Require(!param.source().empty(), Error::Field{"dense_image_data_param"}, ": source is missing");
  Require(!transform.has_resize_param(), Error::Field{"transform_param"},
          ": this layer does not know resize_param, ", "which its labels would need too",
          Error::Remedy{"give dense_image_data_param: new_height and new_width"});
  CheckNewSize("dense_image_data_param", param.new_height(), param.new_width());
  Require(!param.rotate(), Error::Field{"dense_image_data_param"}, ": rotate is not available",
          Error::Remedy{"leave it out"});
  const uint32_t factor = param.label_divide_factor();
  Require(factor > 0 && factor <= 1u << 20, Error::Field{"dense_image_data_param"},
          ": label_divide_factor must be 1 or a little more, got ", factor);
  Require(factor == 1 || !(transform.crop_size() || transform.crop_h() || transform.crop_height()),
          Error::Field{"dense_image_data_param"}, ": label_divide_factor ", factor,
          " and cropping (transform_param) exclude each other");
  this->OpenList(param.source(), param.shuffle(), param.rand_skip());

  const auto& line = this->lines_[this->lines_id_];
  const cv::Mat image = ReadImage(line.first);
  const cv::Mat labels = ReadLabels(line.second, image);
  vector<int> shape, label_shape;
  WithFile(param.root_folder() + line.first, [&] {
    shape = this->data_transformer_->InferBlobShape(image);
    label_shape = this->data_transformer_->InferBlobShape(labels);
  });
  this->transformed_data_.Reshape(shape);
  shape[0] = label_shape[0] = batch_size;
  top[0]->Reshape(shape);
  top[1]->Reshape(label_shape);
  for (const auto& batch : this->prefetch_) {
    batch->data_.Reshape(shape);
    batch->label_.Reshape(label_shape);
  }
  LOG_IF(INFO, Caffe::root_solver())
      << "output data size: " << top[0]->shape_string() << ", labels: " << top[1]->shape_string();
}

template <typename Dtype>
void DenseImageDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const DenseImageDataParameter& param = this->layer_param_.dense_image_data_param();
  const auto items = this->TakeItems(static_cast<int>(param.batch_size()));
  const cv::Mat first = ReadImage(items[0].line.first);
  const cv::Mat first_labels = ReadLabels(items[0].line.second, first);
  // Sizes may change from batch to batch.
  vector<int> shape, label_shape;
  WithFile(param.root_folder() + items[0].line.first, [&] {
    shape = this->data_transformer_->InferBlobShape(first);
    label_shape = this->data_transformer_->InferBlobShape(first_labels);
  });
  shape[0] = label_shape[0] = static_cast<int>(items.size());
  batch->data_.Reshape(shape);
  batch->label_.Reshape(label_shape);
  Dtype* const pixels = batch->data_.mutable_cpu_data();
  Dtype* const labels = batch->label_.mutable_cpu_data();
  const int item_count = batch->data_.count(1), label_count = batch->label_.count(1);
  this->DecodingTeam(0).ForEach(shape[0], [&](int i) {
    const auto& [file, label_file] = items[i].line;
    const cv::Mat image = i == 0 ? first : ReadImage(file);
    const cv::Mat image_labels = i == 0 ? first_labels : ReadLabels(label_file, image);
    WithFile(param.root_folder() + file, [&] {
      this->data_transformer_->TransformTo(image, items[i].draws, shape,
                                           pixels + size_t(i) * item_count);
      this->data_transformer_->TransformLabelsTo(image_labels, items[i].draws, label_shape,
                                                 labels + size_t(i) * label_count);
    });
  });
}

#else

template <typename Dtype>
void DenseImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                                const vector<Blob<Dtype>*>&) {
  Fail("DenseImageData needs OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
}

template <typename Dtype>
void DenseImageDataLayer<Dtype>::load_batch(Batch<Dtype>*) {}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(DenseImageDataLayer);
REGISTER_LAYER_CLASS(DenseImageData);

}  // namespace caffe
