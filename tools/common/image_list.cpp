#include "image_list.hpp"

#include <filesystem>
#include <fstream>

#include "caffe/error.hpp"
#include "caffe/util/text/list_line.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe {

std::vector<ListLine> ReadImageList(const std::string& file, const std::string& rest) {
  std::ifstream stream = OpenTextFile(file);
  std::vector<ListLine> lines;
  ListLine line;
  for (std::string text; std::getline(stream, text);) {
    ++line.number;
    text.erase(text.find_last_not_of(" \t\r") + 1);
    if (text.empty()) continue;
    const auto parts = SplitListLine(text);
    Require(parts && !parts->path.empty(), Error::File{file}, ", line ", line.number, ": '", text,
            "' is not a path, a space and ", rest);
    line.path = parts->path;
    line.rest = parts->rest;
    lines.push_back(line);
  }
  Require(!lines.empty(), Error::File{file}, ": the list names no images");
  return lines;
}

int LabelIn(const ListLine& line, const std::string& file) {
  int label = 0;
  Require(ParseWholeNumber(line.rest, &label), Error::File{file}, ", line ", line.number,
          ": the label '", line.rest, "' is not a whole number");
  return label;
}

std::string RootFolder(std::string root) {
  if (!root.empty() && root.back() != '/' && std::filesystem::is_directory(root)) root += '/';
  return root;
}

}  // namespace caffe
