#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "driftsieve/bank.hpp"
#include "known_labels.hpp"

namespace driftsieve::bind {

namespace nb = nanobind;

// A bank is used from one thread at a time. The GIL is released while it works, so that other
// threads go on; a second thread that comes to the same bank meanwhile is turned away.
class SharedBank {
  public:
    explicit SharedBank(Bank bank) : bank_(std::move(bank)) {}

    // Who needs the bank for more than one call, or for a look while others might work on it, holds
    // it until the last of them.
    bool is_held() const { return held_; }
    void hold() {
        if (held_.exchange(true)) throw_busy();
    }
    void let_go() { held_ = false; }

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

    // Work that is done sooner than the GIL would be released and got back. Nobody holds the bank.
    template <class Work>
    decltype(auto) use_briefly(const Work& work) {
        if (busy_) throw_busy();
        require_whole();
        return work(bank_);
    }

    const Bank& peek() const { return bank_; }

    // One that is being changed will be, as far as anybody knows.
    bool is_whole() const { return busy_ || bank_.is_whole(); }

    // Room for a row that the bank will be given later: see OpenRows. The GIL is held, so nobody
    // begins to use the bank while it is written to.
    double* place(std::size_t ahead, std::size_t n_features, std::size_t more) {
        if (busy_) throw_busy();
        return bank_.place(ahead, n_features, more);
    }

    KnownLabels labels;
    // What Python knows of the rows. It changes in the call that takes them in, so that no signal
    // comes between.
    nb::object header = nb::none();

  private:
    Bank bank_;
    std::atomic<bool> busy_{false};
    std::atomic<bool> held_{false};

    void require_whole() const {
        if (!bank_.is_whole())
            throw std::runtime_error(
                "this bank ran out of memory in the middle of an update or a merge and holds a "
                "part of it: go on from bytes or a checkpoint of before, with smaller batches, "
                "fewer features or a larger epsilon");
    }

    [[noreturn]] static void throw_busy() {
        throw std::runtime_error(
            "this bank is in use by another thread; give each thread its own bank and merge "
            "them, or lock around the calls");
    }
};

}  // namespace driftsieve::bind
