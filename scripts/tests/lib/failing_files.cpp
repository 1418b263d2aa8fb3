// Lets the n-th change of a file fail in a program that loads this library first (LD_PRELOAD).
// Counted are calls that open a file for writing, write, resize, sync or rename it, or make a
// folder.
//
//   FAILING_FOLDER  only paths below count
//   FAILING_CALL    n: 1 is the first call
//   FAILING_WAY     "once": the n-th call fails, an error of the device (EIO); "full": from the
//   n-th
//                   call on all fail for lack of space (ENOSPC), behind half of what is written
//                   first
//   FAILING_LOG     a file that gets a line, call and path, for the first call that fails
//
// What stdio writes behind fopen is not seen: glibc does not call write by its public name.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The function that this library stands in front of; `like` gives its type.
template <typename Function>
Function* Next(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define NEXT(name) Next(#name, &name)

std::string Absolute(const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  char folder[4096] = "";
  return std::string(getcwd(folder, sizeof folder) ? folder : "") + "/" + path;
}

std::string PathOf(int descriptor) {
  char path[4096] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size > 0 ? std::string(path, size) : "";
}

void Log(const std::string& line) {
  const int file = NEXT(open)(Variable("FAILING_LOG").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0) return;
  NEXT(write)(file, line.data(), line.size());
  close(file);
}

std::atomic<int> calls{0};

/// Counts a call; how many calls before it have failed, or -1 if it is not to fail.
int Failed(const char* call, const std::string& path) {
  static const std::string folder = Variable("FAILING_FOLDER") + "/";
  if (Absolute(path).compare(0, folder.size(), folder) != 0) return -1;
  static const int first = std::atoi(Variable("FAILING_CALL").c_str());
  static const bool full = Variable("FAILING_WAY") == "full";
  const int failed = ++calls - first;
  if (failed < 0 || (failed > 0 && !full)) return -1;
  if (failed == 0) Log(std::string(call) + " " + path + "\n");
  errno = full ? ENOSPC : EIO;
  return failed;
}

bool Fails(const char* call, const std::string& path) { return Failed(call, path) >= 0; }

/// Fails, or writes with `write` what the way leaves of `size` bytes.
template <typename Write>
ssize_t WriteUpTo(const char* call, int descriptor, size_t size, Write write) {
  const int failed = Failed(call, PathOf(descriptor));
  if (failed < 0) return write(size);
  const bool half = errno == ENOSPC && failed == 0 && size > 1;
  return half ? write(size / 2) : -1;
}

bool IsForWriting(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0; }

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

#define INTERPOSE_OPEN(name)                                                                \
  int name(const char* path, int flags, ...) {                                              \
    va_list arguments;                                                                      \
    va_start(arguments, flags);                                                             \
    const mode_t mode = ModeOf(flags, arguments);                                           \
    va_end(arguments);                                                                      \
    return IsForWriting(flags) && Fails("open", path) ? -1 : NEXT(name)(path, flags, mode); \
  }
INTERPOSE_OPEN(open)
INTERPOSE_OPEN(open64)

#define INTERPOSE_FOPEN(name)                                                        \
  FILE* name(const char* path, const char* mode) {                                   \
    const bool writes = std::string(mode).find_first_of("wa+") != std::string::npos; \
    return writes && Fails("fopen", path) ? nullptr : NEXT(name)(path, mode);        \
  }
INTERPOSE_FOPEN(fopen)
INTERPOSE_FOPEN(fopen64)

ssize_t write(int descriptor, const void* bytes, size_t size) {
  return WriteUpTo("write", descriptor, size,
                   [&](size_t part) { return NEXT(write)(descriptor, bytes, part); });
}

#define INTERPOSE_PWRITE(name, Offset)                                                          \
  ssize_t name(int descriptor, const void* bytes, size_t size, Offset offset) {                 \
    return WriteUpTo("pwrite", descriptor, size,                                                \
                     [&](size_t part) { return NEXT(name)(descriptor, bytes, part, offset); }); \
  }
INTERPOSE_PWRITE(pwrite, off_t)
INTERPOSE_PWRITE(pwrite64, off64_t)

// Of several buffers half is half of their number.
ssize_t writev(int descriptor, const iovec* buffers, int count) {
  return WriteUpTo("writev", descriptor, count, [&](size_t part) {
    return NEXT(writev)(descriptor, buffers, static_cast<int>(part));
  });
}

#define INTERPOSE_PWRITEV(name, Offset)                                          \
  ssize_t name(int descriptor, const iovec* buffers, int count, Offset offset) { \
    return WriteUpTo("pwritev", descriptor, count, [&](size_t part) {            \
      return NEXT(name)(descriptor, buffers, static_cast<int>(part), offset);    \
    });                                                                          \
  }
INTERPOSE_PWRITEV(pwritev, off_t)
INTERPOSE_PWRITEV(pwritev64, off64_t)

int ftruncate(int descriptor, off_t size) noexcept {
  return Fails("ftruncate", PathOf(descriptor)) ? -1 : NEXT(ftruncate)(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) noexcept {
  return Fails("ftruncate", PathOf(descriptor)) ? -1 : NEXT(ftruncate64)(descriptor, size);
}

int fsync(int descriptor) {
  return Fails("fsync", PathOf(descriptor)) ? -1 : NEXT(fsync)(descriptor);
}
int fdatasync(int descriptor) {
  return Fails("fdatasync", PathOf(descriptor)) ? -1 : NEXT(fdatasync)(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  return Fails("rename", to) ? -1 : NEXT(rename)(from, to);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return Fails("mkdir", path) ? -1 : NEXT(mkdir)(path, mode);
}

}  // extern "C"
