// A layer of annotated images as the SSD fork writes them: a reader of AnnotatedDatum, images that
// are distorted, expanded and cut one step at a time, and labels of varying number. Compiled with
// CAFFE_SSD.
#include <map>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/data_reader.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/im_transforms.hpp"
#include "caffe/util/sampler.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>

namespace caffe {

template <typename Dtype>
class OwnAnnotatedDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit OwnAnnotatedDataLayer(const LayerParameter& param)
      : BasePrefetchingDataLayer<Dtype>(param), reader_(param) {}
  virtual ~OwnAnnotatedDataLayer() { this->StopInternalThread(); }
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const int batch_size = this->layer_param_.data_param().batch_size();
    const AnnotatedDataParameter& anno_data_param = this->layer_param_.annotated_data_param();
    for (int i = 0; i < anno_data_param.batch_sampler_size(); ++i) {
      batch_samplers_.push_back(anno_data_param.batch_sampler(i));
    }
    AnnotatedDatum& anno_datum = *(reader_.full().peek());
    vector<int> top_shape = this->data_transformer_->InferBlobShape(anno_datum.datum());
    this->transformed_data_.Reshape(top_shape);
    top_shape[0] = batch_size;
    top[0]->Reshape(top_shape);
    vector<int> label_shape(4, 1);
    label_shape[3] = 8;
    top[1]->Reshape(label_shape);
    for (int i = 0; i < this->PREFETCH_COUNT; ++i) {
      this->prefetch_[i].data_.Reshape(top_shape);
      this->prefetch_[i].label_.Reshape(label_shape);
    }
  }
  virtual inline const char* type() const { return "OwnAnnotatedData"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int ExactNumTopBlobs() const { return 2; }

 protected:
  virtual void load_batch(Batch<Dtype>* batch) {
    const int batch_size = this->layer_param_.data_param().batch_size();
    const TransformationParameter& transform_param = this->layer_param_.transform_param();
    Dtype* top_data = batch->data_.mutable_cpu_data();
    std::map<int, vector<AnnotationGroup> > all_anno;
    int num_bboxes = 0;
    for (int item_id = 0; item_id < batch_size; ++item_id) {
      AnnotatedDatum& anno_datum = *(reader_.full().pop("Waiting for data"));
      AnnotatedDatum distort_datum(anno_datum), expand_datum, sampled_datum;
      if (transform_param.has_distort_param()) {
        this->data_transformer_->DistortImage(anno_datum.datum(), distort_datum.mutable_datum());
      }
      this->data_transformer_->ExpandImage(distort_datum, &expand_datum);
      vector<NormalizedBBox> sampled_bboxes;
      GenerateBatchSamples(expand_datum, batch_samplers_, &sampled_bboxes);
      if (sampled_bboxes.empty()) {
        sampled_datum.CopyFrom(expand_datum);
      } else {
        const int rand_idx = caffe_rng_rand() % sampled_bboxes.size();
        this->data_transformer_->CropImage(expand_datum, sampled_bboxes[rand_idx], &sampled_datum);
      }
      CHECK(this->data_transformer_->InferBlobShape(sampled_datum.datum()) ==
            this->transformed_data_.shape());
      this->transformed_data_.set_cpu_data(top_data + batch->data_.offset(item_id));
      vector<AnnotationGroup> transformed_anno_vec;
      CHECK_EQ(anno_datum.type(), AnnotatedDatum_AnnotationType_BBOX);
      this->data_transformer_->Transform(sampled_datum, &(this->transformed_data_),
                                         &transformed_anno_vec);
      for (int g = 0; g < transformed_anno_vec.size(); ++g) {
        num_bboxes += transformed_anno_vec[g].annotation_size();
      }
      all_anno[item_id] = transformed_anno_vec;
      reader_.free().push(const_cast<AnnotatedDatum*>(&anno_datum));
    }
    vector<int> label_shape(4, 1);
    label_shape[2] = std::max(1, num_bboxes);
    label_shape[3] = 8;
    batch->label_.Reshape(label_shape);
    Dtype* top_label = batch->label_.mutable_cpu_data();
    caffe_set<Dtype>(batch->label_.count(), -1, top_label);
    for (int item_id = 0; item_id < batch_size; ++item_id) {
      for (int g = 0; g < all_anno[item_id].size(); ++g) {
        const AnnotationGroup& anno_group = all_anno[item_id][g];
        for (int a = 0; a < anno_group.annotation_size(); ++a) {
          const NormalizedBBox& bbox = anno_group.annotation(a).bbox();
          const Dtype row[] = {Dtype(item_id),
                               Dtype(anno_group.group_label()),
                               Dtype(anno_group.annotation(a).instance_id()),
                               bbox.xmin(),
                               bbox.ymin(),
                               bbox.xmax(),
                               bbox.ymax(),
                               Dtype(bbox.difficult())};
          top_label = std::copy(row, row + 8, top_label);
        }
      }
    }
  }

  DataReader<AnnotatedDatum> reader_;
  vector<BatchSampler> batch_samplers_;
};

