// The one file that knows MPI.
#include <mpi.h>

#include <algorithm>

#include "caffe/communicator.hpp"
#include "caffe/error.hpp"
#include "caffe/parallel/wait_limit.hpp"
#include "caffe/util/system/termination_notice.hpp"
#include "launcher.hpp"

namespace caffe {
namespace {

constexpr size_t kLargestMessage = size_t(1) << 30;  // MPI counts with int

void Check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  Fail("MPI: ", what, " failed: ", std::string(text, length));
}

// MPI's calls wait for ever where another rank neither answers nor dies, and cannot be called off.
[[noreturn]] void EndLongWait(std::chrono::seconds limit) {
  TerminationNotice::End(LaunchedRank(), LaunchedRanks(),
                         Join("it has waited ", limit.count(),
                              " s for the other ranks (-rank_timeout), of which one hangs, is "
                              "stopped or cannot be reached"));
}

class Mpi : public Communicator {
 public:
  explicit Mpi(std::chrono::seconds limit) : limit_(limit, [limit] { EndLongWait(limit); }) {
    const WaitLimit::Wait wait(&limit_);
    Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads_), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    Check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    Check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }
  ~Mpi() override {
    const WaitLimit::Wait wait(&limit_);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool any_thread() const override { return threads_ >= MPI_THREAD_SERIALIZED; }
  std::string Description() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string version(text, length);
    return version.substr(0, version.find_first_of(",\n"));
  }

  void AllReduceSum(float* values, size_t count) override { Sum(values, count, MPI_FLOAT); }
  void AllReduceSum(double* values, size_t count) override { Sum(values, count, MPI_DOUBLE); }

  void Broadcast(void* data, size_t bytes, int root) override {
    const WaitLimit::Wait wait(&limit_);
    for (size_t done = 0; done < bytes; done += kLargestMessage) {
      const int part = static_cast<int>(std::min(kLargestMessage, bytes - done));
      Check(MPI_Bcast(static_cast<char*>(data) + done, part, MPI_BYTE, root, MPI_COMM_WORLD),
            "MPI_Bcast");
    }
  }

  void Barrier() override {
    const WaitLimit::Wait wait(&limit_);
    Check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  }

  void Abort() noexcept override {
    const WaitLimit::Wait wait(&limit_);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

 private:
  template <typename Value>
  void Sum(Value* values, size_t count, MPI_Datatype type) {
    const WaitLimit::Wait wait(&limit_);
    for (size_t done = 0; done < count; done += kLargestMessage) {
      const int part = static_cast<int>(std::min(kLargestMessage, count - done));
      Check(MPI_Allreduce(MPI_IN_PLACE, values + done, part, type, MPI_SUM, MPI_COMM_WORLD),
            "MPI_Allreduce");
    }
  }

  WaitLimit limit_;
  int rank_ = 0, size_ = 1, threads_ = MPI_THREAD_SINGLE;
};

}  // namespace

std::unique_ptr<Communicator> MpiCommunicator(std::chrono::seconds longest_wait) {
  if (LaunchedRanks() < 2) return nullptr;
  return std::make_unique<Mpi>(longest_wait);
}

}  // namespace caffe
