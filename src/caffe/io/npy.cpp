#include "caffe/io/npy.hpp"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"
#include "caffe/float16.hpp"
#include "caffe/io/little_endian.hpp"

namespace caffe {
namespace {

constexpr size_t kMaxHeader = 1 << 20;  // bytes; NumPy's own are below 1000

/// The value of 'key' in the header, a Python dictionary.
std::string Entry(const std::string& header, const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) return "";
  const size_t colon = header.find(':', at);
  if (colon == std::string::npos) return "";
  const size_t begin = header.find_first_not_of(' ', colon + 1);
  return begin == std::string::npos ? "" : header.substr(begin);
}

template <typename Number>
Number Widened(Number x) {
  return x;
}
float Widened(float16 x) { return static_cast<float>(x); }

template <typename From, typename T>
void ConvertAll(const std::string& bytes, size_t count, T* values) {
  for (size_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, bytes.data() + i * sizeof(From), sizeof(From));
    values[i] = static_cast<T>(Widened(element));
  }
}

}  // namespace

NpyFile::NpyFile(const std::string& name) : name_(name) {
  std::error_code error;
  const uintmax_t file_size = std::filesystem::file_size(name, error);
  stream_.open(name, std::ios::binary);
  Require(!error && stream_.good(), Error::File{name}, ": cannot be read");
  const auto read = [&](size_t size) {
    std::string bytes(size, '\0');
    stream_.read(bytes.data(), static_cast<std::streamsize>(size));
    Require(stream_.good(), Error::File{name}, ": no .npy file, or cut off");
    return bytes;
  };
  const std::string magic = read(8);
  Require(magic.compare(0, 6, "\x93NUMPY") == 0, Error::File{name}, ": no .npy file");
  const int version = magic[6];
  Require(version >= 1 && version <= 3, Error::File{name}, ": version ", version,
          " of the .npy format is not known");
  const size_t length_size = version == 1 ? 2 : 4;
  const size_t header_size = LittleEndian(read(length_size).data(), length_size);
  Require(header_size <= kMaxHeader, Error::File{name}, ": the header is damaged");
  ParseHeader(read(header_size));
  data_ = 8 + length_size + header_size;
  Require(file_size == data_ + count_ * size_, Error::File{name}, ": the file has ", file_size,
          " bytes, with these elements it would have ", data_ + count_ * size_);
}

void NpyFile::ParseHeader(const std::string& header) {
  Require(Entry(header, "fortran_order").rfind("False", 0) == 0, Error::File{name_},
          ": the array is not in C order; numpy.ascontiguousarray makes it so");
  const std::string type = Entry(header, "descr");
  const bool known = type.size() > 4 && (type[1] == '<' || type[1] == '|') && type[4] == '\'';
  kind_ = known ? type[2] : 0;
  size_ = known ? type[3] - '0' : 0;
  const bool number = kind_ == 'f' ? size_ == 2 || size_ == 4 || size_ == 8
                      : (kind_ == 'i' || kind_ == 'u')
                          ? size_ == 1 || size_ == 2 || size_ == 4 || size_ == 8
                          : kind_ == 'b' && size_ == 1;
  Require(number, Error::File{name_}, ": elements of type ", type.substr(0, type.find(',')),
          " are not read; numpy.float32 is");
  const std::string shape = Entry(header, "shape");
  const size_t close = shape.find(')');
  Require(!shape.empty() && shape[0] == '(' && close != std::string::npos, Error::File{name_},
          ": the header has no shape");
  const char* next = shape.data() + 1;
  const char* const end = shape.data() + close;
  while (true) {
    while (next < end && (*next == ' ' || *next == ',')) ++next;
    if (next == end) break;
    int extent = 0;
    const auto result = std::from_chars(next, end, extent);
    Require(result.ec == std::errc() && extent >= 0, Error::File{name_}, ": the shape ",
            shape.substr(0, close + 1), " is damaged or too large");
    next = result.ptr;
    Require(extent == 0 || count_ <= std::numeric_limits<size_t>::max() / 16 / size_t(extent),
            Error::File{name_}, ": the shape ", shape.substr(0, close + 1), " is too large");
    shape_.push_back(extent);
    count_ *= size_t(extent);
  }
}

template <typename T>
void NpyFile::ReadAs(size_t first, size_t count, T* values) const {
  Require(first <= count_ && count <= count_ - first, Error::File{name_}, ": there are no ", count,
          " elements from number ", first, " on, of ", count_);
  std::string bytes(count * size_, '\0');
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(data_ + first * size_));
  stream_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  Require(stream_.good(), Error::File{name_}, ": cannot be read to its end");
  if (kind_ == 'f') {
    if (size_ == 2) return ConvertAll<float16>(bytes, count, values);
    return size_ == 4 ? ConvertAll<float>(bytes, count, values)
                      : ConvertAll<double>(bytes, count, values);
  }
  if (kind_ == 'i') {
    if (size_ == 1) return ConvertAll<int8_t>(bytes, count, values);
    if (size_ == 2) return ConvertAll<int16_t>(bytes, count, values);
    return size_ == 4 ? ConvertAll<int32_t>(bytes, count, values)
                      : ConvertAll<int64_t>(bytes, count, values);
  }
  if (size_ == 1) return ConvertAll<uint8_t>(bytes, count, values);
  if (size_ == 2) return ConvertAll<uint16_t>(bytes, count, values);
  return size_ == 4 ? ConvertAll<uint32_t>(bytes, count, values)
                    : ConvertAll<uint64_t>(bytes, count, values);
}

void NpyFile::Read(size_t first, size_t count, float* values) const {
  ReadAs(first, count, values);
}
void NpyFile::Read(size_t first, size_t count, double* values) const {
  ReadAs(first, count, values);
}

NpyArray ReadNpy(const std::string& file) {
  const NpyFile npy(file);
  limits::Check(limits::kBlobBytes, limits::Product({npy.count(), sizeof(float)}),
                Error::File{file}, ": the array");
  NpyArray array;
  array.shape = npy.shape();
  array.values.resize(npy.count());
  npy.Read(0, npy.count(), array.values.data());
  return array;
}

}  // namespace caffe
