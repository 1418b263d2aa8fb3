#ifndef CAFFE_UTIL_HDF5_HPP_
#define CAFFE_UTIL_HDF5_HPP_

#ifdef USE_HDF5

#include <functional>
#include <string>

#include "caffe/blob.hpp"
#include "hdf5.h"
#include "hdf5_hl.h"

namespace caffe {

// Datasets of HDF5 files as blobs. All functions throw Error naming the dataset when the file does
// not hold what is asked for, or cannot be written.

/// Checks that the dataset has min_dim to max_dim axes and a floating-point or integer type, and
/// gives `blob` its shape (with `reshape`) or requires it.
template <typename Dtype>
void hdf5_load_nd_dataset_helper(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                                 Blob<Dtype>* blob, bool reshape);

/// Reads the dataset into the blob's data, converted to Dtype.
template <typename Dtype>
void hdf5_load_nd_dataset(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                          Blob<Dtype>* blob, bool reshape = false);

/// Writes the blob's data (or diff) as a dataset of Dtype with the blob's shape.
template <typename Dtype>
void hdf5_save_nd_dataset(const hid_t file_id, const std::string& dataset_name,
                          const Blob<Dtype>& blob, bool write_diff = false);

/// Writes the blob's data behind the rows (axis 0) that the dataset has, or makes a dataset that
/// can grow.
template <typename Dtype>
void hdf5_append_nd_dataset(const hid_t file_id, const std::string& dataset_name,
                            const Blob<Dtype>& blob);

int hdf5_load_int(hid_t loc_id, const std::string& dataset_name);
void hdf5_save_int(hid_t loc_id, const std::string& dataset_name, int i);
/// Strings may hold any bytes; those with zeros are stored as an array of bytes.
std::string hdf5_load_string(hid_t loc_id, const std::string& dataset_name);
void hdf5_save_string(hid_t loc_id, const std::string& dataset_name, const std::string& s);

/// The number of members of a group, and the name of one of them, in alphabetical order.
int hdf5_get_num_links(hid_t loc_id);
std::string hdf5_get_name_by_idx(hid_t loc_id, int idx);
/// True if the group `loc_id` has a group of this name.
bool hdf5_has_group(hid_t loc_id, const std::string& name);

class StagedFile;

/// An open HDF5 file or group, closed with this object. HDF5's own messages are silenced while it
/// opens; failures throw Error.
class Hdf5Handle {
 public:
  static Hdf5Handle OpenFile(const std::string& file);
  static Hdf5Handle CreateFile(const std::string& file);
  /// A file that changes by Commit alone.
  static Hdf5Handle CreateStaged(const std::string& file);
  /// A file in memory; `name` is for messages.
  static Hdf5Handle CreateInMemory(const std::string& name);
  static Hdf5Handle OpenGroup(hid_t parent, const std::string& name);
  /// Makes groups in between where `name` has slashes.
  static Hdf5Handle CreateGroup(hid_t parent, const std::string& name);
  ~Hdf5Handle();
  Hdf5Handle(Hdf5Handle&& other) noexcept;
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;

  hid_t id() const { return id_; }
  /// Of a file of CreateStaged: brings what was written into it. One that finds no room throws
  /// Error and leaves the file as it was after the Commit before, for HDF5 to read.
  void Commit();
  /// Closes now; throws Error if what was written does not reach the file.
  void Close();

 private:
  enum class Kind { FILE, GROUP };
  Hdf5Handle(hid_t id, Kind kind, std::string name);

  hid_t id_;
  Kind kind_;
  std::string name_;
  StagedFile* staged_ = nullptr;  // HDF5's, as long as the file is open
};

/// Creates an HDF5 file aside, lets `write` fill it, syncs and renames it: a failure leaves the old
/// file.
void WriteHdf5File(const std::string& file, const std::function<void(const Hdf5Handle&)>& write);

}  // namespace caffe

#endif  // USE_HDF5

#endif  // CAFFE_UTIL_HDF5_HPP_
