#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace driftsieve {

// Calls work(begin, end) for consecutive chunks of [0, n), where each thread has work = make(), and
// with it room of its own. Which thread takes which chunk never matters: chunks write to disjoint
// features. The first exception is thrown again here.
template <class Make>
void parallel_work(std::size_t n, std::size_t chunk, unsigned n_threads, const Make& make) {
    const std::size_t n_chunks = (n + chunk - 1) / chunk;
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    const auto drain = [&] {
        try {
            auto work = make();
            for (std::size_t k; (k = next.fetch_add(1)) < n_chunks;)
                work(k * chunk, std::min(n, (k + 1) * chunk));
        } catch (...) {
            const std::lock_guard<std::mutex> guard(failure_lock);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < n_threads && i < n_chunks; ++i) helpers.emplace_back(drain);
    drain();
    helpers.clear();  // joins
    if (failure) std::rethrow_exception(failure);
}

// The same for work that needs no room.
template <class Work>
void parallel_chunks(std::size_t n, std::size_t chunk, unsigned n_threads, const Work& work) {
    parallel_work(n, chunk, n_threads, [&] { return std::cref(work); });
}

}  // namespace driftsieve
