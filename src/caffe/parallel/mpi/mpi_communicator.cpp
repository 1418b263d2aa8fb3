// The one file that knows MPI.
#include <mpi.h>

#include <algorithm>

#include "caffe/communicator.hpp"
#include "caffe/error.hpp"
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

class Mpi : public Communicator {
 public:
  Mpi() {
    Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads_), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    Check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    Check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }
  ~Mpi() override { MPI_Finalize(); }

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
    for (size_t done = 0; done < bytes; done += kLargestMessage) {
      const int part = static_cast<int>(std::min(kLargestMessage, bytes - done));
      Check(MPI_Bcast(static_cast<char*>(data) + done, part, MPI_BYTE, root, MPI_COMM_WORLD),
            "MPI_Bcast");
    }
  }

  void Barrier() override { Check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

  void Abort() noexcept override { MPI_Abort(MPI_COMM_WORLD, 1); }

 private:
  template <typename Value>
  void Sum(Value* values, size_t count, MPI_Datatype type) {
    for (size_t done = 0; done < count; done += kLargestMessage) {
      const int part = static_cast<int>(std::min(kLargestMessage, count - done));
      Check(MPI_Allreduce(MPI_IN_PLACE, values + done, part, type, MPI_SUM, MPI_COMM_WORLD),
            "MPI_Allreduce");
    }
  }

  int rank_ = 0, size_ = 1, threads_ = MPI_THREAD_SINGLE;
};

}  // namespace

std::unique_ptr<Communicator> MpiCommunicator() {
  if (LaunchedRanks() < 2) return nullptr;
  return std::make_unique<Mpi>();
}

}  // namespace caffe
