#include "command_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <vector>

#include "caffe/core/error_context.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/limits.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/printable.hpp"
#include "caffe/version.hpp"

CAFFE_FLAG(bool, gpu_fallback, false, "",
           "compute on the CPU where a GPU is asked for and none can be used, as "
           "CAFFE_GPU_FALLBACK=1 in the environment does; otherwise that is an error");
CAFFE_FLAG(bool, ignore_unknown_fields, false, "",
           "skip unknown fields of prototxt files, with a warning");
CAFFE_FLAG(
    string, limits, "", "LIST",
    "what files may ask for, NAME=N between commas: blob_bytes=2GiB, net_bytes, layers, axes, "
    "nesting, read_bytes, record_bytes, image_pixels, python_layers=false, layer_files=false; "
    "untrusted stands for limits for files of strangers (SECURITY.md)");

namespace caffe {
namespace {

/// A line of text that roff leaves as it is.
std::string Escaped(const std::string& line) {
  std::string text = !line.empty() && (line[0] == '.' || line[0] == '\'') ? "\\&" : "";
  for (const char c : line) {
    if (c == '\\') {
      text += "\\e";
    } else if (c == '-') {
      text += "\\-";
    } else {
      text += c;
    }
  }
  return text;
}

std::string UpperCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Throws Error if not all of what was printed has reached its file, as on a full disk.
void RequireOutputWritten() {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  const std::string reason = errno == 0 ? "" : std::string(" (") + std::strerror(errno) + ")";
  Require(written, "standard output: writing failed", reason);
}

/// RunTool's work, or the texts that --help and --man ask for.
int RunUnlessAsked(int argc, char** argv, const std::string& usage,
                   const std::function<int(int, char**)>& work) {
  int flags_end = 1;
  for (; flags_end < argc && std::string(argv[flags_end]) != "--"; ++flags_end) {
    const std::string argument = argv[flags_end];
    if (argument == "--help" || argument == "-help" || argument == "-h") {
      std::cout << usage;
      return 0;
    }
    if (argument == "--man") {
      std::cout << ManPage(usage);
      return 0;
    }
  }
  FLAGS_alsologtostderr = true;
  gflags::SetUsageMessage(usage);
  gflags::SetVersionString(Version());
  AddOptionalValues(argc, argv);
  CheckFlags(argc, argv);
  // gflags drops what stands before "--" and is not a flag.
  std::vector<char*> before(argv, argv + flags_end), after(argv + flags_end, argv + argc);
  before.push_back(nullptr);
  int left = flags_end;
  char** rest = before.data();
  GlobalInit(&left, &rest);
  std::vector<char*> arguments(rest, rest + left);
  if (!after.empty()) arguments.insert(arguments.end(), after.begin() + 1, after.end());
  left = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  return work(left, arguments.data());
}

}  // namespace

void TellError(const std::string& message) {
  google::FlushLogFiles(google::INFO);
  // One write: mpirun puts what other ranks say between two.
  std::cerr << Join(program_invocation_short_name, ": ", Printable(message), "\n") << std::flush;
}

void ApplyLimits(const std::string& flag, const std::string& list) {
  if (list.empty()) return;
  try {
    Caffe::set_limits(Caffe::limits().With(list));
  } catch (Error& error) {
    error.Note(Error::Field{flag});
    error.AddContext(flag);
    throw;
  }
}

void ApplySharedFlags() {
  kernels::CpuInstructionSet();
  if (IsGiven("gpu_fallback")) set_gpu_fallback(FLAGS_gpu_fallback);
  set_ignore_unknown_fields(FLAGS_ignore_unknown_fields);
  ApplyLimits("-limits", FLAGS_limits);
}

std::vector<std::string> SplitFiles(const std::string& text,
                                    const std::function<std::string(const std::string&)>& path_of) {
  const auto exists = [&](const std::string& part) {
    std::error_code none;
    return std::filesystem::exists(path_of ? path_of(part) : part, none);
  };
  std::vector<std::string> files;
  for (size_t begin = 0; begin < text.size();) {
    // The longest name that a file has; else what comes before the first comma.
    size_t end = text.size();
    while (end != std::string::npos && end > begin && !exists(text.substr(begin, end - begin))) {
      const size_t comma = text.rfind(',', end - 1);
      end = comma == std::string::npos || comma < begin ? std::string::npos : comma;
    }
    if (end == std::string::npos) end = std::min(text.find(',', begin), text.size());
    if (end > begin) files.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

std::string ShellQuoted(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string ManPage(const std::string& usage) {
  StringReader lines(usage);
  std::string line;
  std::getline(lines, line);
  const size_t colon = line.find(": ");
  Require(colon != std::string::npos, "the first line of a usage is 'NAME: what it does.'");
  std::string name = line.substr(0, colon);
  for (char& c : name) c = c == ' ' ? '-' : c;
  std::string summary = line.substr(colon + 2);
  if (!summary.empty() && summary.back() == '.') summary.pop_back();
  std::string page = ".TH " + UpperCase(Escaped(name)) + " 1 \"\" \"Cortado " + Version() +
                     "\"\n.SH NAME\n" + Escaped(name) + " \\- " + Escaped(summary) + "\n";
  bool described = false, open = false;
  const auto begin = [&](const std::string& title) {
    if (open) page += ".fi\n";
    page += ".SH " + title + "\n.nf\n";
    open = true;
  };
  while (std::getline(lines, line)) {
    if (line.compare(0, 7, "usage: ") == 0) {
      begin("SYNOPSIS");
      page += Escaped("       " + line.substr(7)) + "\n";
    } else if (!line.empty() && line[0] != ' ' && line.back() == ':') {
      begin(UpperCase(Escaped(line.substr(0, line.size() - 1))));
      described = true;
    } else if (!described && !line.empty() && line[0] != ' ') {
      begin("DESCRIPTION");
      described = true;
      page += Escaped(line) + "\n";
    } else {
      page += Escaped(line) + "\n";
    }
  }
  return page + (open ? ".fi\n" : "");
}

int RunTool(int argc, char** argv, const std::string& usage,
            const std::function<int(int, char**)>& work) {
  try {
    const int status = WithMemoryErrors([&] { return RunUnlessAsked(argc, argv, usage, work); });
    RequireOutputWritten();
    return status;
  } catch (const std::exception& error) {
    TellError(error.what());
    return 1;
  }
}

}  // namespace caffe
