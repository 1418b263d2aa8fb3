#ifndef CAFFE_IO_NPY_HPP_
#define CAFFE_IO_NPY_HPP_

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/error.hpp"

namespace caffe {

/// An array from a NumPy .npy file (format 1.0, little-endian float32 or float64, C order):
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
struct NpyArray {
  std::vector<int> shape;
  std::vector<double> values;
};

inline NpyArray ReadNpy(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  Require(stream.good(), file, ": cannot be read");
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  Require(bytes.size() > 10 && bytes.compare(0, 6, "\x93NUMPY") == 0, file, ": no .npy file");
  const size_t header_size =
      static_cast<uint8_t>(bytes[8]) + 256 * static_cast<size_t>(static_cast<uint8_t>(bytes[9]));
  const std::string header = bytes.substr(10, header_size);
  Require(header.find("'fortran_order': False") != std::string::npos, file, ": not in C order");
  const bool is_float = header.find("<f4") != std::string::npos;
  Require(is_float || header.find("<f8") != std::string::npos, file, ": not float32 or float64");

  NpyArray array;
  size_t count = 1;
  const size_t open = header.find('('), close = header.find(')');
  std::istringstream extents(header.substr(open + 1, close - open - 1));
  for (std::string extent; std::getline(extents, extent, ',');) {
    if (extent.find_first_of("0123456789") == std::string::npos) continue;
    array.shape.push_back(std::stoi(extent));
    count *= array.shape.back();
  }
  const size_t size = is_float ? sizeof(float) : sizeof(double);
  Require(bytes.size() == 10 + header_size + count * size, file, ": has another length");
  for (size_t i = 0; i < count; ++i) {
    const char* element = bytes.data() + 10 + header_size + i * size;
    double value = 0;
    float narrow = 0;
    if (is_float) {
      std::memcpy(&narrow, element, sizeof(narrow));
      value = narrow;
    } else {
      std::memcpy(&value, element, sizeof(value));
    }
    array.values.push_back(value);
  }
  return array;
}

}  // namespace caffe

#endif  // CAFFE_IO_NPY_HPP_
