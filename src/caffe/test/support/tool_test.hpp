#ifndef CAFFE_TEST_TOOL_TEST_HPP_
#define CAFFE_TEST_TOOL_TEST_HPP_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "caffe/test/support/test_files.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

namespace fs = std::filesystem;

/// The tools next to the test program, as in the build folder.
inline fs::path ToolFolder() { return fs::read_symlink("/proc/self/exe").parent_path() / "tools"; }

struct Outcome {
  int status;
  string output;
};

/// Runs tools as a user runs them, in a folder of its own.
class ToolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(ToolFolder())) GTEST_SKIP() << "the tools are not built";
    folder_ = fs::path(NewFileName()).parent_path().string() + "/";
  }

  /// Runs a tool with arguments, each '%' in them standing for the test's folder.
  Outcome Tool(const string& name, string arguments) {
    for (size_t at; (at = arguments.find('%')) != string::npos;) arguments.replace(at, 1, folder_);
    const string log = folder_ + "log";
    const string command =
        (ToolFolder() / name).string() + " " + arguments + " > " + log + " 2>&1 < /dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(log)};
  }
  /// Runs it, expects status 1 and gives the last line.
  string ToolError(const string& name, const string& arguments) {
    const Outcome run = Tool(name, arguments);
    EXPECT_EQ(run.status, 1) << run.output;
    const size_t end = run.output.find_last_not_of('\n');
    const size_t start = run.output.rfind('\n', end);
    return run.output.substr(start + 1, end - start);
  }
  void Write(const string& file, const string& contents) {
    std::ofstream(folder_ + file, std::ios::binary) << contents;
  }
  /// The records of a database in the test's folder, by key.
  template <typename Message = Datum>
  map<string, Message> Records(const string& database, const string& backend = "lmdb") {
    map<string, Message> records;
    std::unique_ptr<db::DB> db(db::GetDB(backend));
    db->Open(folder_ + database, db::READ);
    std::unique_ptr<db::Cursor> cursor(db->NewCursor());
    for (; cursor->valid(); cursor->Next()) {
      EXPECT_TRUE(records[cursor->key()].ParseFromString(cursor->value()));
    }
    return records;
  }
  bool Exists(const string& file) { return fs::exists(folder_ + file); }
  /// Names in the test's folder that begin with `prefix`.
  int Count(const string& prefix) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      count += entry.path().filename().string().compare(0, prefix.size(), prefix) == 0;
    }
    return count;
  }

  string folder_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_TOOL_TEST_HPP_
