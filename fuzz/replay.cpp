// The main of fuzz targets where libFuzzer has none: runs the files that are named, and mutations
// of them. What ends the program leaves its input in the file ./crash-PROGRAM.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                     unsigned seed);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
}

namespace {

using Bytes = std::vector<uint8_t>;

constexpr char kUsage[] = R"(runs a fuzz target on files.

usage: PROGRAM [--mutate N] [--seed S] [--memory MIB] FILE_OR_FOLDER...

  --mutate N    then N random mutations of them (default 0)
  --seed S      of the mutations (default 1)
  --memory MIB  limit of the address space; without it none

With FUZZ_ERRORS=1 in the environment the errors of inputs are shown.

example:
  fuzz_npy --mutate 10000 --memory 2048 corpus/npy
)";

constexpr size_t kMaxSize = 1 << 16;
constexpr unsigned kMaxSeconds = 10;

std::mt19937 random_bits(1);
Bytes current;           // the input that runs
std::string crash_file;  // where it goes if it ends the program

size_t Draw(size_t n) { return random_bits() % n; }

// Calls only what a signal handler may.
void SaveInput(int signal) {
  const int file = open(crash_file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (file >= 0 && write(file, current.data(), current.size()) >= 0) close(file);
  const char* what = signal == SIGALRM ? "took too long: " : "crashed: ";
  if (write(2, what, strlen(what)) < 0 || write(2, crash_file.data(), crash_file.size()) < 0 ||
      write(2, "\n", 1) < 0) {
  }
  _exit(128 + signal);
}

/// On a stack of its own: recursion may have used up the program's.
void CatchSignals() {
  static char stack[1 << 16];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = SaveInput;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGALRM, SIGTERM}) {
    sigaction(signal, &action, nullptr);
  }
}

void LimitMemory(rlim_t mebibytes) {
  const rlimit limit = {mebibytes << 20, mebibytes << 20};
  setrlimit(RLIMIT_AS, &limit);
}

Bytes ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << path << ": cannot be read\n";
    std::exit(1);
  }
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::vector<Bytes> ReadInputs(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const std::string& file : files) inputs.push_back(ReadAll(file));
  return inputs;
}

void Run(const Bytes& input) {
  current = input;
  alarm(kMaxSeconds);
  LLVMFuzzerTestOneInput(current.data(), current.size());
  alarm(0);
}

Bytes Mutated(Bytes bytes) {
  const size_t size = std::min(bytes.size(), kMaxSize);
  bytes.resize(kMaxSize);
  const auto mutate = [&](size_t length) {
    return LLVMFuzzerCustomMutator
               ? LLVMFuzzerCustomMutator(bytes.data(), length, kMaxSize, random_bits())
               : LLVMFuzzerMutate(bytes.data(), length, kMaxSize);
  };
  size_t length = size;
  for (size_t steps = 1 + Draw(4); steps > 0; --steps) length = mutate(length);
  bytes.resize(length);
  return bytes;
}

}  // namespace

/// libFuzzer's function in few lines.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  constexpr int64_t kNumbers[] = {0, 1, -1, 127, 255, 65535, INT32_MAX, INT32_MIN, INT64_MAX};
  const size_t at = Draw(size + 1), some = 1 + Draw(8);
  switch (Draw(5)) {
    case 0:  // a bit
      if (at < size) data[at] ^= uint8_t(1) << Draw(8);
      return size;
    case 1:  // bytes go
      if (at + some > size) return at;
      std::memmove(data + at, data + at + some, size - at - some);
      return size - some;
    case 2:  // bytes come
      if (size + some > max_size) return size;
      std::memmove(data + at + some, data + at, size - at);
      for (size_t i = 0; i < some; ++i) data[at + i] = static_cast<uint8_t>(random_bits());
      return size + some;
    case 3: {  // a number of 1, 2, 4 or 8 bytes
      const size_t width = size_t(1) << Draw(4);
      if (at + width <= size) std::memcpy(data + at, &kNumbers[Draw(std::size(kNumbers))], width);
      return size;
    }
    default: {  // a copy of another part
      const size_t from = Draw(size + 1);
      std::memmove(data + at, data + from, std::min(some, size - std::max(at, from)));
      return size;
    }
  }
}

int main(int argc, char** argv) {
  size_t mutations = 0;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = [&] { return std::strtoull(++i < argc ? argv[i] : "", nullptr, 10); };
    if (argument == "--mutate") {
      mutations = number();
    } else if (argument == "--seed") {
      random_bits.seed(static_cast<unsigned>(number()));
    } else if (argument == "--memory") {
      LimitMemory(number());
    } else if (argument == "--help") {
      std::cout << std::filesystem::path(argv[0]).filename().string() << ": " << kUsage;
      return 0;
    } else {
      paths.push_back(argument);
    }
  }
  const std::vector<Bytes> inputs = ReadInputs(paths);
  if (inputs.empty()) {
    std::cerr << kUsage;
    return 1;
  }
  crash_file = std::filesystem::absolute("crash-").string() +
               std::filesystem::path(argv[0]).filename().string();
  CatchSignals();
  LLVMFuzzerInitialize(&argc, &argv);
  for (const Bytes& input : inputs) Run(input);
  for (; mutations > 0; --mutations) Run(Mutated(inputs[Draw(inputs.size())]));
  return 0;
}
