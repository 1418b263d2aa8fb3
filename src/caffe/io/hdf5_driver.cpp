#ifdef USE_HDF5

#include "caffe/io/hdf5_driver.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace caffe {
namespace {

haddr_t EndOfAddresses(const H5FD_t* file, H5FD_mem_t) {
  return reinterpret_cast<const Hdf5DriverFile*>(file)->end_of_addresses;
}

herr_t SetEndOfAddresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  reinterpret_cast<Hdf5DriverFile*>(file)->end_of_addresses = end;
  return 0;
}

}  // namespace

H5FD_class_t Hdf5Driver(const char* name, int value) {
  H5FD_class_t driver = {};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(value);
#else
  static_cast<void>(value);
#endif
  driver.name = name;
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.get_eoa = EndOfAddresses;
  driver.set_eoa = SetEndOfAddresses;
  // Free pieces of one kind of memory serve all kinds.
  std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_SUPER);
  return driver;
}

hid_t OpenByHdf5Driver(const H5FD_class_t& driver, const void* handed,
                       const std::function<hid_t(hid_t access)>& open) {
  const hid_t registered = H5FDregister(&driver);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  const bool set = registered >= 0 && access >= 0 && H5Pset_driver(access, registered, handed) >= 0;
  const hid_t id = set ? open(access) : -1;
  if (access >= 0) H5Pclose(access);
  if (registered >= 0) H5FDunregister(registered);
  return id;
}

}  // namespace caffe

#endif  // USE_HDF5
