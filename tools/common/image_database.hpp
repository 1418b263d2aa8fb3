#ifndef CAFFE_TOOLS_IMAGE_DATABASE_HPP_
#define CAFFE_TOOLS_IMAGE_DATABASE_HPP_

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "caffe/util/text/progress.hpp"
#include "new_database.hpp"

namespace caffe {

/// A line of a list of images: a path, which may contain spaces, a space, and one more field.
struct ListLine {
  std::string path, rest;
  int number = 0;  ///< in the file, from 1
};

/// All lines but empty ones. Error for a line that is not "path, a space and `rest`", and for a
/// list without lines.
inline std::vector<ListLine> ReadImageList(const std::string& file, const std::string& rest) {
  std::ifstream stream(file.c_str());
  Require(stream.good() && !std::filesystem::is_directory(file), file,
          ": there is no such file, or it cannot be read");
  std::vector<ListLine> lines;
  ListLine line;
  for (std::string text; std::getline(stream, text);) {
    ++line.number;
    text.erase(text.find_last_not_of(" \t\r") + 1);
    if (text.empty()) continue;
    const size_t space = text.find_last_of(" \t");
    Require(space != std::string::npos && space > 0, file, ", line ", line.number, ": '", text,
            "' is not a path, a space and ", rest);
    line.path = text.substr(0, text.find_last_not_of(" \t", space) + 1);
    line.rest = text.substr(space + 1);
    lines.push_back(line);
  }
  Require(!lines.empty(), file, ": the list names no pictures");
  return lines;
}

/// The whole number in the rest of a line of `file`.
inline int LabelIn(const ListLine& line, const std::string& file) {
  size_t used = 0;
  int label = 0;
  try {
    label = std::stoi(line.rest, &used);
  } catch (const std::exception&) {
  }
  Require(used == line.rest.size(), file, ", line ", line.number, ": the label '", line.rest,
          "' is not a whole number");
  return label;
}

/// A folder as it is put in front of paths.
inline std::string RootFolder(std::string root) {
  if (!root.empty() && root.back() != '/' && std::filesystem::is_directory(root)) root += '/';
  return root;
}

/// The format that an image's name tells, lower case: what it is kept compressed as.
inline std::string EncodingOf(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos) {
    LOG(WARNING) << "Failed to guess the encoding of '" << path << "': taken as png";
    return "png";
  }
  std::string encoding = path.substr(dot + 1);
  for (char& c : encoding) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return encoding;
}

/// A record made of an image.
struct ImageRecord {
  bool read = false;  ///< false: the file is not an image
  std::string value;
  std::string size;  ///< to be the same in all records, unless empty
};

/// Writes read(line), called by several threads, for each line to a new database, with keys
/// "<number>_<path>". What is not an image is left out, with a warning; Error if that is all of
/// them, or if sizes differ. `list` and `root` say in messages where paths come from.
template <typename Read>
void WriteImages(const std::vector<ListLine>& lines, const std::string& list,
                 const std::string& root, const std::string& path, const std::string& backend,
                 Read&& read) {
  LOG(INFO) << "A total of " << lines.size() << " images.";
  NewDatabase database(path, backend);
  Progress progress("file", static_cast<int64_t>(lines.size()));
  ThreadTeam team(static_cast<int>(std::thread::hardware_concurrency()));
  constexpr size_t kChunk = 200;
  std::vector<ImageRecord> records;
  std::string first_size, first_path;
  for (size_t start = 0; start < lines.size(); start += kChunk) {
    records.assign(std::min(kChunk, lines.size() - start), ImageRecord());
    team.ForEach(static_cast<int>(records.size()),
                 [&](int i) { records[i] = read(lines[start + i]); });
    for (size_t i = 0; i < records.size(); ++i) {
      const std::string& name = lines[start + i].path;
      if (!records[i].read) continue;
      if (first_path.empty()) {
        first_size = records[i].size;
        first_path = name;
      }
      Require(records[i].size == first_size, name, ": the picture is ", records[i].size, ", but ",
              first_path, " is ", first_size, ": leave out -check_size or resize them");
      database.Put(NumberKey(static_cast<int64_t>(start + i), 8) + "_" + name, records[i].value);
      if (database.count() % 1000 == 0) {
        progress.Clear();
        LOG(INFO) << "Processed " << database.count() << " files.";
      }
    }
    progress.Update(static_cast<int64_t>(start + records.size()));
  }
  progress.Clear();
  Require(database.count() > 0, list, ": none of the ", lines.size(), " files below ", root,
          " is an image that can be read");
  if (database.count() % 1000 != 0) LOG(INFO) << "Processed " << database.count() << " files.";
  const size_t left_out = lines.size() - static_cast<size_t>(database.count());
  LOG_IF(WARNING, left_out > 0) << left_out << " files could not be read and were left out.";
  database.Finish();
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_IMAGE_DATABASE_HPP_
