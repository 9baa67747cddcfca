#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "driftsieve/base/workers.hpp"

namespace driftsieve {

// Calls work(begin, end) for consecutive chunks of [0, n). Each thread has its own work = make(),
// with its own buffers. The result does not depend on which thread takes which chunk: chunks write
// to disjoint features. Each thread begins with its own share and then helps the others, so that it
// mostly needs the same memory as the last time. The first exception is rethrown here.
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
    // Whatever fails, the others are worked on.
    const auto guarded = [&](const auto& action) {
        try {
            action();
        } catch (...) {
            const std::lock_guard<std::mutex> guard(failure_lock);
            if (!failure) failure = std::current_exception();
        }
    };
    const auto drain = [&](std::size_t own) {
        guarded([&] {
            auto work = make();
            for (std::size_t i = 0; i < n_shares; ++i) {
                Share& share = shares[(own + i) % n_shares];
                for (std::size_t k; (k = share.next.fetch_add(1)) < share.end;)
                    guarded([&] { work(k * chunk, std::min(n, (k + 1) * chunk)); });
            }
        });
    };
    if (n_shares == 1)
        drain(0);
    else
        Workers::of_process().run(n_shares - 1, drain);
    if (failure) std::rethrow_exception(failure);
}

// The same for work without buffers.
template <class Work>
void parallel_chunks(std::size_t n, std::size_t chunk, unsigned n_threads, const Work& work) {
    parallel_work(n, chunk, n_threads, [&] { return std::cref(work); });
}

}  // namespace driftsieve
