// Turns a list of names and labels into a LabelMap.
#include <fstream>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/io.hpp"
#include "caffe/util/text_file.hpp"
#include "common/command.hpp"

CAFFE_FLAG(bool, include_background, false, "", "put the background in front, as label 0");
CAFFE_FLAG(string, delimiter, " ", "TEXT",
           "what separates the fields of a line (default: a space)");

namespace {

using caffe::LabelMapItem;
using caffe::Require;
using std::string;

/// The line cut into three; the last one has the rest of it.
std::vector<string> Fields(const string& line) {
  std::vector<string> fields;
  size_t begin = 0;
  while (fields.size() < 2) {
    const size_t end = line.find(FLAGS_delimiter, begin);
    if (end == string::npos) break;
    fields.push_back(line.substr(begin, end - begin));
    begin = end + FLAGS_delimiter.size();
  }
  fields.push_back(line.substr(begin));
  return fields;
}

void AddItem(const string& name, int label, const string& display_name, caffe::LabelMap* map) {
  LabelMapItem* item = map->add_item();
  item->set_name(name);
  item->set_label(label);
  item->set_display_name(display_name);
}

int Create(const std::vector<string>& files) {
  Require(files.size() == 2, "give MAPFILE and OUTFILE; --help shows how");
  Require(!FLAGS_delimiter.empty(), caffe::Error::Field{"-delimiter"}, " must not be empty");
  const string file = files[0];
  std::ifstream stream = caffe::OpenTextFile(file);
  caffe::LabelMap map;
  if (FLAGS_include_background) AddItem("none_of_the_above", 0, "background", &map);
  int number = 0;
  for (string line; std::getline(stream, line);) {
    ++number;
    line.erase(line.find_last_not_of("\r") + 1);
    if (line.empty()) continue;
    const std::vector<string> fields = Fields(line);
    size_t used = 0;
    int label = 0;
    try {
      if (fields.size() == 3) label = std::stoi(fields[1], &used);
    } catch (const std::exception&) {
    }
    Require(fields.size() == 3 && used > 0 && used == fields[1].size(), caffe::Error::File{file},
            ", line ", number, ": '", line, "' is not a name, a number and a name, separated by '",
            FLAGS_delimiter, "'");
    AddItem(fields[0], label, fields[2], &map);
  }
  caffe::WriteProtoToTextFile(map, files[1]);
  return 0;
}

caffe::Command Program() {
  caffe::Command program;
  program.name = "create_label_map";
  program.summary = "turns a list of names and labels into a LabelMap";
  program.usage = {"[flags] MAPFILE OUTFILE"};
  program.about = R"(MAPFILE has a line for each label: its name, its number, its display name.
)";
  program.groups = {{"flags", "", {"include_background", "delimiter"}, ""}};
  program.examples =
      R"(  create_label_map -include_background -delimiter , map_det.txt labelmap_det.prototxt
)";
  program.run = Create;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
