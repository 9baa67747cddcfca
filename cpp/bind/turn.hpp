#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>

namespace driftsieve::bind {

// The thread that works on something with more than one call. Other threads get an error until it
// is done. The GIL is held whenever this is used.
class Turn {
  public:
    void begin() {
        require_ours();
        thread_ = PyThread_get_thread_ident();
        ++depth_;
    }
    void end() {
        if (--depth_ == 0) thread_ = 0;
    }

    void require_ours() const {
        if (thread_ != 0 && thread_ != PyThread_get_thread_ident())
            throw std::runtime_error(
                "A screener must be used by one thread at a time. Give each thread its own, or "
                "lock "
                "around the calls.");
    }

  private:
    unsigned long thread_ = 0;  // 0: none
    int depth_ = 0;
};

}  // namespace driftsieve::bind
