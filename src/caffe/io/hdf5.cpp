#ifdef USE_HDF5

#include "caffe/util/hdf5.hpp"

#include <hdf5_hl.h>

#include <vector>

namespace caffe {
namespace {

/// HDF5 prints a stack of its own for every error unless told not to; ours says what matters.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

template <typename Dtype>
hid_t NativeType();
template <>
hid_t NativeType<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
hid_t NativeType<double>() {
  return H5T_NATIVE_DOUBLE;
}

}  // namespace

Hdf5Handle::Hdf5Handle(Hdf5Handle&& other) noexcept : id_(other.id_), close_(other.close_) {
  other.id_ = -1;
}

Hdf5Handle::~Hdf5Handle() {
  QuietHdf5 quiet;
  if (id_ >= 0) close_(id_);
}

void Hdf5Handle::Close() {
  QuietHdf5 quiet;
  const hid_t id = id_;
  id_ = -1;
  Require(id >= 0 && close_(id) >= 0, "an HDF5 file could not be written to its end: is the disk full?");
}

Hdf5Handle Hdf5Handle::OpenFile(const std::string& file) {
  QuietHdf5 quiet;
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  Require(id >= 0, file, ": there is no such file, or it is no HDF5 file");
  return Hdf5Handle(id, H5Fclose);
}

Hdf5Handle Hdf5Handle::CreateFile(const std::string& file) {
  QuietHdf5 quiet;
  const hid_t id = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  Require(id >= 0, file, ": the file cannot be made: does its folder exist, and may you write there?");
  return Hdf5Handle(id, H5Fclose);
}

Hdf5Handle Hdf5Handle::OpenGroup(hid_t parent, const std::string& name) {
  QuietHdf5 quiet;
  const hid_t id = H5Gopen2(parent, name.c_str(), H5P_DEFAULT);
  Require(id >= 0, "the HDF5 file has no group '", name, "'");
  return Hdf5Handle(id, H5Gclose);
}

Hdf5Handle Hdf5Handle::CreateGroup(hid_t parent, const std::string& name) {
  QuietHdf5 quiet;
  const hid_t id = H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  Require(id >= 0, "group '", name, "' cannot be made in the HDF5 file");
  return Hdf5Handle(id, H5Gclose);
}

template <typename Dtype>
void hdf5_load_nd_dataset_helper(hid_t file_id, const char* name, int min_dim, int max_dim,
                                 Blob<Dtype>* blob, bool reshape) {
  QuietHdf5 quiet;
  Require(H5LTfind_dataset(file_id, name) > 0, "the HDF5 file has no dataset '", name, "'");
  int axes = 0;
  Require(H5LTget_dataset_ndims(file_id, name, &axes) >= 0, "dataset '", name, "' cannot be read");
  Require(axes >= min_dim && axes <= max_dim, "dataset '", name, "' has ", axes,
          " axes; valid are ", min_dim, " to ", max_dim);
  std::vector<hsize_t> extents(axes);
  H5T_class_t type_class;
  Require(H5LTget_dataset_info(file_id, name, extents.data(), &type_class, nullptr) >= 0,
          "dataset '", name, "' cannot be read");
  Require(type_class == H5T_FLOAT || type_class == H5T_INTEGER, "dataset '", name,
          "' does not hold numbers");
  std::vector<int> shape;
  for (hsize_t extent : extents) {
    Require(extent <= hsize_t(1) << 31, "dataset '", name, "' is too large");
    shape.push_back(static_cast<int>(extent));
  }
  if (reshape) {
    blob->Reshape(shape);
  } else {
    Require(shape == blob->shape(), "dataset '", name, "' has shape ", ShapeString(shape),
            " where ", blob->shape_string(), " is needed");
  }
}

template <typename Dtype>
void hdf5_load_nd_dataset(hid_t file_id, const char* name, int min_dim, int max_dim,
                          Blob<Dtype>* blob, bool reshape) {
  hdf5_load_nd_dataset_helper(file_id, name, min_dim, max_dim, blob, reshape);
  QuietHdf5 quiet;
  Require(H5LTread_dataset(file_id, name, NativeType<Dtype>(),
                           blob->template overwrite_cpu_data_as<Dtype>()) >= 0,
          "dataset '", name, "' cannot be read");
}

template <typename Dtype>
void hdf5_save_nd_dataset(hid_t file_id, const std::string& name, const Blob<Dtype>& blob,
                          bool write_diff) {
  QuietHdf5 quiet;
  const std::vector<hsize_t> extents(blob.shape().begin(), blob.shape().end());
  const Dtype* data = write_diff ? blob.cpu_diff() : blob.cpu_data();
  Require(H5LTmake_dataset(file_id, name.c_str(), static_cast<int>(extents.size()), extents.data(),
                           NativeType<Dtype>(), data) >= 0,
          "dataset '", name, "' cannot be written to the HDF5 file: is the disk full?");
}

int hdf5_load_int(hid_t loc_id, const std::string& name) {
  QuietHdf5 quiet;
  int value = 0;
  Require(H5LTread_dataset_int(loc_id, name.c_str(), &value) >= 0,
          "the HDF5 file has no number '", name, "'");
  return value;
}

void hdf5_save_int(hid_t loc_id, const std::string& name, int i) {
  QuietHdf5 quiet;
  const hsize_t one = 1;
  Require(H5LTmake_dataset_int(loc_id, name.c_str(), 1, &one, &i) >= 0, "number '", name,
          "' cannot be written to the HDF5 file: is the disk full?");
}

// BVLC's files hold HDF5 strings, which end at the first zero byte; ours of arbitrary bytes
// are arrays of bytes.
std::string hdf5_load_string(hid_t loc_id, const std::string& name) {
  QuietHdf5 quiet;
  size_t size = 0;
  H5T_class_t type_class;
  hsize_t extents[H5S_MAX_RANK];
  Require(H5LTfind_dataset(loc_id, name.c_str()) > 0 &&
              H5LTget_dataset_info(loc_id, name.c_str(), extents, &type_class, &size) >= 0,
          "the HDF5 file has no text '", name, "'");
  if (type_class == H5T_STRING) {
    std::string text(size, '\0');
    Require(H5LTread_dataset_string(loc_id, name.c_str(), &text[0]) >= 0, "text '", name,
            "' cannot be read");
    text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
    return text;
  }
  std::string bytes(extents[0], '\0');
  Require(H5LTread_dataset(loc_id, name.c_str(), H5T_NATIVE_UCHAR, &bytes[0]) >= 0, "text '", name,
          "' cannot be read");
  return bytes;
}

void hdf5_save_string(hid_t loc_id, const std::string& name, const std::string& s) {
  QuietHdf5 quiet;
  const bool plain = s.find('\0') == std::string::npos;
  const hsize_t size = s.size();
  const herr_t status =
      plain ? H5LTmake_dataset_string(loc_id, name.c_str(), s.c_str())
            : H5LTmake_dataset(loc_id, name.c_str(), 1, &size, H5T_NATIVE_UCHAR, s.data());
  Require(status >= 0, "text '", name, "' cannot be written to the HDF5 file: is the disk full?");
}

int hdf5_get_num_links(hid_t loc_id) {
  H5G_info_t info;
  Require(H5Gget_info(loc_id, &info) >= 0, "an HDF5 group cannot be listed");
  return static_cast<int>(info.nlinks);
}

std::string hdf5_get_name_by_idx(hid_t loc_id, int idx) {
  const ssize_t size = H5Lget_name_by_idx(loc_id, ".", H5_INDEX_NAME, H5_ITER_NATIVE, idx, nullptr,
                                          0, H5P_DEFAULT);
  Require(size >= 0, "an HDF5 group has no member number ", idx);
  std::string name(size + 1, '\0');
  H5Lget_name_by_idx(loc_id, ".", H5_INDEX_NAME, H5_ITER_NATIVE, idx, &name[0], size + 1,
                     H5P_DEFAULT);
  name.resize(size);
  return name;
}

#define CAFFE_HDF5(Dtype)                                                                     \
  template void hdf5_load_nd_dataset(hid_t, const char*, int, int, Blob<Dtype>*, bool);       \
  template void hdf5_load_nd_dataset_helper(hid_t, const char*, int, int, Blob<Dtype>*, bool); \
  template void hdf5_save_nd_dataset(hid_t, const std::string&, const Blob<Dtype>&, bool)
CAFFE_HDF5(float);
CAFFE_HDF5(double);
#undef CAFFE_HDF5

}  // namespace caffe

#endif  // USE_HDF5
