#ifdef USE_HDF5

#include "caffe/util/hdf5.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/io/hdf5_read_driver.hpp"
#include "caffe/io/hdf5_staged_file.hpp"
#include "caffe/io/little_endian.hpp"
#include "caffe/io/mapped_file.hpp"
#include "caffe/io/staged_file.hpp"

namespace caffe {
namespace {

/// Keeps HDF5 from printing its stack of errors: ours say what is wrong.
class Silence {
 public:
  Silence() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// The path of the file that `id` is in, for messages.
std::string FileOf(hid_t id) {
  char name[4096] = "";
  const Silence silence;
  return H5Fget_name(id, name, sizeof(name)) > 0 ? name : "HDF5 file";
}

/// "weights.h5: dataset /data/conv1/0".
std::string Where(hid_t id, const std::string& dataset) {
  char group[4096] = "";
  const Silence silence;
  const bool named = H5Iget_name(id, group, sizeof(group)) > 0 && std::strcmp(group, "/") != 0;
  return Join(FileOf(id), ": dataset ", named ? group : "", "/", dataset);
}

/// One of HDF5's objects, closed with this one.
class Object {
 public:
  Object(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Object() {
    if (id_ >= 0) close_(id_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  operator hid_t() const { return id_; }

 private:
  const hid_t id_;
  herr_t (*const close_)(hid_t);
};

/// The widest numbers, in bytes. HDF5 makes room for a few elements while it converts them.
constexpr size_t kMaxNumber = 16;

/// Of an array whose elements have the size `element`; 2^64 - 1 if it is larger.
uint64_t ArraySize(uint64_t element, const hsize_t* extents, int axes) {
  for (int i = 0; i < axes; ++i) element = limits::Product({element, extents[i]});
  return element;
}

/// Throws Error for a dataset that is in another file, or has its elements there, as a file of a
/// stranger could have us read any other one; for one whose pieces are larger than a blob may
/// be; and for one with fewer elements than it says.
void CheckStorage(hid_t id, const char* dataset, const std::string& where) {
  const Object opened(H5Dopen2(id, dataset, H5P_DEFAULT), H5Dclose);
  if (opened < 0) return;  // whoever reads it says so
  const bool same_file = FileOf(opened) == FileOf(id);
  const Object properties(H5Dget_create_plist(opened), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(properties);
  const bool elsewhere = layout == H5D_VIRTUAL || H5Pget_external_count(properties) > 0;
  Require(same_file && !elsewhere, where, " is in another file, which is not allowed");
  hsize_t chunk[H5S_MAX_RANK] = {};
  const int axes = layout == H5D_CHUNKED ? H5Pget_chunk(properties, H5S_MAX_RANK, chunk) : 0;
  const Object type(H5Dget_type(opened), H5Tclose);
  limits::Check(limits::kBlobBytes, ArraySize(H5Tget_size(type), chunk, axes), where, ": a chunk");
  // Elements in the header: libhdf5 copies as many as there should be, whatever is there.
  const Object space(H5Dget_space(opened), H5Sclose);
  const hssize_t elements = H5Sget_simple_extent_npoints(space);
  const hsize_t stored = H5Dget_storage_size(opened);
  const bool is_whole = elements >= 0 && limits::Product({static_cast<uint64_t>(elements),
                                                          H5Tget_size(type)}) <= stored;
  Require(layout != H5D_COMPACT || is_whole, where, ": ", elements, " elements in ", stored,
          " bytes; the file is damaged");
}

template <typename Dtype>
herr_t Read(hid_t id, const char* dataset, Dtype* values) {
  if constexpr (std::is_same<Dtype, float>::value) {
    return H5LTread_dataset_float(id, dataset, values);
  } else {
    return H5LTread_dataset_double(id, dataset, values);
  }
}

/// How datasets are made: without the time of day, so that the same values make the same file.
hid_t DatasetProperties() {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(properties, false);
  return properties;
}

herr_t Make(hid_t file, const std::string& name, const std::vector<hsize_t>& dims, hid_t type,
            const void* values) {
  const Object space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                     H5Sclose);
  const Object properties(DatasetProperties(), H5Pclose);
  const Object dataset(
      H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose);
  return dataset < 0 ? -1 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

/// A text with its terminating zero.
herr_t MakeText(hid_t file, const std::string& name, const std::string& text) {
  const Object type(H5Tcopy(H5T_C_S1), H5Tclose);
  if (H5Tset_size(type, text.size() + 1) < 0) return -1;
  return Make(file, name, {}, type, text.c_str());
}

template <typename Dtype>
hid_t NativeType() {
  return std::is_same<Dtype, float>::value ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

}  // namespace

template <typename Dtype>
void hdf5_load_nd_dataset_helper(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                                 Blob<Dtype>* blob, bool reshape) {
  const Silence silence;
  const std::string where = Where(file_id, dataset_name_);
  Require(H5LTfind_dataset(file_id, dataset_name_) > 0, where, " is missing");
  int axes = 0;
  Require(H5LTget_dataset_ndims(file_id, dataset_name_, &axes) >= 0, where, ": no axes");
  Require(axes >= min_dim && axes <= max_dim, where, " has ", axes, " axes; ", min_dim, " to ",
          max_dim, " are needed");
  std::vector<hsize_t> dims(axes);
  H5T_class_t type = H5T_NO_CLASS;
  size_t size = 0;
  Require(H5LTget_dataset_info(file_id, dataset_name_, dims.data(), &type, &size) >= 0, where,
          ": cannot be read");
  Require((type == H5T_FLOAT || type == H5T_INTEGER) && size <= kMaxNumber, where,
          " holds no numbers (integers or floating point)");
  CheckStorage(file_id, dataset_name_, where);
  std::vector<int> shape;
  limits::Check(limits::kBlobBytes, ArraySize(sizeof(Dtype), dims.data(), axes), where);
  for (const hsize_t extent : dims) {
    Require(extent <= INT_MAX, where, ": an axis of ", extent, " elements is too long");
    shape.push_back(static_cast<int>(extent));
  }
  if (reshape) return blob->Reshape(shape);
  Require(shape == blob->shape(), "Cannot load blob from hdf5; shape mismatch. ", where,
          ": source shape is ", ShapeString(shape), " target shape is ", blob->shape_string());
}

template <typename Dtype>
void hdf5_load_nd_dataset(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                          Blob<Dtype>* blob, bool reshape) {
  hdf5_load_nd_dataset_helper(file_id, dataset_name_, min_dim, max_dim, blob, reshape);
  const Silence silence;
  Require(Read(file_id, dataset_name_, blob->template overwrite_cpu_data_as<Dtype>()) >= 0,
          Where(file_id, dataset_name_), ": cannot be read; the file may be damaged");
}

template <typename Dtype>
void hdf5_save_nd_dataset(const hid_t file_id, const std::string& dataset_name,
                          const Blob<Dtype>& blob, bool write_diff) {
  const std::vector<hsize_t> dims(blob.shape().begin(), blob.shape().end());
  const Dtype* values = write_diff ? blob.cpu_diff() : blob.template cpu_data_as<Dtype>();
  const Silence silence;
  Require(Make(file_id, dataset_name, dims, NativeType<Dtype>(), values) >= 0,
          Where(file_id, dataset_name), ": cannot be written");
}

namespace {

/// Makes a dataset without rows that can grow, in chunks of about a megabyte.
herr_t MakeGrowing(hid_t file, const std::string& name, std::vector<hsize_t> dims, hid_t type) {
  hsize_t row_bytes = H5Tget_size(type);
  for (size_t i = 1; i < dims.size(); ++i) row_bytes *= std::max<hsize_t>(dims[i], 1);
  std::vector<hsize_t> chunk = dims, most = dims;
  for (hsize_t& extent : chunk) extent = std::max<hsize_t>(extent, 1);
  chunk[0] = std::max<hsize_t>((1 << 20) / row_bytes, 1);
  most[0] = H5S_UNLIMITED;
  dims[0] = 0;
  const Object space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.data()),
                     H5Sclose);
  const Object properties(DatasetProperties(), H5Pclose);
  if (H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) < 0) return -1;
  const Object dataset(
      H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose);
  return dataset < 0 ? -1 : 0;
}

herr_t Append(hid_t file, const std::string& name, const std::vector<hsize_t>& dims, hid_t type,
              const void* values) {
  const Object dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (dataset < 0) return -1;
  std::vector<hsize_t> extents(dims.size()), start(dims.size(), 0);
  {
    const Object space(H5Dget_space(dataset), H5Sclose);
    if (H5Sget_simple_extent_ndims(space) != static_cast<int>(dims.size())) return -1;
    H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  }
  if (!std::equal(dims.begin() + 1, dims.end(), extents.begin() + 1)) return -1;
  start[0] = extents[0];
  extents[0] += dims[0];
  if (H5Dset_extent(dataset, extents.data()) < 0) return -1;
  const Object space(H5Dget_space(dataset), H5Sclose);
  const Object rows(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                    H5Sclose);
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, dims.data(), nullptr) < 0) {
    return -1;
  }
  return H5Dwrite(dataset, type, rows, space, H5P_DEFAULT, values);
}

}  // namespace

template <typename Dtype>
void hdf5_append_nd_dataset(const hid_t file_id, const std::string& dataset_name,
                            const Blob<Dtype>& blob) {
  const Silence silence;
  const std::vector<hsize_t> dims(blob.shape().begin(), blob.shape().end());
  const std::string where = Where(file_id, dataset_name);
  Require(!dims.empty(), where, ": a blob without axes has no rows");
  const hid_t type = NativeType<Dtype>();
  const bool exists = H5LTfind_dataset(file_id, dataset_name.c_str()) > 0;
  const bool made = exists || MakeGrowing(file_id, dataset_name, dims, type) >= 0;
  Require(made && Append(file_id, dataset_name, dims, type, blob.cpu_data()) >= 0, where,
          ": rows of shape ", blob.shape_string(),
          " cannot be added: is the disk full, or are the rows before of another shape?");
}

template void hdf5_append_nd_dataset(const hid_t, const std::string&, const Blob<float>&);
template void hdf5_append_nd_dataset(const hid_t, const std::string&, const Blob<double>&);
template void hdf5_load_nd_dataset_helper(hid_t, const char*, int, int, Blob<float>*, bool);
template void hdf5_load_nd_dataset_helper(hid_t, const char*, int, int, Blob<double>*, bool);
template void hdf5_load_nd_dataset(hid_t, const char*, int, int, Blob<float>*, bool);
template void hdf5_load_nd_dataset(hid_t, const char*, int, int, Blob<double>*, bool);
template void hdf5_save_nd_dataset(const hid_t, const std::string&, const Blob<float>&, bool);
template void hdf5_save_nd_dataset(const hid_t, const std::string&, const Blob<double>&, bool);

namespace {

/// What a dataset of a few values is like.
struct DatasetInfo {
  H5T_class_t type = H5T_NO_CLASS;
  size_t element_size = 0;
  int axes = 0;
  uint64_t count = 0;
};

/// Nothing for a dataset that is missing or cannot be read.
std::optional<DatasetInfo> InfoOf(hid_t id, const char* name) {
  DatasetInfo info;
  hsize_t extents[H5S_MAX_RANK] = {};
  if (H5LTfind_dataset(id, name) <= 0 || H5LTget_dataset_ndims(id, name, &info.axes) < 0 ||
      H5LTget_dataset_info(id, name, extents, &info.type, &info.element_size) < 0) {
    return std::nullopt;
  }
  info.count = ArraySize(1, extents, info.axes);
  return info;
}

}  // namespace

int hdf5_load_int(hid_t loc_id, const std::string& dataset_name) {
  const Silence silence;
  const char* name = dataset_name.c_str();
  const std::string where = Where(loc_id, dataset_name);
  int value = 0;
  CheckStorage(loc_id, name, where);
  const std::optional<DatasetInfo> info = InfoOf(loc_id, name);
  // HDF5 writes as many as there are.
  Require(info && info->type == H5T_INTEGER && info->count == 1 &&
              info->element_size <= kMaxNumber && H5LTread_dataset_int(loc_id, name, &value) >= 0,
          where, " is missing, or no integer");
  return value;
}

void hdf5_save_int(hid_t loc_id, const std::string& dataset_name, int i) {
  const Silence silence;
  Require(Make(loc_id, dataset_name, {1}, H5T_NATIVE_INT, &i) >= 0, Where(loc_id, dataset_name),
          ": cannot be written");
}

std::string hdf5_load_string(hid_t loc_id, const std::string& dataset_name) {
  const Silence silence;
  const char* name = dataset_name.c_str();
  const std::string where = Where(loc_id, dataset_name);
  const std::optional<DatasetInfo> info = InfoOf(loc_id, name);
  Require(info.has_value(), where, " is missing");
  CheckStorage(loc_id, name, where);
  limits::Check(limits::kReadBytes, limits::Product({info->element_size, info->count}), where);
  if (info->type == H5T_STRING) {
    // HDF5 writes as many strings as there are; of one without a fixed length, a pointer.
    const Object dataset(H5Dopen2(loc_id, name, H5P_DEFAULT), H5Dclose);
    const Object type(H5Dget_type(dataset), H5Tclose);
    Require(info->count == 1 && H5Tis_variable_str(type) == 0, where,
            " is not one string of fixed length");
    std::vector<char> text(info->element_size + 1);
    Require(H5LTread_dataset_string(loc_id, name, text.data()) >= 0, where, ": cannot be read");
    return std::string(text.data());
  }
  Require(info->type == H5T_INTEGER && info->axes == 1 && info->element_size <= kMaxNumber, where,
          " is not a string");
  std::string bytes(info->count, '\0');
  Require(H5LTread_dataset(loc_id, name, H5T_NATIVE_UCHAR, &bytes[0]) >= 0, where,
          ": cannot be read");
  return bytes;
}

void hdf5_save_string(hid_t loc_id, const std::string& dataset_name, const std::string& s) {
  const Silence silence;
  const bool is_text = s.find('\0') == std::string::npos;
  const herr_t status = is_text
                            ? MakeText(loc_id, dataset_name, s)
                            : Make(loc_id, dataset_name, {s.size()}, H5T_NATIVE_UCHAR, s.data());
  Require(status >= 0, Where(loc_id, dataset_name), ": cannot be written");
}

int hdf5_get_num_links(hid_t loc_id) {
  const Silence silence;
  H5G_info_t info;
  Require(H5Gget_info(loc_id, &info) >= 0, FileOf(loc_id), ": a group cannot be read");
  return static_cast<int>(info.nlinks);
}

std::string hdf5_get_name_by_idx(hid_t loc_id, int idx) {
  const Silence silence;
  const ssize_t size =
      H5Lget_name_by_idx(loc_id, ".", H5_INDEX_NAME, H5_ITER_NATIVE, idx, nullptr, 0, H5P_DEFAULT);
  Require(size >= 0, FileOf(loc_id), ": a group has no member number ", idx);
  std::vector<char> name(size + 1);
  Require(H5Lget_name_by_idx(loc_id, ".", H5_INDEX_NAME, H5_ITER_NATIVE, idx, name.data(), size + 1,
                             H5P_DEFAULT) >= 0,
          FileOf(loc_id), ": the name of member number ", idx, " of a group cannot be read");
  return std::string(name.data());
}

bool hdf5_has_group(hid_t loc_id, const std::string& name) {
  const Silence silence;
  if (H5Lexists(loc_id, name.c_str(), H5P_DEFAULT) <= 0) return false;
  const hid_t object = H5Oopen(loc_id, name.c_str(), H5P_DEFAULT);
  if (object < 0) return false;
  const bool is_group = H5Iget_type(object) == H5I_GROUP;
  H5Oclose(object);
  return is_group;
}

Hdf5Handle::Hdf5Handle(hid_t id, Kind kind, std::string name)
    : id_(id), kind_(kind), name_(std::move(name)) {}

Hdf5Handle::Hdf5Handle(Hdf5Handle&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      kind_(other.kind_),
      name_(std::move(other.name_)),
      staged_(other.staged_) {}

Hdf5Handle::~Hdf5Handle() {
  if (id_ < 0) return;
  const Silence silence;
  kind_ == Kind::FILE ? H5Fclose(id_) : H5Gclose(id_);
}

void Hdf5Handle::Close() {
  const Silence silence;
  const hid_t id = std::exchange(id_, -1);
  const herr_t status = kind_ == Kind::FILE ? H5Fclose(id) : H5Gclose(id);
  Require(status >= 0, Error::File{name_}, ": cannot be written completely; is the disk full?");
}

namespace {

/// Throws Error where the data of a local heap, which holds a group's names, reach beyond the file:
/// libhdf5 1.10 takes as much memory as they say, or reads at no address. (HDF5 File Format
/// Specification 3.0, II.A and III.D.) Data look like a heap by chance only where they have its
/// signature with four zero bytes, three of which libhdf5 does not read, or a length that is
/// likely; names of groups, which are within the data of heaps, may be "HEAP".
void CheckLocalHeaps(const std::string& file) {
  const MappedFile bytes(file);
  const uint8_t* const data = bytes.data();
  const size_t size = bytes.size();
  constexpr size_t kSuperblock = 16, kHeap = 8;  // up to the numbers of both
  constexpr uint64_t kLikelyLength = uint64_t(1) << 40;
  if (size < kSuperblock || std::memcmp(data, "\x89HDF\r\n\x1a\n", 8) != 0) return;
  const bool is_old = data[8] < 2;
  const size_t offsets = data[is_old ? 13 : 9], lengths = data[is_old ? 14 : 10];
  if (offsets > 8 || lengths > 8) return;
  std::vector<std::pair<uint64_t, uint64_t>> names;  // where those of sound heaps begin and end
  std::vector<uint64_t> beyond;                      // heaps whose names are outside of the file
  const uint8_t *at = data, *const end = data + size;
  while (const void* const found = memmem(at, end - at, "HEAP\0", 5)) {
    const uint8_t* const heap = static_cast<const uint8_t*>(found);
    at = heap + 5;
    if (size_t(end - heap) < kHeap + 2 * lengths + offsets) break;
    const uint64_t length = LittleEndian(heap + kHeap, lengths);
    const uint64_t place = LittleEndian(heap + kHeap + 2 * lengths, offsets);
    const bool likely = lengths == 8 && length < kLikelyLength;
    if (std::memcmp(at, "\0\0\0", 3) != 0 && !likely) continue;
    if (place <= size && length <= size - place) {
      names.emplace_back(place, place + length);
    } else {
      beyond.push_back(heap - data);
    }
  }
  for (const uint64_t heap : beyond) {
    const bool is_name = std::any_of(names.begin(), names.end(), [&](const auto& range) {
      return range.first <= heap && heap < range.second;
    });
    Require(is_name, Error::File{file}, ": is damaged: the names of a group lie outside of it");
  }
}

}  // namespace

Hdf5Handle Hdf5Handle::OpenFile(const std::string& file) {
  const Silence silence;
  const bool readable = access(file.c_str(), R_OK) == 0;
  Require(readable, Error::File{file}, ": ", std::strerror(errno));
  std::error_code unknown;
  const bool has_bytes = std::filesystem::is_regular_file(file, unknown) &&
                         std::filesystem::file_size(file, unknown) > 0;
  if (has_bytes) CheckLocalHeaps(file);
  std::string name = file;  // before there is something to close
  Hdf5Handle opened(OpenHdf5ToRead(file.c_str()), Kind::FILE, std::move(name));
  Require(opened.id() >= 0, Error::File{file},
          ": cannot be opened as an HDF5 file: it is of another kind, or damaged");
  return opened;
}

Hdf5Handle Hdf5Handle::CreateFile(const std::string& file) {
  const Silence silence;
  errno = 0;
  const hid_t id = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  Require(id >= 0, Error::File{file}, ": cannot be created", errno ? ": " : "",
          errno ? std::strerror(errno) : "");
  return Hdf5Handle(id, Kind::FILE, file);
}

Hdf5Handle Hdf5Handle::CreateStaged(const std::string& file) {
  auto target = std::make_unique<StagedFile>(file);
  StagedFile* const staged = target.get();
  const Silence silence;
  const hid_t id = CreateStagedHdf5(file.c_str(), std::move(target));
  Require(id >= 0, Error::File{file}, ": cannot be created");
  Hdf5Handle handle(id, Kind::FILE, file);
  handle.staged_ = staged;
  handle.Commit();
  return handle;
}

void Hdf5Handle::Commit() {
  const Silence silence;
  Require(H5Fflush(id_, H5F_SCOPE_LOCAL) >= 0, Error::File{name_}, ": cannot be put together");
  staged_->Commit();
}

Hdf5Handle Hdf5Handle::CreateInMemory(const std::string& name) {
  const Silence silence;
  constexpr size_t kIncrement = 1 << 20;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, kIncrement, /*backing_store=*/false);
  const hid_t id = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  Require(id >= 0, Error::File{name}, ": cannot be put together in memory");
  return Hdf5Handle(id, Kind::FILE, name);
}

Hdf5Handle Hdf5Handle::OpenGroup(hid_t parent, const std::string& name) {
  const Silence silence;
  std::string kept = name;
  Hdf5Handle group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), Kind::GROUP, std::move(kept));
  Require(group.id() >= 0, FileOf(parent), ": there is no group '", name, "'");
  Require(FileOf(group.id()) == FileOf(parent), FileOf(parent), ": the group '", name,
          "' is in another file, which is not allowed");
  return group;
}

