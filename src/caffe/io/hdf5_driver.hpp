#ifndef CAFFE_IO_HDF5_DRIVER_HPP_
#define CAFFE_IO_HDF5_DRIVER_HPP_

#ifdef USE_HDF5

#include <functional>

#include "hdf5.h"
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

namespace caffe {

/// How what a file driver keeps for an open file begins; HDF5 knows the first member only.
struct Hdf5DriverFile {
  H5FD_t base;
  haddr_t end_of_addresses;
};

/// What all file drivers have in common: `value` is one that is registered for none (from 512 on).
H5FD_class_t Hdf5Driver(const char* name, int value);

/// Calls open(access), which returns a file or a negative number, with properties of access that
/// name the driver and, unless null, what it is handed; negative if that fails. The open file keeps
/// the driver.
hid_t OpenByHdf5Driver(const H5FD_class_t& driver, const void* handed,
                       const std::function<hid_t(hid_t access)>& open);

}  // namespace caffe

#endif  // USE_HDF5

#endif  // CAFFE_IO_HDF5_DRIVER_HPP_
