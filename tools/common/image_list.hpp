#ifndef CAFFE_TOOLS_COMMON_IMAGE_LIST_HPP_
#define CAFFE_TOOLS_COMMON_IMAGE_LIST_HPP_

#include <string>
#include <vector>

namespace caffe {

/// A line of a list of images: a path, which may contain spaces, a space, and one more field.
struct ListLine {
  std::string path, rest;
  int number = 0;  ///< in the file, from 1
};

/// All lines but empty ones. Error for a line that is not "path, a space and `rest`", and for a
/// list without lines.
std::vector<ListLine> ReadImageList(const std::string& file, const std::string& rest);

/// The same for paths and labels, and as in Caffe for paths alone: each has the label 0 then, and a
/// warning is logged.
std::vector<ListLine> ReadLabelledImages(const std::string& file);

/// The label in the rest of a line of `file`. Throws Error for what is no number.
int LabelIn(const ListLine& line, const std::string& file);

/// A folder as it is put in front of paths.
std::string RootFolder(std::string root);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_IMAGE_LIST_HPP_
