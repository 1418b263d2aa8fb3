#ifndef CAFFE_IO_HDF5_STAGED_FILE_HPP_
#define CAFFE_IO_HDF5_STAGED_FILE_HPP_

#ifdef USE_HDF5

#include <memory>

#include "caffe/io/staged_file.hpp"
#include "hdf5.h"

namespace caffe {

/// Creates an HDF5 file in `file`, which lives until HDF5 has closed it; negative if that fails.
/// HDF5 itself then meets no error of the disk: it neither knows what to do about one nor ends
/// without a crash afterwards.
hid_t CreateStagedHdf5(const char* name, std::unique_ptr<StagedFile> file);

}  // namespace caffe

#endif  // USE_HDF5

#endif  // CAFFE_IO_HDF5_STAGED_FILE_HPP_
