#ifndef CAFFE_HDF5_OUTPUT_LAYER_HPP_
#define CAFFE_HDF5_OUTPUT_LAYER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/layer.hpp"

/// The datasets that HDF5Output writes.
#define HDF5_DATA_DATASET_NAME "data"
#define HDF5_DATA_LABEL_NAME "label"

namespace caffe {

class Hdf5Handle;

/// Writes its two bottoms, with as many rows each, to the datasets "data" and "label" of the file
/// hdf5_output_param.file_name, which is replaced when the layer is set up. Every forward pass
/// adds its rows; what a pass has written is in the file even if the process is killed later. A
/// pass for which the disk has no room throws Error and leaves the rows of the passes before.
/// Datasets have four axes at least, missing ones of length 1.
template <typename Dtype>
class HDF5OutputLayer : public Layer<Dtype> {
 public:
  explicit HDF5OutputLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}
  const char* type() const override { return "HDF5Output"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 0; }

  std::string file_name() const { return file_name_; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}

  std::string file_name_;
  std::shared_ptr<Hdf5Handle> file_;
};

}  // namespace caffe

#endif  // CAFFE_HDF5_OUTPUT_LAYER_HPP_
