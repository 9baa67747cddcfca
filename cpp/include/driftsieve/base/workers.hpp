#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace driftsieve {

// Threads that wait for work, kept from one call to the next: starting one takes as long as a small
// block of rows. There are never more than the largest number of helpers requested at once.
class Workers {
  public:
    // The workers of this process. They are never destroyed, because threads may wait in them until
    // the end. A forked process has none of the threads, and starts its own.
    static Workers& of_process() {
        static std::atomic<Workers*> workers{nullptr};
        Workers* found = workers.load();
        while (found == nullptr || found->process_ != this_process()) {
            Workers* fresh = new Workers;
            if (workers.compare_exchange_strong(found, fresh)) return *fresh;
            delete fresh;
        }
        return *found;
    }

    // Calls work(0) here and work(1) to work(n_helpers) in other threads, unless work(0) ends
    // before they begin: then nothing is left for them. work() does not throw.
    void run(std::size_t n_helpers, const std::function<void(std::size_t)>& work) {
        Job job{work, n_helpers};
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            add_threads(n_helpers);
            jobs_.push_back(&job);
        }
        wake(n_helpers);
        work(0);
        std::unique_lock<std::mutex> lock(mutex_);
        std::erase(jobs_, &job);
        job.is_done.wait(lock, [&] { return job.n_running == 0; });
    }

  private:
    struct Job {
        const std::function<void(std::size_t)>& work;
        std::size_t n_helpers;
        std::size_t n_begun = 0;
        std::size_t n_running = 0;
        std::condition_variable is_done{};
    };

    std::mutex mutex_;
    std::condition_variable has_job_;
    std::deque<Job*> jobs_;  // that need more helpers
    std::size_t n_threads_ = 0;
    long process_ = this_process();

    static long this_process() {
#if __has_include(<unistd.h>)
        return static_cast<long>(getpid());
#else
        return 0;
#endif
    }

    void add_threads(std::size_t n_helpers) {
        try {
            for (; n_threads_ < n_helpers; ++n_threads_) std::thread([this] { serve(); }).detach();
        } catch (const std::system_error&) {  // no more threads: the existing ones do all the work
        }
    }

    // Wakes two threads at most; each of them wakes two more. So the caller begins its own work
    // soon: waking one takes microseconds.
    void wake(std::size_t n_wanted) {
        for (std::size_t i = 0; i < std::min<std::size_t>(n_wanted, 2); ++i) has_job_.notify_one();
    }

    void serve() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            has_job_.wait(lock, [&] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            const std::size_t number = ++job.n_begun;
            const std::size_t n_wanted = job.n_helpers - number;
            if (n_wanted == 0) jobs_.pop_front();
            ++job.n_running;
            lock.unlock();
            wake(n_wanted);
            job.work(number);
            lock.lock();
            if (--job.n_running == 0) job.is_done.notify_one();
        }
    }
};

}  // namespace driftsieve
