// A file driver of HDF5: what HDF5 calls to read and write.
#ifdef USE_HDF5

#include "caffe/io/hdf5_staged_file.hpp"

#include <utility>

#include "caffe/io/hdf5_driver.hpp"

namespace caffe {
namespace {

struct OpenFile {
  Hdf5DriverFile common;
  std::unique_ptr<StagedFile> file;
};

OpenFile* Opened(H5FD_t* file) { return reinterpret_cast<OpenFile*>(file); }
const OpenFile* Opened(const H5FD_t* file) { return reinterpret_cast<const OpenFile*>(file); }

/// HDF5 hands over a copy of this with its properties.
struct Properties {
  std::unique_ptr<StagedFile>* file;
};

/// C cannot be thrown through.
template <typename Work>
herr_t Status(const Work& work) {
  try {
    work();
    return 0;
  } catch (...) {
    return -1;
  }
}

// HDF5 first tries to open a file that is there, which this one is not to it.
H5FD_t* Open(const char*, unsigned flags, hid_t properties, haddr_t) {
  const auto* given = static_cast<const Properties*>(H5Pget_driver_info(properties));
  if ((flags & H5F_ACC_CREAT) == 0 || given == nullptr || *given->file == nullptr) return nullptr;
  H5FD_t* opened = nullptr;
  Status([&] {
    auto file = std::make_unique<OpenFile>();
    file->file = std::move(*given->file);
    opened = &file.release()->common.base;
  });
  return opened;
}

herr_t CloseFile(H5FD_t* file) {
  delete Opened(file);
  return 0;
}

herr_t Query(const H5FD_t*, unsigned long* flags) {  // NOLINT: HDF5's type
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t EndOfFile(const H5FD_t* file, H5FD_mem_t) { return Opened(file)->file->size(); }

herr_t ReadBytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, size_t size, void* bytes) {
  return Status([&] { Opened(file)->file->Read(offset, bytes, size); });
}

herr_t WriteBytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, size_t size, const void* bytes) {
  return Status([&] { Opened(file)->file->Write(offset, bytes, size); });
}

herr_t Truncate(H5FD_t* file, hid_t, hbool_t) {
  Opened(file)->file->Resize(Opened(file)->common.end_of_addresses);
  return 0;
}

H5FD_class_t MakeDriver() {
  H5FD_class_t driver = Hdf5Driver("staged", 600);
  driver.fapl_size = sizeof(Properties);
  driver.open = Open;
  driver.close = CloseFile;
  driver.query = Query;
  driver.get_eof = EndOfFile;
  driver.read = ReadBytes;
  driver.write = WriteBytes;
  driver.truncate = Truncate;
  return driver;
}

const H5FD_class_t& Driver() {
  static const H5FD_class_t driver = MakeDriver();
  return driver;
}

}  // namespace

hid_t CreateStagedHdf5(const char* name, std::unique_ptr<StagedFile> file) {
  const Properties given = {&file};
  return OpenByHdf5Driver(Driver(), &given, [name](hid_t access) {
    return H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  });
}

}  // namespace caffe

#endif  // USE_HDF5
