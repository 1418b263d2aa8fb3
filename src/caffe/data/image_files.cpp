#include "caffe/data/image_files.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>

#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/error.hpp"
#include "caffe/util/text/letters.hpp"
#include "caffe/util/text/listed.hpp"

namespace caffe {
namespace {

bool HasImageExtension(const std::filesystem::path& path) {
  static const std::set<std::string> known = {".jpg", ".jpeg", ".jpe", ".png", ".bmp",  ".dib",
                                              ".ppm", ".pgm",  ".pbm", ".tif", ".tiff", ".webp"};
  return known.count(LowerCase(path.extension().string())) > 0;
}

std::vector<std::string> InFolder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  std::set<fs::path> seen = {fs::canonical(folder, error)};  // links may lead back
  fs::recursive_directory_iterator entries(folder,
                                           fs::directory_options::follow_directory_symlink |
                                               fs::directory_options::skip_permission_denied,
                                           error);
  for (; !error && entries != fs::end(entries); entries.increment(error)) {
    std::error_code gone;
    if (entries->is_directory(gone)) {
      if (!seen.insert(fs::canonical(entries->path(), gone)).second) {
        entries.disable_recursion_pending();
      }
      continue;
    }
    if (entries->is_regular_file(gone) && HasImageExtension(entries->path())) {
      files.push_back(entries->path().string());
    }
  }
  Require(!error, folder, ": ", error.message());
  return files;
}

std::vector<std::string> Fitting(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      if (!std::filesystem::is_directory(found.gl_pathv[i])) files.push_back(found.gl_pathv[i]);
    }
  }
  globfree(&found);
  return files;
}

/// Looks at the first bytes only.
void RequireDecodable(const std::vector<std::string>& files) {
#ifdef USE_OPENCV
  std::vector<std::string> others;
  for (const std::string& file : files) {
    if (!cv::haveImageReader(file)) others.push_back(file);
  }
  Require(others.empty(), others.size(), " of ", files.size(),
          " files are not images, or of a kind that cannot be decoded: ", ListedQuoted(others, 5));
#else
  (void)files;
#endif
}

}  // namespace

bool IsFolderOrPattern(const std::string& text) {
  std::error_code none;
  if (std::filesystem::is_directory(text, none)) return true;
  return text.find_first_of("*?[{") != std::string::npos && !std::filesystem::exists(text, none);
}

std::vector<std::string> ImageFilesIn(const std::string& text) {
  std::error_code none;
  const bool folder = std::filesystem::is_directory(text, none);
  std::vector<std::string> files = folder ? InFolder(text) : Fitting(text);
  Require(!files.empty(), text,
          folder ? ": the folder has no images, and none are in folders below it (.jpg, .png, ...)"
                 : ": no file fits this pattern");
  std::sort(files.begin(), files.end());
  RequireDecodable(files);
  return files;
}

}  // namespace caffe
