#ifndef CAFFE_LIMITS_HPP_
#define CAFFE_LIMITS_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace caffe {

/// What nets and files may ask for. Whatever asks for more is refused with an Error before memory
/// is taken. The defaults are above what trained nets and their data ask for; a program that reads
/// files of strangers lowers them (SECURITY.md):
///
///     Caffe::set_limits(Limits::Untrusted());
///
/// They hold for the process, from there on, for all threads.
struct Limits {
  uint64_t blob_bytes = uint64_t(16) << 30;  ///< of a blob, in its net's Dtype; of any one array
  /// Bytes of all blobs that a net sets up, parameters and those of layers included, as if none
  /// shared or gave back memory; with their gradients in the TRAIN phase. An engine's context has
  /// the same limit.
  uint64_t net_bytes = uint64_t(1) << 40;
  uint64_t layers = 100000;  ///< of a net, or of a plan's graph
  uint64_t axes = 32;        ///< of a blob; more than 32 are never possible
  uint64_t nesting = 100;    ///< of messages in prototxt and binary files, of groups in HDF5 files
  uint64_t read_bytes = uint64_t(4) << 30;    ///< of a text file, and of what is read from a pipe
  uint64_t record_bytes = uint64_t(1) << 30;  ///< of a record of a database, or an encoded image
  /// Pixels of an image before and after it is decoded, resized or framed. OpenCV has a limit of
  /// its own, 2^30 (OPENCV_IO_MAX_IMAGE_PIXELS in the environment).
  uint64_t image_pixels = uint64_t(1) << 28;
  bool python_layers = true;  ///< layers may run the Python modules that nets name
  bool layer_files = true;    ///< layers may read and write the files that nets name

  /// For files of strangers: 1 GiB a blob, 4 GiB a net, 2000 layers, 64 MiB of text or a record,
  /// 2^26 pixels, no Python layers, no files of layers.
  static Limits Untrusted();

  /// These limits, changed by a list like "untrusted,blob_bytes=2GiB,python_layers=true". Sizes
  /// may end in KiB, MiB, GiB or TiB. Throws Error for an unknown name or a bad value.
  Limits With(const std::string& list) const;
};

/// A field of Limits, for help texts and other languages.
struct LimitField {
  std::string name;     ///< "blob_bytes"
  std::string meaning;  ///< "bytes of a blob"
  uint64_t Limits::*number = nullptr;
  bool Limits::*flag = nullptr;  ///< one of the two is set
};
const std::vector<LimitField>& LimitFields();

}  // namespace caffe

#endif  // CAFFE_LIMITS_HPP_
