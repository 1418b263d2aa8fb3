#ifndef CAFFE_COMMUNICATOR_HPP_
#define CAFFE_COMMUNICATOR_HPP_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace caffe {

/// What programs or threads that work together, the ranks, tell each other. All ranks call the same
/// functions in the same order, with the same number of values and the same root; each returns when
/// this rank has what it asked for. A function throws Error when another rank has gone or the
/// network fails.
///
/// Calls come from one thread, or from several threads one after another if any_thread().
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  ///< from 0 to size() - 1
  virtual int size() const = 0;
  virtual bool any_thread() const = 0;
  /// What carries the messages, for the log: "Open MPI v4.1.4".
  virtual std::string Description() const = 0;

  /// Each of the `count` values becomes its sum over all ranks: the same bits on each of them.
  virtual void AllReduceSum(float* values, size_t count) = 0;
  virtual void AllReduceSum(double* values, size_t count) = 0;
  /// Copies the `bytes` at `data` from rank `root` to all others.
  virtual void Broadcast(void* data, size_t bytes, int root = 0) = 0;
  /// Returns when all ranks have called it.
  virtual void Barrier() = 0;
  /// Ends all ranks: this one gives up and will not call again. For programs, it may not return.
  virtual void Abort() noexcept = 0;

  /// Rank `root`'s text, on every rank.
  std::string BroadcastText(const std::string& text, int root = 0);
};

/// The ranks of threads of this process, one for each of `size` threads. Sums are made in the order
/// of the ranks. When one of them is aborted the others' calls, waiting or to come, throw Error.
std::vector<std::unique_ptr<Communicator>> ThreadCommunicators(int size);

/// Longer than a rank may be behind the others: in an iteration, a test, or writing a snapshot.
constexpr std::chrono::seconds kLongestWaitForRanks{600};

/// The rank of this process among those that mpirun (or another launcher of MPI programs) started
/// together; nullptr if it was started alone, and then MPI is not touched. Call it once in a
/// process; MPI is finalized with the communicator. Throws Error if this libcaffe was built without
/// MPI and has been started with others.
///
/// MPI waits for ever for a rank that neither answers nor dies. A call that waits longer than
/// `longest_wait` (0: for ever) ends this process with status 1 and one line on stderr; the
/// launcher then ends the others. Time in which the process is stopped does not count.
std::unique_ptr<Communicator> MpiCommunicator(
    std::chrono::seconds longest_wait = kLongestWaitForRanks);

}  // namespace caffe

#endif  // CAFFE_COMMUNICATOR_HPP_
