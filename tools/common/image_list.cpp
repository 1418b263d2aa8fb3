#include "image_list.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "caffe/common.hpp"
#include "caffe/error.hpp"
#include "caffe/util/text/list_line.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe {

namespace {

/// Whole lines, as paths.
std::vector<ListLine> LinesOf(const std::string& file) {
  std::ifstream stream = OpenTextFile(file);
  std::vector<ListLine> lines;
  ListLine line;
  while (std::getline(stream, line.path)) {
    ++line.number;
    line.path.erase(line.path.find_last_not_of(" \t\r") + 1);
    if (!line.path.empty()) lines.push_back(line);
  }
  Require(!lines.empty(), Error::File{file}, ": the list names no images");
  return lines;
}

void Split(const std::string& file, const std::string& rest, std::vector<ListLine>* lines) {
  for (ListLine& line : *lines) {
    const auto parts = SplitListLine(line.path);
    Require(parts && !parts->path.empty(), Error::File{file}, ", line ", line.number, ": '",
            line.path, "' is not a path, a space and ", rest);
    line.path = parts->path;
    line.rest = parts->rest;
  }
}

/// False if the last word is the end of a file's name, with an extension, as of "b c.png".
bool MayEndWithLabel(const ListLine& line) {
  const auto parts = SplitListLine(line.path);
  if (!parts) return false;
  const size_t dot = parts->rest.rfind('.');
  return dot == std::string::npos || dot + 1 == parts->rest.size() ||
         !std::isalpha(static_cast<unsigned char>(parts->rest[dot + 1]));
}

}  // namespace

std::vector<ListLine> ReadImageList(const std::string& file, const std::string& rest) {
  std::vector<ListLine> lines = LinesOf(file);
  Split(file, rest, &lines);
  return lines;
}

std::vector<ListLine> ReadLabelledImages(const std::string& file) {
  std::vector<ListLine> lines = LinesOf(file);
  if (std::any_of(lines.begin(), lines.end(), MayEndWithLabel)) {
    Split(file, "a label", &lines);
    return lines;
  }
  LOG(WARNING) << file << ": no line has a label behind its path, so each image gets the label 0";
  for (ListLine& line : lines) line.rest = "0";
  return lines;
}

int LabelIn(const ListLine& line, const std::string& file) {
  int label = 0;
  Require(ParseLabel(line.rest, file, &label), Error::File{file}, ", line ", line.number,
          ": the label '", line.rest, "' is not a whole number");
  return label;
}

std::string RootFolder(std::string root) {
  if (!root.empty() && root.back() != '/' && std::filesystem::is_directory(root)) root += '/';
  return root;
}

}  // namespace caffe
