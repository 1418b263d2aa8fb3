#include "caffe/layers/hdf5_output_layer.hpp"

#include "caffe/util/hdf5.hpp"

namespace caffe {
namespace {

std::vector<Shape> NoTops(const LayerParameter&, const std::vector<Shape>&) { return {}; }

const bool hdf5_output_registered = OperationTable::Add(Operation("HDF5Output")
                                                            .CpuOnly("it writes files")
                                                            .Stateful()
                                                            .Shapes(NoTops)
                                                            .BackwardReads(Operation::kNothing));

#ifdef USE_HDF5

template <typename Dtype>
int Rows(const Blob<Dtype>& blob) {
  return blob.num_axes() == 0 ? 1 : blob.shape(0);
}

template <typename Dtype>
void AppendRows(const Hdf5Handle& file, const char* dataset, const Blob<Dtype>& rows) {
  Shape shape = rows.shape();
  while (shape.size() < 4) shape.push_back(1);
  Blob<Dtype> same_rows(shape);
  same_rows.ShareData(rows);
  hdf5_append_nd_dataset(file.id(), dataset, same_rows);
}

#endif

}  // namespace

#ifdef USE_HDF5

template <typename Dtype>
void HDF5OutputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  file_name_ = this->layer_param_.hdf5_output_param().file_name();
  Require(!file_name_.empty(), Error::Field{"hdf5_output_param"}, ": file_name is missing");
  file_.reset();  // closed before it is replaced
  file_ = std::make_shared<Hdf5Handle>(Hdf5Handle::CreateStaged(file_name_));
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>&) {
  Require(Rows(*bottom[0]) == Rows(*bottom[1]), "HDF5Output: data has ", Rows(*bottom[0]),
          " rows and label has ", Rows(*bottom[1]));
  AppendRows(*file_, HDF5_DATA_DATASET_NAME, *bottom[0]);
  AppendRows(*file_, HDF5_DATA_LABEL_NAME, *bottom[1]);
  file_->Commit();
}

#else

template <typename Dtype>
void HDF5OutputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  Fail("HDF5Output needs HDF5", Error::Remedy{"build with USE_HDF5=ON"});
}

template <typename Dtype>
void HDF5OutputLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
}

#endif  // USE_HDF5

INSTANTIATE_CLASS(HDF5OutputLayer);
REGISTER_LAYER_CLASS(HDF5Output);

}  // namespace caffe
