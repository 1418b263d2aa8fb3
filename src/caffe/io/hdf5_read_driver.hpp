#ifndef CAFFE_IO_HDF5_READ_DRIVER_HPP_
#define CAFFE_IO_HDF5_READ_DRIVER_HPP_

#ifdef USE_HDF5

#include "hdf5.h"

namespace caffe {

/// Opens an HDF5 file for reading, with a shared lock as HDF5's own driver; negative if that fails.
/// Each piece is read from the file itself: the buffer in which libhdf5 1.10 joins small ones gives
/// bytes at no address where a damaged file asks for those of an undefined one.
hid_t OpenHdf5ToRead(const char* name);

}  // namespace caffe

#endif  // USE_HDF5

#endif  // CAFFE_IO_HDF5_READ_DRIVER_HPP_
