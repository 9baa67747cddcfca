#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace driftsieve {

// Calls work(begin, end) for consecutive chunks of [0, n), where each thread has work = make(), and
// with it room of its own. Which thread takes which chunk never matters: chunks write to disjoint
// features. Each begins with a share of its own and then helps the others: what it asks memory for
// is much the same every time, and there from the last time. The first exception is thrown again
// here.
template <class Make>
void parallel_work(std::size_t n, std::size_t chunk, unsigned n_threads, const Make& make) {
    struct Share {
        std::atomic<std::size_t> next;
        std::size_t end;
    };
    const std::size_t n_chunks = (n + chunk - 1) / chunk;
    const std::size_t n_shares =
        std::clamp<std::size_t>(n_threads, 1, std::max<std::size_t>(n_chunks, 1));
    std::vector<Share> shares(n_shares);
    for (std::size_t i = 0; i < n_shares; ++i) {
        shares[i].next = n_chunks * i / n_shares;
        shares[i].end = n_chunks * (i + 1) / n_shares;
    }
    std::exception_ptr failure;
    std::mutex failure_lock;
    const auto drain = [&](std::size_t own) {
        try {
            auto work = make();
            for (std::size_t i = 0; i < n_shares; ++i) {
                Share& share = shares[(own + i) % n_shares];
                for (std::size_t k; (k = share.next.fetch_add(1)) < share.end;)
                    work(k * chunk, std::min(n, (k + 1) * chunk));
            }
        } catch (...) {
            const std::lock_guard<std::mutex> guard(failure_lock);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::jthread> helpers;
    try {
        for (std::size_t i = 1; i < n_shares; ++i) helpers.emplace_back(drain, i);
    } catch (const std::system_error&) {  // no more threads: those there are do it all
    }
    drain(0);
    helpers.clear();  // joins
    if (failure) std::rethrow_exception(failure);
}

// The same for work that needs no room.
template <class Work>
void parallel_chunks(std::size_t n, std::size_t chunk, unsigned n_threads, const Work& work) {
    parallel_work(n, chunk, n_threads, [&] { return std::cref(work); });
}

}  // namespace driftsieve