INSTANTIATE_CLASS(OwnAnnotatedDataLayer);
REGISTER_LAYER_CLASS(OwnAnnotatedData);

}  // namespace caffe

using namespace caffe;  // NOLINT(build/namespaces)

namespace {

// A black image in which the annotated rectangle is white.
void WriteDatabase(const string& path) {
  boost::scoped_ptr<db::DB> database(db::GetDB("lmdb"));
  database->Open(path, db::NEW);
  boost::scoped_ptr<db::Transaction> transaction(database->NewTransaction());
  cv::Mat image(60, 80, CV_8UC3, cv::Scalar::all(0));
  image(cv::Rect(20, 15, 40, 30)).setTo(cv::Scalar::all(255));
  AnnotatedDatum anno_datum;
  CVMatToDatum(image, anno_datum.mutable_datum());
  anno_datum.set_type(AnnotatedDatum_AnnotationType_BBOX);
  AnnotationGroup* group = anno_datum.add_annotation_group();
  group->set_group_label(3);
  NormalizedBBox* bbox = group->add_annotation()->mutable_bbox();
  bbox->set_xmin(0.25);
  bbox->set_ymin(0.25);
  bbox->set_xmax(0.75);
  bbox->set_ymax(0.75);
  transaction->Put("00000000", anno_datum.SerializeAsString());
  transaction->Commit();
}

}  // namespace

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 3) << "usage: ssd_data_layer net.prototxt new_database";
  WriteDatabase(argv[2]);
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(argv[1], &param);
  param.mutable_state()->set_phase(TRAIN);
  param.mutable_layer(0)->mutable_data_param()->set_source(argv[2]);
  Caffe::set_random_seed(5);
  Net<float> net(param);
  int boxes = 0;
  for (int batch = 0; batch < 10; ++batch) {
    net.Forward();
    const Blob<float>& data = *net.blob_by_name("data");
    const Blob<float>& label = *net.blob_by_name("label");
    CHECK_EQ(data.shape_string(), "2 3 40 40 (9600)");
    for (int i = 0; i < label.height(); ++i) {
      const float* row = label.cpu_data() + 8 * i;
      if (row[0] < 0) continue;
      CHECK_EQ(row[1], 3);
      // Where the box is the image is white.
      const int x = (row[3] + row[5]) / 2 * 40, y = (row[4] + row[6]) / 2 * 40;
      if (row[5] - row[3] < 0.2 || row[6] - row[4] < 0.2) continue;
      CHECK_GT(data.data_at(row[0], 1, y, x), 0.8) << "at " << y << ", " << x;
      ++boxes;
    }
  }
  CHECK_GT(boxes, 5);
  return 0;
}

#else

int main() { return 0; }

#endif  // USE_OPENCV
