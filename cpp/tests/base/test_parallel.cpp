#include <doctest/doctest.h>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/workers.hpp"

using namespace driftsieve;

TEST_CASE("every chunk is worked on once, whatever the number of threads") {
    for (const std::size_t n : {0, 1, 15, 16, 17, 1000})
        for (const unsigned n_threads : {0, 1, 2, 3, 8}) {
            std::vector<std::atomic<int>> visits(n);
            std::atomic<int> rooms = 0;
            parallel_work(n, 16, n_threads, [&] {
                ++rooms;
                return [&](std::size_t begin, std::size_t end) {
                    CHECK(begin % 16 == 0);
                    CHECK((end - begin == 16 || end == n));
                    for (std::size_t i = begin; i < end; ++i) ++visits[i];
                };
            });
            for (const std::atomic<int>& count : visits) CHECK(count == 1);
            CHECK(rooms >= 1);
            CHECK(rooms <= static_cast<int>(n_threads > 1 ? n_threads : 1));
        }
}

TEST_CASE("threads that are kept serve several callers at once") {
    std::vector<std::jthread> callers;
    std::atomic<std::size_t> done = 0;
    for (int caller = 0; caller < 4; ++caller)
        callers.emplace_back([&] {
            for (int call = 0; call < 200; ++call)
                parallel_chunks(50, 3, 3,
                                [&](std::size_t begin, std::size_t end) { done += end - begin; });
        });
    callers.clear();  // joins
    CHECK(done == 4 * 200 * 50);
}

TEST_CASE("all helpers are woken") {
    constexpr std::size_t kHelpers = 15;
    for (int call = 0; call < 20; ++call) {
        std::mutex lock;
        std::condition_variable arrived;
        std::size_t n_arrived = 0;
        Workers::of_process().run(kHelpers, [&](std::size_t) {
            std::unique_lock<std::mutex> guard(lock);
            if (++n_arrived == kHelpers + 1) arrived.notify_all();
            // each waits until all are there
            arrived.wait_for(guard, std::chrono::minutes(1),
                             [&] { return n_arrived == kHelpers + 1; });
        });
        CHECK(n_arrived == kHelpers + 1);
    }
}

TEST_CASE("work that starts threads itself ends") {
    std::atomic<std::size_t> done = 0;
    parallel_chunks(8, 1, 4, [&](std::size_t, std::size_t) {
        parallel_chunks(10, 1, 4, [&](std::size_t, std::size_t) { ++done; });
    });
    CHECK(done == 80);
}

#if !defined(__SANITIZE_THREAD__) && !defined(_WIN32)  // neither allows it
TEST_CASE("a process that was forked has threads of its own") {
    const auto count = [] {
        std::atomic<int> done = 0;
        parallel_chunks(100, 1, 4, [&](std::size_t, std::size_t) { ++done; });
        return done.load();
    };
    CHECK(count() == 100);
    const pid_t child = fork();
    if (child == 0) _exit(count() == 100 ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}
#endif

TEST_CASE("other threads do the work of one that fails, and its exception is thrown") {
    std::atomic<std::size_t> done = 0;
    const auto work = [&](std::size_t begin, std::size_t) {
        if (begin == 40) throw std::runtime_error("no");
        ++done;
    };
    CHECK_THROWS_WITH(parallel_chunks(100, 1, 2, work), "no");
    CHECK(done == 99);
}
