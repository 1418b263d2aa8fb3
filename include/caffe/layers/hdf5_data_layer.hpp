#ifndef CAFFE_HDF5_DATA_LAYER_HPP_
#define CAFFE_HDF5_DATA_LAYER_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/util/record_share.hpp"

namespace caffe {

/// Batches of the rows of HDF5 files, again and again. Each top is the dataset of its name: a
/// dataset (rows, ...) makes a top (batch_size, ...); all datasets of a file have as many rows, and
/// all files the same shapes. hdf5_data_param.source is a text file that lists the files, one a
/// line; several between blanks, too, where the line itself is none and some of them are there.
/// With `shuffle` the files of each pass, and the rows of each file, come in random order. With
/// several solvers each reads its RecordShare. Only one file is in memory at a time.
template <typename Dtype>
class HDF5DataLayer : public Layer<Dtype> {
 public:
  explicit HDF5DataLayer(const LayerParameter& param)
      : Layer<Dtype>(param), share_(param.phase()) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}
  const char* type() const override { return "HDF5Data"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int MinTopBlobs() const override { return 1; }
  uint64_t EpochItems() override;

  std::string SaveState() override;
  void RestoreState(const std::string& state) override;

 protected:
  /// Goes to the next row: of this file, of the next, or of the first file of a new pass.
  void Next();
  /// True if the row is another solver's.
  bool Skip() const;
  virtual void LoadHDF5FileData(const char* filename);
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}

  vector<std::string> hdf_filenames_;
  unsigned int num_files_ = 0, current_file_ = 0;
  uint64_t current_row_ = 0;
  vector<shared_ptr<Blob<Dtype>>> hdf_blobs_;  // of the present file, one per top
  vector<unsigned int> data_permutation_, file_permutation_;
  uint64_t offset_ = 0;  // rows passed, of all solvers

 private:
  int batch_size() const {
    return static_cast<int>(this->layer_param_.hdf5_data_param().batch_size());
  }
  void ReadSource();
  void BeginPass();
  void DrawRows();
  void LoadFile();
  uint64_t rows() const { return data_permutation_.size(); }

  shared_ptr<Caffe::RNG> random_;
  std::string pass_state_;   // the generator's, before this pass was drawn
  std::string loaded_file_;  // whose rows hdf_blobs_ has
  RecordShare share_;
  uint64_t batch_start_ = 0;  // offset_ where the batch began
};

}  // namespace caffe

#endif  // CAFFE_HDF5_DATA_LAYER_HPP_
