#include "caffe/layers/annotated_data_layer.hpp"

#include "caffe/core/error_context.hpp"
#include "caffe/data/annotation_moves.hpp"
#include "caffe/util/im_transforms.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/sampler.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "data_fields.hpp"
#include "source_state.hpp"

namespace caffe {
namespace {

const bool annotated_data_registered = OperationTable::Add(
    Operation("AnnotatedData").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());
const bool annotated_data_dealt_out = RecordShare::AddType("AnnotatedData");

}  // namespace

// The transformer of the base class gets what it knows.
template <typename Dtype>
AnnotatedDataLayer<Dtype>::AnnotatedDataLayer(const LayerParameter& param)
    : DataLayer<Dtype>(param),
      augmentation_(param.transform_param()),
      batch_samplers_(param.annotated_data_param().batch_sampler().begin(),
                      param.annotated_data_param().batch_sampler().end()) {
  this->transform_param_.clear_resize_param();
  this->transform_param_.clear_distort_param();
  this->transform_param_.clear_noise_param();
  this->transform_param_.clear_expand_param();
  this->transform_param_.clear_emit_constraint();
}

#ifdef USE_OPENCV

/// A record between the database and the batch, and all random choices for it.
template <typename Dtype>
struct AnnotatedDataLayer<Dtype>::Record {
  std::string key, value;
  AnnotatedDatum annotated;  // its boxes move with the image
  cv::Mat image;
  ImageDraws draws;
  Distortion distortion;
  Expansion expansion;
  NormalizedBBox patch = UnitBBox();
  ResizeParameter::Interp_mode interpolation = ResizeParameter::LINEAR;
  Noise noise;
  int patch_height = 0, patch_width = 0;  // before it is resized
};

template <typename Dtype>
template <typename Function>
void AnnotatedDataLayer<Dtype>::ForRecord(const Record& record, Function&& f) const {
  try {
    f();
  } catch (Error& error) {
    AddFile(this->layer_param_.data_param().source(), Join(", record '", record.key, "'"), &error);
    throw;
  }
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::CheckParameters() const {
  const AnnotatedDataParameter& param = this->layer_param_.annotated_data_param();
  const auto refuse = [](bool given, const char* field) {
    Require(!given, Error::Field{"annotated_data_param"}, ": ", field, " is not available",
            Error::Remedy{"leave it out"});
  };
  refuse(param.yolo_data_type() != 0, "yolo_data_type");
  refuse(param.single_class(), "single_class");
  refuse(param.yoloformat(), "yoloformat");
  refuse(param.has_landmarks(), "has_landmarks");
  for (const BatchSampler& sampler : batch_samplers_) CheckBatchSampler(sampler);
  if (augmentation_.has_distort_param()) CheckDistortion(augmentation_.distort_param());
  if (augmentation_.has_noise_param()) CheckNoise(augmentation_.noise_param());
  if (augmentation_.has_resize_param()) CheckResize(augmentation_.resize_param());
  if (augmentation_.has_expand_param()) {
    CheckExpansion(augmentation_.expand_param());
    Require(!augmentation_.has_mean_file(), Error::Field{"transform_param"},
            ": expand_param fills frames with mean_value, it cannot use mean_file");
  }
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                               const vector<Blob<Dtype>*>& top) {
  const DataParameter& param = this->layer_param_.data_param();
  const int batch_size = CheckedBatchSize("data_param", param.batch_size());
  CheckParameters();
  WarnOfOldTransformation(this->layer_param_, "data_param", param);
  LOG_IF(INFO, param.shuffle() && Caffe::root_solver())
      << "data_param: shuffle is ignored: convert_annoset can shuffle";
  this->OpenSource();
  if (param.rand_skip()) {
    unsigned int skip = caffe_rng_rand() % param.rand_skip();
    LOG(INFO) << "Skipping first " << skip << " data points.";
    while (skip-- > 0) this->Next();
  }
  Record record;
  record.key = this->cursor_->key();
  record.value = this->cursor_->value();
  vector<int> shape;
  ForRecord(record, [&] {
    Parse(&record);
    Augment(&record);
    shape = this->data_transformer_->InferBlobShape(record.image);
  });
  has_boxes_ =
      record.annotated.has_type() || this->layer_param_.annotated_data_param().has_anno_type();
  shape[0] = batch_size;
  const vector<int> labels = has_boxes_ ? vector<int>{1, 1, 1, 8} : vector<int>{batch_size};
  top[0]->Reshape(shape);
  if (this->output_labels_) top[1]->Reshape(labels);
  for (const auto& batch : this->prefetch_) {
    batch->data_.Reshape(shape);
    if (this->output_labels_) batch->label_.Reshape(labels);
  }
  LOG_IF(INFO, Caffe::root_solver())
      << "output data size: " << top[0]->num() << "," << top[0]->channels() << ","
      << top[0]->height() << "," << top[0]->width();
}

/// Reads the message and the image in it.
template <typename Dtype>
void AnnotatedDataLayer<Dtype>::Parse(Record* record) const {
  Require(record->annotated.ParseFromString(record->value) && record->annotated.has_datum(),
          "the record is no AnnotatedDatum message: was the database made by convert_annoset?");
  record->image = this->data_transformer_->ImageOf(record->annotated.datum());
  record->expansion = {record->image.rows, record->image.cols, 0, 0};
  record->value.clear();
  record->annotated.mutable_datum()->clear_data();
}

/// Keeps the boxes that lie in `patch`, a box of the image they are in, and makes them
/// fractions of it.
template <typename Dtype>
void AnnotatedDataLayer<Dtype>::Project(const NormalizedBBox& patch,
                                        AnnotatedDatum* annotated) const {
  *annotated->mutable_annotation_group() =
      Moved(annotated->annotation_group(), augmentation_, 0, 0, /*resized=*/false, patch,
            /*mirrored=*/false);
}

/// Draws the changes of an image. Its boxes move along, as a patch is drawn after them.
template <typename Dtype>
void AnnotatedDataLayer<Dtype>::DrawAugmentation(Record* record) const {
  const int height = record->image.rows, width = record->image.cols;
  if (augmentation_.has_distort_param()) {
    record->distortion = DrawDistortion(augmentation_.distort_param());
  }
  if (augmentation_.has_expand_param()) {
    record->expansion = DrawExpansion(augmentation_.expand_param(), height, width);
    Project(BoxOfExpansion(record->expansion, height, width), &record->annotated);
  }
  vector<NormalizedBBox> patches;
  GenerateBatchSamples(record->annotated, batch_samplers_, &patches);
  if (!patches.empty()) {
    ClipBBox(patches[caffe_rng_rand() % patches.size()], &record->patch);
    Project(record->patch, &record->annotated);
  }
  if (augmentation_.has_resize_param()) {
    record->interpolation = DrawInterpolation(augmentation_.resize_param());
  }
  if (augmentation_.has_noise_param()) record->noise = DrawNoise(augmentation_.noise_param());
}

/// Does to the pixels what was drawn.
template <typename Dtype>
void AnnotatedDataLayer<Dtype>::Augment(Record* record) const {
  const vector<float> mean(augmentation_.mean_value().begin(), augmentation_.mean_value().end());
  record->image =
      Patch(Expanded(Distorted(record->image, record->distortion), record->expansion, mean),
            record->patch);
  record->patch_height = record->image.rows;
  record->patch_width = record->image.cols;
  if (augmentation_.has_resize_param()) {
    record->image = Resized(record->image, augmentation_.resize_param(), record->interpolation);
  }
  record->image = Noisy(record->image, augmentation_.noise_param(), record->noise);
}

/// Moves the boxes as the image was resized, cropped and mirrored.
template <typename Dtype>
void AnnotatedDataLayer<Dtype>::MoveBoxes(const ImageCrop& crop, Record* record) const {
  AnnotationGroups* const groups = record->annotated.mutable_annotation_group();
  *groups = Moved(*groups, augmentation_, record->patch_height, record->patch_width,
                  /*resized=*/true, BoxOf(crop), crop.mirror);
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::WriteLabels(const vector<Record>& records,
                                            Blob<Dtype>* label) const {
  if (!has_boxes_) {
    label->Reshape({static_cast<int>(records.size())});
    Dtype* to = label->mutable_cpu_data();
    for (const Record& record : records) *to++ = record.annotated.datum().label();
    return;
  }
  vector<Dtype> rows;
  for (size_t item = 0; item < records.size(); ++item) {
    for (const AnnotationGroup& group : records[item].annotated.annotation_group()) {
      for (const Annotation& annotation : group.annotation()) {
        const NormalizedBBox& b = annotation.bbox();
        rows.insert(rows.end(),
                    {Dtype(item), Dtype(group.group_label()), Dtype(annotation.instance_id()),
                     b.xmin(), b.ymin(), b.xmax(), b.ymax(), Dtype(b.difficult())});
      }
    }
  }
  if (rows.empty()) rows.assign(8, Dtype(-1));
  label->Reshape({1, 1, static_cast<int>(rows.size() / 8), 8});
  std::copy(rows.begin(), rows.end(), label->mutable_cpu_data());
}

// Random numbers are drawn by this thread in the order of the records; between the draws, pixels
// are decoded and changed by several.
template <typename Dtype>
void AnnotatedDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  reading_ = true;
  if (!random_state_.empty()) SetRandomStateOf(random_state_, caffe_rng());
  random_state_.clear();
  const int batch_size = static_cast<int>(this->layer_param_.data_param().batch_size());
  vector<Record> records(batch_size);
  this->BeginBatch();
  for (Record& record : records) {
    this->GoToOwnRecord();
    record.key = this->cursor_->key();
    record.value = this->cursor_->value();
    record.draws = this->data_transformer_->Draw();
    this->Next();
  }
  this->EndBatch();
  ThreadTeam& team = this->DecodingTeam(this->layer_param_.data_param().threads());
  const auto for_each = [&](auto&& f) {
    team.ForEach(batch_size, [&](int i) { ForRecord(records[i], [&] { f(&records[i], i); }); });
  };
  for_each([this](Record* record, int) { Parse(record); });
  for (Record& record : records) DrawAugmentation(&record);
  for_each([this](Record* record, int) { Augment(record); });
  vector<int> shape;
  ForRecord(records[0], [&] { shape = this->data_transformer_->InferBlobShape(records[0].image); });
  shape[0] = batch_size;
  batch->data_.Reshape(shape);
  Dtype* const pixels = batch->data_.mutable_cpu_data();
  const size_t item_count = batch->data_.count(1);
  for_each([&](Record* record, int i) {
    MoveBoxes(this->data_transformer_->TransformTo(record->image, record->draws, shape,
                                                   pixels + i * item_count),
              record);
  });
  if (this->output_labels_) WriteLabels(records, &batch->label_);
}

#else

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                               const vector<Blob<Dtype>*>&) {
  Fail("AnnotatedData needs OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
}
template <typename Dtype>
void AnnotatedDataLayer<Dtype>::load_batch(Batch<Dtype>*) {}

#endif  // USE_OPENCV

// The source's, and the reading thread's generator: before it draws, the one that it is about to be
// seeded with by the thread that starts it.
template <typename Dtype>
std::string AnnotatedDataLayer<Dtype>::SourceState() {
  StateWriter state;
  state.Put(DataLayer<Dtype>::SourceState());
  rng_t generator = *caffe_rng();
  if (!reading_) generator.seed(generator() + Caffe::solver_rank());
  state.Put(RandomStateOf(generator));
  return state.text();
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::SetSourceState(const std::string& text) {
  StateReader state(text);
  const std::string source = state.Text(), random = state.Text();
  DataLayer<Dtype>::SetSourceState(source);
  random_state_ = random;
}

INSTANTIATE_CLASS(AnnotatedDataLayer);
REGISTER_LAYER_CLASS(AnnotatedData);

}  // namespace caffe
