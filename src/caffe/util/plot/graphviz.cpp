#include "caffe/util/plot/graphviz.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace caffe {

bool RunGraphviz(const std::string& format, const std::string& input, const std::string& output) {
  const std::string type = "-T" + format;
  const char* arguments[] = {"dot", type.c_str(), "-o", output.c_str(), input.c_str(), nullptr};
  pid_t process;
  if (posix_spawnp(&process, "dot", nullptr, nullptr, const_cast<char**>(arguments), environ) !=
      0) {
    return false;
  }
  int status = 0;
  return waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace caffe
