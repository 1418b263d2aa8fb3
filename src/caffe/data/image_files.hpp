#ifndef CAFFE_UTIL_IMAGE_FILES_HPP_
#define CAFFE_UTIL_IMAGE_FILES_HPP_

#include <string>
#include <vector>

namespace caffe {

/// True if the text names a folder, or is a pattern with `*`, `?` or `[...]` that no file is called
/// like.
bool IsFolderOrPattern(const std::string& text);

/// The image files of a folder and of those below it, by their extensions (jpg, jpeg, jpe, png,
/// bmp, dib, ppm, pgm, pbm, tif, tiff, webp, whatever the case), or the files that fit a pattern of
/// the shell's; sorted. Throws Error if there are none, and for files among them that are not
/// images that can be decoded, with their names.
std::vector<std::string> ImageFilesIn(const std::string& folder_or_pattern);

}  // namespace caffe

#endif  // CAFFE_UTIL_IMAGE_FILES_HPP_
