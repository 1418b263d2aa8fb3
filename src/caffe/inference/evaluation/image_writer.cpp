// The files that drawn results are written to.
#ifdef USE_OPENCV

#include <unistd.h>

#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/inference/evaluation/result_drawing.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/util/text/letters.hpp"

namespace caffe::inference {
namespace {

namespace fs = std::filesystem;

bool IsImageName(const std::string& path) {
  const std::string extension = LowerCase(fs::path(path).extension().string());
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

bool AreSame(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

fs::path FolderOf(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

ImageWriter::ImageWriter(const std::string& out)
    : out_(out), is_file_(IsImageName(out) && !fs::is_directory(out)) {
  Require(!out.empty(), "the folder for drawn images has no name");
  if (is_file_) {
    AtomicFile probe(out);  // fails before the work, not after it
    return;
  }
  Require(!fs::exists(out) || fs::is_directory(out), out,
          ": this is neither a folder nor an image file (.png, .jpg)");
  std::error_code error;
  fs::create_directories(out, error);
  Require(!error, out, ": the folder cannot be made: ", error.message());
  Require(access(out.c_str(), W_OK) == 0, out, ": nothing can be written into this folder");
}

std::string ImageWriter::PathFor(const std::string& source) {
  if (is_file_) {
    Require(written_.empty(), out_,
            ": one file cannot take the drawings of several images; name a ", "folder");
    Require(!AreSame(source, out_), out_, ": this is the image itself; name another file");
    return out_;
  }
  Require(!AreSame(FolderOf(source), out_), out_, ": the image ", source,
          " lies in this folder; name another one for what is drawn");
  const std::string name = fs::path(source).stem().string();
  const auto path = [&](const std::string& number) {
    return (fs::path(out_) / (name + number + ".png")).string();
  };
  std::string free = path("");
  for (int i = 2; written_.count(free) > 0; ++i) free = path("_" + std::to_string(i));
  return free;
}

std::string ImageWriter::Write(const std::string& source, const cv::Mat& image) {
  const std::string path = PathFor(source);
  std::vector<uchar> bytes;
  const std::string extension = fs::path(path).extension().string();
  Require(cv::imencode(extension, image, bytes), Error::File{path}, ": this OpenCV writes no ",
          extension);
  AtomicFile file(path);
  file.Write(bytes.data(), bytes.size());
  file.Commit();
  written_.insert(path);
  return path;
}

}  // namespace caffe::inference

#endif  // USE_OPENCV
