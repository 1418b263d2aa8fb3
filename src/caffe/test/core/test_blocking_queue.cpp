#include "caffe/util/blocking_queue.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

TEST(BlockingQueueTest, GivesBackInOrder) {
  BlockingQueue<int> queue;
  queue.push(1);
  queue.push(2);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.peek(), 1);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop("waiting"), 2);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BlockingQueueTest, TriesWithoutWaiting) {
  BlockingQueue<int> queue;
  int value = 7;
  EXPECT_FALSE(queue.try_pop(&value));
  EXPECT_FALSE(queue.try_peek(&value));
  EXPECT_EQ(value, 7);
  queue.push(3);
  EXPECT_TRUE(queue.try_peek(&value));
  EXPECT_EQ(value, 3);
  EXPECT_TRUE(queue.try_pop(&value));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BlockingQueueTest, WaitsForAnotherThread) {
  BlockingQueue<int> requests, answers;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) answers.push(requests.pop() * 2);
  });
  for (int i = 0; i < 1000; ++i) {
    requests.push(i);
    ASSERT_EQ(answers.pop(), 2 * i);
  }
  other.join();
}

TEST(BlockingQueueTest, GivesWhatIsLeftAndThenTheErrorItWasClosedWith) {
  BlockingQueue<int> queue;
  queue.push(3);
  queue.Close(std::make_exception_ptr(Error("the source is gone")));
  EXPECT_EQ(queue.peek(), 3);
  EXPECT_EQ(queue.pop(), 3);
  EXPECT_EQ(ErrorOf([&] { queue.pop(); }), "the source is gone");
  EXPECT_EQ(ErrorOf([&] { queue.peek(); }), "the source is gone");
}

TEST(BlockingQueueTest, IsEmptyAndOpenWhenItIsCleared) {
  BlockingQueue<int> queue;
  queue.push(3);
  queue.Close(std::make_exception_ptr(Error("the source is gone")));
  queue.Clear();
  int element = 0;
  EXPECT_FALSE(queue.try_pop(&element));
  queue.push(4);
  EXPECT_EQ(queue.pop(), 4);
}

TEST(BlockingQueueTest, TellsAThreadThatWaitsWhyItIsClosed) {
  BlockingQueue<int> queue;
  std::string error;
  std::thread other([&] { error = ErrorOf([&] { queue.pop(); }); });
  queue.Close(std::make_exception_ptr(Error("the source is gone")));
  other.join();
  EXPECT_EQ(error, "the source is gone");
}

}  // namespace
}  // namespace caffe
