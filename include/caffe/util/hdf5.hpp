#ifndef CAFFE_UTIL_HDF5_HPP_
#define CAFFE_UTIL_HDF5_HPP_

#ifdef USE_HDF5

#include <hdf5.h>

#include <string>

#include "caffe/blob.hpp"

namespace caffe {

// Blobs, numbers and texts in HDF5 files, under the names of Caffe. All throw Error with what HDF5
// refused.

/// Reads a dataset of min_dim to max_dim axes into `blob`; its shape has to be the blob's unless
/// `reshape`. Any numeric type is converted.
template <typename Dtype>
void hdf5_load_nd_dataset(hid_t file_id, const char* dataset_name, int min_dim, int max_dim,
                          Blob<Dtype>* blob, bool reshape = false);
/// Checks the dataset and reshapes `blob`, without reading.
template <typename Dtype>
void hdf5_load_nd_dataset_helper(hid_t file_id, const char* dataset_name, int min_dim, int max_dim,
                                 Blob<Dtype>* blob, bool reshape);
template <typename Dtype>
void hdf5_save_nd_dataset(hid_t file_id, const std::string& dataset_name, const Blob<Dtype>& blob,
                          bool write_diff = false);

int hdf5_load_int(hid_t loc_id, const std::string& dataset_name);
void hdf5_save_int(hid_t loc_id, const std::string& dataset_name, int i);
/// Texts may hold any bytes.
std::string hdf5_load_string(hid_t loc_id, const std::string& dataset_name);
void hdf5_save_string(hid_t loc_id, const std::string& dataset_name, const std::string& s);

int hdf5_get_num_links(hid_t loc_id);
std::string hdf5_get_name_by_idx(hid_t loc_id, int idx);

/// An open file or group, closed at the end of its life.
class Hdf5Handle {
 public:
  /// Opens a file for reading. Throws Error if it is missing or no HDF5 file.
  static Hdf5Handle OpenFile(const std::string& file);
  /// Makes a file, replacing an old one.
  static Hdf5Handle CreateFile(const std::string& file);
  static Hdf5Handle OpenGroup(hid_t parent, const std::string& name);
  static Hdf5Handle CreateGroup(hid_t parent, const std::string& name);

  Hdf5Handle(Hdf5Handle&& other) noexcept;
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle();

  hid_t id() const { return id_; }
  /// Closes the file or group now; throws Error if what was written did not reach the disk.
  void Close();

 private:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}

  hid_t id_;
  herr_t (*close_)(hid_t);
};

}  // namespace caffe

#endif  // USE_HDF5

#endif  // CAFFE_UTIL_HDF5_HPP_
