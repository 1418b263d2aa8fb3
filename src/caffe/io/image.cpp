#include "caffe/util/image.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include "caffe/core/limits.hpp"
#include "caffe/io/image_size.hpp"
#include "caffe/io/mapped_file.hpp"

namespace caffe {

bool ReadFileToDatum(const string& filename, const int label, Datum* datum) {
  std::ifstream file(filename.c_str(), std::ios::in | std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) return false;
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(filename, unknown);
  if (unknown) return false;  // a device or a folder
  limits::Check(limits::kRecordBytes, size, Error::File{filename}, ": a record");
  datum->set_data(string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  datum->set_label(label);
  datum->set_encoded(true);
  return !file.bad();
}

#ifdef USE_OPENCV

namespace {

/// True if the file's name ends in `encoding`, jpg and jpeg being one.
bool HasEncoding(const string& filename, const string& encoding) {
  const auto lower = [](string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text == "jpeg" ? string("jpg") : text;
  };
  const size_t dot = filename.rfind('.');
  return !encoding.empty() && dot != string::npos &&
         lower(filename.substr(dot + 1)) == lower(encoding);
}

// OpenCV throws for some broken files (sizes that cannot be right) and returns nothing for others.
template <typename Function>
cv::Mat EmptyIfBroken(Function&& read) {
  try {
    return read();
  } catch (const cv::Exception&) {
    return cv::Mat();
  }
}

/// f(), whose errors begin with the file's name: callers need not add it.
template <typename Function>
void NotingFile(const string& filename, Function&& f) {
  try {
    f();
  } catch (Error& error) {
    error.Note(Error::File{filename});
    throw;
  }
}

/// For cv::imread and cv::imdecode. As in OpenCV 2.4 and pycaffe, pixels are not turned by EXIF's
/// orientation, so that boxes, label images and databases agree; IMREAD_UNCHANGED turns none
/// either.
int ReadingFlags(bool is_color) {
  return (is_color ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE) | cv::IMREAD_IGNORE_ORIENTATION;
}

/// cv::imread of a file that is not too large when decoded; empty if it is no image.
cv::Mat ReadFile(const string& filename, int flags) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(filename, unknown) ||
      std::filesystem::file_size(filename, unknown) == 0) {
    return cv::Mat();
  }
  {
    const MappedFile file(filename);
    NotingFile(filename, [&] { CheckEncodedImage(file.data(), file.size(), filename); });
    if (IsDamagedRadiance(file.data(), file.size())) return cv::Mat();
  }
  return EmptyIfBroken([&] { return cv::imread(filename, flags); });
}

/// True if the file is an image of 8 bits and this many channels, without conversion.
bool HoldsChannels(const string& filename, int channels) {
  const cv::Mat image = ReadFile(filename, cv::IMREAD_UNCHANGED);
  return !image.empty() && image.type() == CV_8UC(channels);
}

cv::Mat DecodeBytes(const Datum& datum, int flags) {
  Require(datum.encoded(), "the record is not encoded");
  const string& bytes = datum.data();
  Require(bytes.size() <= size_t(std::numeric_limits<int>::max()), "the record's ", bytes.size(),
          " bytes are too many for one image");
  const uint8_t* const data = reinterpret_cast<const uint8_t*>(bytes.data());
  CheckEncodedImage(data, bytes.size(), "the record");
  const cv::Mat image = EmptyIfBroken([&] {
    if (bytes.empty() || IsDamagedRadiance(data, bytes.size())) return cv::Mat();
    const cv::Mat row(1, static_cast<int>(bytes.size()), CV_8U, const_cast<char*>(bytes.data()));
    return cv::imdecode(row, flags);
  });
  Require(!image.empty(), "the record's ", bytes.size(),
          " bytes are not an image that can be decoded");
  return image;
}

}  // namespace

cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width,
                         const bool is_color) {
  const cv::Mat original = ReadFile(filename, ReadingFlags(is_color));
  if (original.empty()) {
    LOG(ERROR) << "Could not open or find file " << filename;
    return original;
  }
  if (height <= 0 || width <= 0) return original;
  NotingFile(filename, [&] { limits::CheckImage(height, width, filename); });
  cv::Mat resized;
  cv::resize(original, resized, cv::Size(width, height));
  return resized;
}

cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width) {
  return ReadImageToCVMat(filename, height, width, true);
}
cv::Mat ReadImageToCVMat(const string& filename, const bool is_color) {
  return ReadImageToCVMat(filename, 0, 0, is_color);
}
cv::Mat ReadImageToCVMat(const string& filename) { return ReadImageToCVMat(filename, 0, 0, true); }

bool ReadImageToDatum(const string& filename, const int label, const int height, const int width,
                      const bool is_color, const string& encoding, Datum* datum) {
  const bool resize = height > 0 && width > 0;
  if (!resize && HasEncoding(filename, encoding) && HoldsChannels(filename, is_color ? 3 : 1)) {
    return ReadFileToDatum(filename, label, datum);
  }
  const cv::Mat image = ReadImageToCVMat(filename, height, width, is_color);
  if (image.empty()) return false;
  if (encoding.empty()) {
    CVMatToDatum(image, datum);
    datum->set_label(label);
    return true;
  }
  std::vector<uint8_t> bytes;
  try {
    cv::imencode("." + encoding, image, bytes);
  } catch (const cv::Exception&) {
    Fail("images cannot be written as '", encoding, "'",
         Error::Remedy{"give an extension like jpg or png"});
  }
  datum->clear_float_data();
  datum->set_data(string(bytes.begin(), bytes.end()));
  datum->set_label(label);
  datum->set_encoded(true);
  return true;
}

cv::Mat DecodeDatumToCVMatNative(const Datum& datum) {
  return DecodeBytes(datum, cv::IMREAD_UNCHANGED);
}

cv::Mat DecodeDatumToCVMat(const Datum& datum, bool is_color) {
  return DecodeBytes(datum, ReadingFlags(is_color));
}

bool DecodeDatumNative(Datum* datum) {
  if (!datum->encoded()) return false;
  CVMatToDatum(DecodeDatumToCVMatNative(*datum), datum);
  return true;
}

bool DecodeDatum(Datum* datum, bool is_color) {
  if (!datum->encoded()) return false;
  CVMatToDatum(DecodeDatumToCVMat(*datum, is_color), datum);
  return true;
}

void CVMatToDatum(const cv::Mat& image, Datum* datum) {
  Require(image.depth() == CV_8U && image.dims == 2, "images have 8 bits per channel");
  const int channels = image.channels();
  datum->set_channels(channels);
  datum->set_height(image.rows);
  datum->set_width(image.cols);
  datum->clear_data();
  datum->clear_float_data();
  datum->set_encoded(false);
  string bytes(size_t(channels) * image.rows * image.cols, '\0');
  char* out = &bytes[0];
  for (int c = 0; c < channels; ++c) {
    for (int h = 0; h < image.rows; ++h) {
      const uint8_t* row = image.ptr<uint8_t>(h) + c;
      for (int w = 0; w < image.cols; ++w) *out++ = static_cast<char>(row[w * channels]);
    }
  }
  datum->set_data(std::move(bytes));
}

#endif  // USE_OPENCV

}  // namespace caffe
