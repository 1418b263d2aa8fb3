#ifdef USE_OPENCV

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "caffe/data/image_files.hpp"
#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

/// A new folder with b.png, a.JPG, notes.txt and below/c.png.
std::string FolderWithImages() {
  const fs::path folder = NewFileName() + "_images";
  fs::create_directories(folder / "below");
  const std::string image = NewImage(CountingImage(3, 4, 4));
  for (const char* name : {"b.png", "a.JPG", "below/c.png"}) fs::copy_file(image, folder / name);
  std::ofstream(folder / "notes.txt") << "none of them\n";
  return folder.string();
}

std::vector<std::string> NamesIn(const std::string& folder, const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& file : ImageFilesIn(text)) {
    names.push_back(fs::relative(file, folder).string());
  }
  return names;
}

TEST(ImageFiles, AreThoseOfAFolderAndBelow) {
  const std::string folder = FolderWithImages();
  EXPECT_EQ(NamesIn(folder, folder), (std::vector<std::string>{"a.JPG", "b.png", "below/c.png"}));
}

TEST(ImageFiles, CountOnceWhereALinkLeadsBack) {
  const std::string folder = FolderWithImages();
  fs::create_directory_symlink("..", folder + "/below/up");
  fs::create_directory_symlink(folder, folder + "/again");
  EXPECT_EQ(ImageFilesIn(folder).size(), 3u);
}

TEST(ImageFiles, FitAPattern) {
  const std::string folder = FolderWithImages();
  EXPECT_EQ(NamesIn(folder, folder + "/*.png"), std::vector<std::string>{"b.png"});
  EXPECT_EQ(NamesIn(folder, folder + "/{a,b}.*"), (std::vector<std::string>{"a.JPG", "b.png"}));
}

TEST(ImageFiles, AreFoldersOrPatternsUnlessAFileIsCalledSo) {
  const std::string folder = FolderWithImages();
  EXPECT_TRUE(IsFolderOrPattern(folder));
  EXPECT_TRUE(IsFolderOrPattern(folder + "/*.png"));
  EXPECT_FALSE(IsFolderOrPattern(folder + "/b.png"));
  EXPECT_FALSE(IsFolderOrPattern(folder + "/no_such.txt"));
  std::ofstream(folder + "/list[1].txt") << "b.png\n";
  EXPECT_FALSE(IsFolderOrPattern(folder + "/list[1].txt"));
}

TEST(ImageFiles, HaveToBeThereAndToBeImages) {
  const std::string folder = FolderWithImages();
  EXPECT_NE(ErrorOf([&] { ImageFilesIn(folder + "/*.gif"); }).find("no file fits this pattern"),
            std::string::npos);
  fs::create_directories(folder + "/empty");
  EXPECT_NE(ErrorOf([&] { ImageFilesIn(folder + "/empty"); }).find("the folder has no images"),
            std::string::npos);
  std::ofstream(folder + "/broken.png") << "not a PNG";
  const std::string error = ErrorOf([&] { ImageFilesIn(folder); });
  EXPECT_NE(error.find("1 of 4 files are not images"), std::string::npos) << error;
  EXPECT_NE(error.find("broken.png"), std::string::npos) << error;
}

}  // namespace
}  // namespace caffe

#endif  // USE_OPENCV
