// A file driver of HDF5: what HDF5 calls to read.
#ifdef USE_HDF5

#include "caffe/io/hdf5_read_driver.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <tuple>

#include "caffe/io/hdf5_driver.hpp"

namespace caffe {
namespace {

struct OpenedToRead {
  Hdf5DriverFile common;
  int descriptor;
  struct stat status;
};

OpenedToRead* FileToRead(H5FD_t* file) { return reinterpret_cast<OpenedToRead*>(file); }
const OpenedToRead* FileToRead(const H5FD_t* file) {
  return reinterpret_cast<const OpenedToRead*>(file);
}

H5FD_t* OpenToRead(const char* name, unsigned flags, hid_t, haddr_t) {
  if (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) return nullptr;
  OpenedToRead* const file = new (std::nothrow) OpenedToRead();
  if (!file) return nullptr;
  file->descriptor = open(name, O_RDONLY | O_CLOEXEC);
  if (file->descriptor >= 0 && fstat(file->descriptor, &file->status) == 0)
    return &file->common.base;
  if (file->descriptor >= 0) close(file->descriptor);
  delete file;
  return nullptr;
}

herr_t CloseRead(H5FD_t* file) {
  close(FileToRead(file)->descriptor);
  delete FileToRead(file);
  return 0;
}

int CompareFiles(const H5FD_t* a, const H5FD_t* b) {
  const auto identity = [](const H5FD_t* file) {
    const struct stat& status = FileToRead(file)->status;
    return std::make_tuple(status.st_dev, status.st_ino);
  };
  return identity(a) < identity(b) ? -1 : identity(b) < identity(a);
}

herr_t QueryRead(const H5FD_t*, unsigned long* flags) {  // NOLINT: HDF5's type
  if (flags) *flags = H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t ReadEndOfFile(const H5FD_t* file, H5FD_mem_t) { return FileToRead(file)->status.st_size; }

// What HDF5 expects behind the end of the file is 0.
herr_t ReadAt(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* bytes) {
  constexpr haddr_t kMost = INT64_MAX;
  if (address > kMost || size > kMost - address) return -1;
  char* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = pread(FileToRead(file)->descriptor, to, std::min<size_t>(size, 1 << 30),
                                static_cast<off_t>(address));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) {
      std::memset(to, 0, size);
      return 0;
    }
    to += count;
    address += count;
    size -= count;
  }
  return 0;
}

herr_t WriteNothing(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

// Systems without locks have nothing to wait for.
herr_t Lock(int descriptor, int how) {
  return flock(descriptor, how | LOCK_NB) == 0 || errno == ENOSYS || errno == ENOTSUP ? 0 : -1;
}
herr_t LockToRead(H5FD_t* file, hbool_t) { return Lock(FileToRead(file)->descriptor, LOCK_SH); }
herr_t Unlock(H5FD_t* file) { return Lock(FileToRead(file)->descriptor, LOCK_UN); }

H5FD_class_t MakeReadDriver() {
  H5FD_class_t driver = Hdf5Driver("read", 601);
  driver.open = OpenToRead;
  driver.close = CloseRead;
  driver.cmp = CompareFiles;
  driver.query = QueryRead;
  driver.get_eof = ReadEndOfFile;
  driver.read = ReadAt;
  driver.write = WriteNothing;
  driver.lock = LockToRead;
  driver.unlock = Unlock;
  return driver;
}

}  // namespace

hid_t OpenHdf5ToRead(const char* name) {
  static const H5FD_class_t driver = MakeReadDriver();
  return OpenByHdf5Driver(driver, nullptr,
                          [name](hid_t access) { return H5Fopen(name, H5F_ACC_RDONLY, access); });
}

}  // namespace caffe

#endif  // USE_HDF5
