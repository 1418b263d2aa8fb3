#include "caffe/internal_thread.hpp"

#include <gtest/gtest.h>

#ifdef CAFFE_BOOST_THREAD
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>
#endif

#include "caffe/context.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/util/blocking_queue.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

/// Reports what its thread finds, then waits until it is stopped.
class Reporter : public InternalThread {
 public:
  ~Reporter() override { StopInternalThread(); }

  struct Report {
    Context::Settings settings;
    vector<unsigned int> draws;
  };
  BlockingQueue<Report> reports;
  std::atomic<int> ended{0};

 protected:
  void InternalThreadEntry() override {
    Report report{Context::Current().settings(), {}};
    for (int i = 0; i < 3; ++i) report.draws.push_back(caffe_rng_rand());
    reports.push(report);
    while (!must_stop()) std::this_thread::yield();
    ++ended;
  }
};

class Waiter : public InternalThread {
 public:
  ~Waiter() override { StopInternalThread(); }
  BlockingQueue<int> never;
  BlockingQueue<int> started;

 protected:
  void InternalThreadEntry() override {
    started.push(1);
    never.pop();
  }
};

TEST(InternalThreadTest, StartsAndStops) {
  Reporter thread;
  EXPECT_FALSE(thread.is_started());
  thread.StartInternalThread();
  EXPECT_TRUE(thread.is_started());
  thread.StopInternalThread();
  EXPECT_FALSE(thread.is_started());
  thread.StopInternalThread();
  EXPECT_EQ(thread.ended, 1);
  thread.StartInternalThread();
  thread.StopInternalThread();
  EXPECT_EQ(thread.ended, 2);
}

TEST(InternalThreadTest, StopsWhileItWaits) {
  Waiter thread;
  thread.StartInternalThread();
  thread.started.pop();
  thread.StopInternalThread();
  EXPECT_FALSE(thread.is_started());
}

/// Old programs catch what Boost throws.
class Catcher : public InternalThread {
 public:
  ~Catcher() override { StopInternalThread(); }
  BlockingQueue<int> never, started;
  bool was_interrupted = false, has_cleaned_up = false;

 protected:
  void InternalThreadEntry() override {
    started.push(1);
    try {
      Wait();
    } catch (const boost::thread_interrupted&) {
      was_interrupted = true;
      CleanUp();
      has_cleaned_up = true;
    }
  }
  virtual void Wait() { never.pop(); }
  virtual void CleanUp() {}
};

TEST(InternalThreadTest, IsInterruptedAsByBoost) {
  Catcher thread;
  thread.StartInternalThread();
  thread.started.pop();
  thread.StopInternalThread();
  EXPECT_TRUE(thread.was_interrupted);
}

#ifdef CAFFE_BOOST_THREAD
class Sleeper : public Catcher {
 public:
  ~Sleeper() override { StopInternalThread(); }

 protected:
  void Wait() override { boost::this_thread::sleep(boost::posix_time::hours(1)); }
};

class Listener : public Catcher {
 public:
  ~Listener() override { StopInternalThread(); }

 protected:
  void Wait() override {
    boost::unique_lock<boost::mutex> lock(mutex_);
    for (;;) condition_.wait(lock);
  }

 private:
  boost::mutex mutex_;
  boost::condition_variable condition_;
};

TEST(InternalThreadTest, StopsWhileItWaitsForBoost) {
  Sleeper sleeper;
  Listener listener;
  for (Catcher* thread : {static_cast<Catcher*>(&sleeper), static_cast<Catcher*>(&listener)}) {
    thread->StartInternalThread();
    thread->started.pop();
    thread->StopInternalThread();
    EXPECT_TRUE(thread->was_interrupted);
  }
}

/// Waits when it ends, as a program does that closes a file.
class Finisher : public Catcher {
 public:
  ~Finisher() override { StopInternalThread(); }

 protected:
  void CleanUp() override { boost::this_thread::sleep(boost::posix_time::milliseconds(1)); }
};

TEST(InternalThreadTest, IsInterruptedOnce) {
  Finisher thread;
  for (int i = 0; i < 20; ++i) {
    thread.has_cleaned_up = false;
    thread.StartInternalThread();
    thread.started.pop();
    thread.StopInternalThread();
    EXPECT_TRUE(thread.has_cleaned_up);
  }
}
#endif

TEST(InternalThreadTest, IsSeededByOneDrawOfItsParent) {
  vector<unsigned int> draws[2];
  unsigned int after[2];
  for (int i = 0; i < 2; ++i) {
    Caffe::set_random_seed(TestSeed());
    Reporter thread;
    thread.StartInternalThread();
    draws[i] = thread.reports.pop().draws;
    after[i] = caffe_rng_rand();
  }
  EXPECT_EQ(draws[0], draws[1]);
  EXPECT_EQ(after[0], after[1]);
  // The parent's second number follows its first, which was the seed.
  Caffe::set_random_seed(TestSeed());
  const unsigned int seed = caffe_rng_rand();
  EXPECT_EQ(caffe_rng_rand(), after[0]);
  Caffe::set_random_seed(seed);
  EXPECT_EQ(caffe_rng_rand(), draws[0][0]);
}

/// Leaves by must_stop(), with a thread of its own that is still there.
class Owner : public InternalThread {
 public:
  ~Owner() override { StopInternalThread(); }
  BlockingQueue<int> started;
  std::atomic<bool> ended{false};

 protected:
  void InternalThreadEntry() override {
    {
      Waiter inner;
      inner.StartInternalThread();
      started.push(inner.started.pop());
      while (!must_stop()) std::this_thread::yield();
    }
    ended = true;
  }
};

TEST(InternalThreadTest, EndsThreadsOfItsOwnWhileItIsStopped) {
  Owner thread;
  thread.StartInternalThread();
  thread.started.pop();
  thread.StopInternalThread();
  EXPECT_TRUE(thread.ended);
}

TEST(InternalThreadTest, InheritsTheSettings) {
  const Context::Settings before = Context::Current().settings();
  Context::Settings settings = before;
  settings.solver_count = 4;
  settings.solver_rank = 2;
  Context::Current().set_settings(settings);
  Reporter thread;
  thread.StartInternalThread();
  const Context::Settings found = thread.reports.pop().settings;
  Context::Current().set_settings(before);
  EXPECT_EQ(found.solver_count, 4);
  EXPECT_EQ(found.solver_rank, 2);
}

}  // namespace
}  // namespace caffe
