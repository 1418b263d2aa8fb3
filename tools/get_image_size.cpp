// Writes the sizes of images named in a list, for the name_size_file of detection layers.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/io/atomic_file.hpp"
#include "caffe/util/detection/annotations.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "caffe/util/text_file.hpp"
#include "common/command.hpp"
#include "common/image_list.hpp"

CAFFE_FLAG(string, name_id_file, "", "FILE", "lines \"name id\": write ids instead of names");

namespace {

using caffe::ListLine;
using caffe::Require;
using std::string;

#ifdef USE_OPENCV

std::map<string, string> ReadIds(const string& file) {
  std::map<string, string> ids;
  if (file.empty()) return ids;
  std::ifstream stream = caffe::OpenTextFile(file);
  for (string name, id; stream >> name >> id;) ids[name] = id;
  Require(!ids.empty(), caffe::Error::File{file}, ": there are no lines \"name id\"");
  return ids;
}

int GetSizes(const std::vector<string>& files) {
  Require(files.size() == 3, "give ROOTFOLDER/, LISTFILE and OUTFILE; --help shows how");
  const string root = caffe::RootFolder(files[0]);
  const std::vector<ListLine> lines = caffe::ReadImageList(files[1], "something more");
  const std::map<string, string> ids = ReadIds(FLAGS_name_id_file);
  LOG(INFO) << "A total of " << lines.size() << " images.";
  std::vector<std::pair<int, int>> sizes(lines.size());
  caffe::ThreadTeam team(static_cast<int>(std::thread::hardware_concurrency()));
  team.ForEach(static_cast<int>(lines.size()), [&](int i) {
    caffe::GetImageSize(root + lines[i].path, &sizes[i].first, &sizes[i].second);
  });
  caffe::StringWriter text;
  for (size_t i = 0; i < lines.size(); ++i) {
    string name = std::filesystem::path(lines[i].path).stem().string();
    if (!ids.empty()) {
      const auto found = ids.find(name);
      Require(found != ids.end(), caffe::Error::File{FLAGS_name_id_file}, ": there is no id for '",
              name, "'");
      name = found->second;
    }
    text << name << " " << sizes[i].first << " " << sizes[i].second << "\n";
  }
  caffe::AtomicFile file(files[2]);
  file.Write(text.str().data(), text.str().size());
  file.Commit();
  LOG(INFO) << "Processed " << lines.size() << " files.";
  return 0;
}

#else

int GetSizes(const std::vector<string>&) {
  caffe::Fail("this tool needs OpenCV", caffe::Error::Remedy{"build with USE_OPENCV=ON"});
}

#endif  // USE_OPENCV

caffe::Command Program() {
  caffe::Command program;
  program.name = "get_image_size";
  program.summary = "writes the sizes of images, for name_size_file";
  program.usage = {"[flags] ROOTFOLDER/ LISTFILE OUTFILE"};
  program.about =
      R"(LISTFILE is the one that convert_annoset reads: an image's path below ROOTFOLDER, a space, and
anything else. OUTFILE gets a line for each: the file's name without folder and extension, height,
width.
)";
  program.groups = {{"flags", "", {"name_id_file"}, ""}};
  program.examples = R"(  get_image_size VOCdevkit/ test.txt test_name_size.txt
)";
  program.run = GetSizes;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