Hdf5Handle Hdf5Handle::CreateGroup(hid_t parent, const std::string& name) {
  const Silence silence;
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  const hid_t id = H5Gcreate2(parent, name.c_str(), links, H5P_DEFAULT, H5P_DEFAULT);
  H5Pclose(links);
  Require(id >= 0, FileOf(parent), ": group '", name, "' cannot be created");
  return Hdf5Handle(id, Kind::GROUP, name);
}

// The file is put together in memory: HDF5 cannot be told to give up a file that it fails to write
// and brings the process down when it ends.
void WriteHdf5File(const std::string& file, const std::function<void(const Hdf5Handle&)>& write) {
  std::vector<char> image;
  {
    Hdf5Handle handle = Hdf5Handle::CreateInMemory(file);
    write(handle);
    const Silence silence;
    Require(H5Fflush(handle.id(), H5F_SCOPE_GLOBAL) >= 0, Error::File{file},
            ": cannot be put together");
    const ssize_t size = H5Fget_file_image(handle.id(), nullptr, 0);
    Require(size > 0, Error::File{file}, ": cannot be put together");
    image.resize(size);
    Require(H5Fget_file_image(handle.id(), image.data(), image.size()) == size, Error::File{file},
            ": cannot be put together");
    handle.Close();
  }
  AtomicFile target(file);
  target.Write(image.data(), image.size());
  target.Commit();
}

}  // namespace caffe

#endif  // USE_HDF5
