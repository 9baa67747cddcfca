#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

namespace driftsieve {

// Forward decay on a fixed grid of landmarks.
//
// A row of clock reading t has the weight 2^(-(now - t) / half_life). Old weights never shrink:
// new ones grow. The stored weight is 2^((t - landmark) / half_life). Landmarks are the multiples
// of kSpan half-lives, the same for every state. So a move to the next landmark multiplies every
// stored number by exactly 2^-kSpan, which loses no bit, and two states merge exactly whatever
// their landmarks.
//
// epoch e covers the clock readings [e, e + 1) * kSpan * half_life; stored weights are relative to
// the END of the epoch, so they lie in (2^-kSpan, 1] and neither they nor their squares overflow.
class Fading {
  public:
    static constexpr int kSpan = 256;
    // Below this a weight counts as 0: it is at most 2^-700 of the weight of a new row. The limit
    // keeps (slow, inexact) denormal numbers out of every sum.
    static constexpr double kSmallestLog2 = -960.0;

    Fading() = default;
    explicit Fading(double half_life) : half_life_(half_life), span_(kSpan * half_life) {}

    // A half-life so long that a span of them overflows means no fading.
    bool fades() const { return span_ < std::numeric_limits<double>::infinity(); }
    double half_life() const { return half_life_; }

    std::int64_t epoch_of(double t) const {
        if (!fades()) return 0;
        const double epoch = std::floor(t / span_);
        if (!(std::abs(epoch) < 0x1p53))
            throw std::invalid_argument(
                "A time must be within 2^53 * 256 half-lives of 0. Use a longer half-life, or "
                "measure time from a later origin.");
        return static_cast<std::int64_t>(epoch);
    }

    // That of the latest of these clock readings.
    std::int64_t latest_epoch(std::span<const double> times) const {
        return times.empty() ? 0 : epoch_of(*std::max_element(times.begin(), times.end()));
    }

    // Stored weight of a unit row read at t, in a state at `epoch`.
    double weight(double t, std::int64_t epoch) const {
        if (!fades()) return 1.0;
        // fma: the distance from the landmark keeps all its digits, also for large t
        const double since = std::fma(-static_cast<double>(epoch), span_, t);
        const double log2_weight = since / half_life_ - kSpan;
        return log2_weight < kSmallestLog2 ? 0.0 : std::exp2(log2_weight);
    }

    // Factor of stored weights when a state moves `epochs` landmarks forward.
    static double rebase_factor(std::int64_t epochs) {
        if (epochs == 0) return 1.0;  // the most frequent case
        return epochs > 4 ? 0.0 : std::ldexp(1.0, -kSpan * static_cast<int>(epochs));
    }

  private:
    double half_life_ = std::numeric_limits<double>::infinity();
    double span_ = std::numeric_limits<double>::infinity();
};

}  // namespace driftsieve
