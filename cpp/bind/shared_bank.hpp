#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "driftsieve/bank/ladder.hpp"
#include "known_labels.hpp"

namespace driftsieve::bind {

namespace nb = nanobind;

// A bank is used from one thread at a time. The GIL is released while it works, so that other
// threads run; a second thread that uses the same bank meanwhile gets an error.
class SharedBank {
  public:
    explicit SharedBank(Ladder bank) : bank_(std::move(bank)) {}

    // Code that needs the bank for more than one call, or reads it while other threads might change
    // it, holds it until it is done.
    bool is_held() const { return held_; }
    void hold() {
        if (held_.exchange(true)) throw_busy();
    }
    void release() { held_ = false; }

    template <class Work>
    decltype(auto) use(const Work& work) {
        if (busy_.exchange(true)) throw_busy();
        struct Release {
            std::atomic<bool>& busy;
            ~Release() { busy = false; }
        } release{busy_};
        require_whole();
        nb::gil_scoped_release no_gil;
        return work(bank_);
    }

    // Work that takes less time than releasing the GIL. The bank must not be held.
    template <class Work>
    decltype(auto) use_briefly(const Work& work) {
        if (busy_) throw_busy();
        require_whole();
        return work(bank_);
    }

    const Ladder& ladder() const { return bank_; }
    // For properties that are the same at all half-lives.
    const Bank& peek() const { return bank_.first(); }

    // A bank that is being changed counts as whole.
    bool is_whole() const { return busy_ || bank_.is_whole(); }

    // Space for a row that the bank gets later: see OpenRows. The GIL is held, so that no other
    // thread uses the bank while it is written to.
    double* place(std::size_t ahead, std::size_t n_features, std::size_t more) {
        if (busy_) throw_busy();
        return bank_.place(ahead, n_features, more);
    }

    KnownLabels labels;
    // The header that Python keeps. It changes in the call that adds the rows, so that no signal
    // comes in between.
    nb::object header = nb::none();

  private:
    Ladder bank_;
    std::atomic<bool> busy_{false};
    std::atomic<bool> held_{false};

    void require_whole() const {
        if (!bank_.is_whole())
            throw std::runtime_error(
                "The bank is incomplete, because an update or a merge ran out of memory. Restore "
                "it "
                "from earlier bytes or a checkpoint, and use smaller batches, fewer features or a "
                "larger epsilon.");
    }

    [[noreturn]] static void throw_busy() {
        throw std::runtime_error(
            "A bank must be used by one thread at a time. Give each thread its own bank and merge "
            "them, or lock around the calls.");
    }
};

}  // namespace driftsieve::bind
