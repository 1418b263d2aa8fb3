#include "caffe/util/signal_handler.h"

#include <signal.h>

#include <atomic>
#include <cstring>

namespace caffe {
namespace {

volatile sig_atomic_t got_sigint = 0;
volatile sig_atomic_t got_sighup = 0;
std::atomic<bool> hooked{false};
struct sigaction old_sigint, old_sighup;

void Remember(int signal) {
  if (signal == SIGHUP) got_sighup = 1;
  if (signal == SIGINT) got_sigint = 1;
}

}  // namespace

SignalHandler::SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action)
    : SIGINT_action_(SIGINT_action), SIGHUP_action_(SIGHUP_action) {
  Require(!hooked.exchange(true), "signal handlers are hooked up already");
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(SIGHUP, &action, &old_sighup);
  sigaction(SIGINT, &action, &old_sigint);
}

SignalHandler::~SignalHandler() {
  sigaction(SIGHUP, &old_sighup, nullptr);
  sigaction(SIGINT, &old_sigint, nullptr);
  hooked = false;
}

SolverAction::Enum SignalHandler::CheckForSignals() const {
  if (got_sighup) {
    got_sighup = 0;
    return SIGHUP_action_;
  }
  if (got_sigint) {
    got_sigint = 0;
    return SIGINT_action_;
  }
  return SolverAction::NONE;
}

ActionCallback SignalHandler::GetActionFunction() {
  return [this] { return CheckForSignals(); };
}

}  // namespace caffe
