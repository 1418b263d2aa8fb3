#ifndef CAFFE_UTIL_SIGNAL_HANDLER_H_
#define CAFFE_UTIL_SIGNAL_HANDLER_H_

#include "caffe/solver.hpp"

namespace caffe {

/// While it lives, SIGINT and SIGHUP ask a solver to snapshot or to stop instead of ending the
/// process. There is one at a time.
class SignalHandler {
 public:
  SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action);
  ~SignalHandler();
  /// What Solver::SetActionFunction takes.
  ActionCallback GetActionFunction();

 private:
  SolverAction::Enum CheckForSignals() const;

  SolverAction::Enum SIGINT_action_;
  SolverAction::Enum SIGHUP_action_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_SIGNAL_HANDLER_H_
