#ifndef CAFFE_UTIL_TERMINATION_NOTICE_HPP_
#define CAFFE_UTIL_TERMINATION_NOTICE_HPP_

#include <string>

namespace caffe {

/// While it lives, SIGTERM ends the process with status 1 and one line on stderr: which rank it is,
/// at which iteration, if any, and from which snapshot training can be resumed. mpirun ends the
/// ranks that are left by SIGTERM when one has died or failed. There is one at a time.
class TerminationNotice {
 public:
  /// `snapshot`: the .solverstate that training has been resumed from, if any.
  TerminationNotice(int rank, int ranks, const std::string& snapshot);
  ~TerminationNotice();
  TerminationNotice(const TerminationNotice&) = delete;
  TerminationNotice& operator=(const TerminationNotice&) = delete;

  /// Where training is; any number of times, from one thread at a time.
  void SetIteration(int iteration);
  /// The .solverstate that is about to be written, by this rank or another: the line names it if it
  /// is there in the end, else the one before.
  void SetSnapshot(const std::string& file);

  /// Ends the process in the same way for another reason, from any thread, and also where there is
  /// no notice yet.
  [[noreturn]] static void End(int rank, int ranks, const std::string& reason);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_TERMINATION_NOTICE_HPP_
