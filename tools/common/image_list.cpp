#include "image_list.hpp"

#include <filesystem>
#include <fstream>

#include "caffe/error.hpp"
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
    const size_t space = text.find_last_of(" \t");
    Require(space != std::string::npos && space > 0, Error::File{file}, ", line ", line.number,
            ": '", text, "' is not a path, a space and ", rest);
    line.path = text.substr(0, text.find_last_not_of(" \t", space) + 1);
    line.rest = text.substr(space + 1);
    lines.push_back(line);
  }
  Require(!lines.empty(), Error::File{file}, ": the list names no images");
  return lines;
}

int LabelIn(const ListLine& line, const std::string& file) {
  size_t used = 0;
  int label = 0;
  try {
    label = std::stoi(line.rest, &used);
  } catch (const std::exception&) {
  }
  Require(used == line.rest.size(), Error::File{file}, ", line ", line.number, ": the label '",
          line.rest, "' is not a whole number");
  return label;
}

std::string RootFolder(std::string root) {
  if (!root.empty() && root.back() != '/' && std::filesystem::is_directory(root)) root += '/';
  return root;
}

}  // namespace caffe
