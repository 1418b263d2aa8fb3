#ifndef CAFFE_IO_NPY_HPP_
#define CAFFE_IO_NPY_HPP_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace caffe {

/// An array in a NumPy .npy file, read piece by piece: little-endian float16, float32, float64 or
/// integers of 1 to 8 bytes, in C order; versions 1 to 3 of
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
class NpyFile {
 public:
  /// Throws Error if the file cannot be read or is no such array.
  explicit NpyFile(const std::string& name);

  const std::string& name() const { return name_; }
  const std::vector<int>& shape() const { return shape_; }
  size_t count() const { return count_; }

  /// Elements first to first + count - 1 in the order of the file. Throws Error if there are fewer.
  void Read(size_t first, size_t count, float* values) const;
  void Read(size_t first, size_t count, double* values) const;

 private:
  void ParseHeader(const std::string& header);
  template <typename T>
  void ReadAs(size_t first, size_t count, T* values) const;

  std::string name_;
  mutable std::ifstream stream_;
  size_t data_ = 0;  // where the elements begin, in bytes
  char kind_ = 0;    // 'f', 'i', 'u' or 'b', as NumPy writes it
  size_t size_ = 0;  // of an element, in bytes
  std::vector<int> shape_;
  size_t count_ = 1;
};

struct NpyArray {
  std::vector<int> shape;
  std::vector<double> values;
};

/// The whole array. Throws Error as NpyFile does.
NpyArray ReadNpy(const std::string& file);

}  // namespace caffe

#endif  // CAFFE_IO_NPY_HPP_
