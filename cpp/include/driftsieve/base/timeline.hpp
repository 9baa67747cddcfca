#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/base/views.hpp"

namespace driftsieve {

enum class Clock : std::uint8_t { row, batch, time };

// The clock of a bank: its unit, its latest reading and its fading.
class Timeline {
  public:
    // Above it, consecutive clock readings are no longer different doubles.
    static constexpr std::uint64_t kLastTick = std::uint64_t{1} << 53;

    Timeline() = default;
    Timeline(Clock clock, double half_life) : clock_(clock), fading_(half_life) {}

    // The same readings, which fade otherwise.
    Timeline with_half_life(double half_life) const {
        Timeline timeline = *this;
        timeline.fading_ = Fading(half_life);
        return timeline;
    }

    Clock clock() const { return clock_; }
    const Fading& fading() const { return fading_; }
    std::uint64_t ticks() const { return ticks_; }
    double now() const { return now_; }  // the latest reading; -infinity before any

    // Factor of a weight stored at `epoch` for its present value.
    double unit(std::int64_t epoch) const { return 1.0 / fading_.weight(now_, epoch); }

    // Reads the clock for new rows, into `times` unless the rows have times. Throws before any
    // change.
    void read(std::size_t n_rows, RowInfo& info, std::vector<double>& times) {
        if (n_rows > kLastTick - ticks_)
            throw std::invalid_argument("The clock must be below tick 2^53, got this tick.");
        double latest = static_cast<double>(ticks_);
        if (clock_ == Clock::time) {
            for (const double t : info.times) fading_.epoch_of(t);
            latest = n_rows == 0 ? now_ : *std::max_element(info.times.begin(), info.times.end());
        } else if (fading_.fades()) {
            times.resize(n_rows);
            for (std::size_t i = 0; i < n_rows; ++i)
                times[i] = static_cast<double>(ticks_ + (clock_ == Clock::row ? i : 0));
            info.times = times;
        }
        if (!fading_.fades()) info.times = {};
        if (clock_ == Clock::row) latest += static_cast<double>(n_rows) - 1.0;
        if (n_rows > 0 || clock_ == Clock::batch) {
            fading_.epoch_of(latest);  // throws if out of range
            now_ = std::max(now_, latest);
        }
        ticks_ += clock_ == Clock::batch ? 1 : n_rows;
    }

    // The readings of `other` are shifted by `start`. Throws before any change.
    void join(const Timeline& other, double start) {
        const double their_ticks = static_cast<double>(other.ticks_) + start;
        if (!(their_ticks <= static_cast<double>(kLastTick)))
            throw std::invalid_argument(
                "The last row must be before tick 2^53. Use an earlier start.");
        if (std::isfinite(other.now_)) fading_.epoch_of(other.now_ + start);  // throws if too far
        if (other.ticks_ == 0) return;
        ticks_ = std::max(ticks_, static_cast<std::uint64_t>(std::max(0.0, their_ticks)));
        now_ = std::max(now_, other.now_ + start);
    }

    template <class Archive>
    void archive_kind(Archive& ar) {
        double half_life = fading_.half_life();
        ar(clock_, half_life);
        require(clock_ <= Clock::time && half_life > 0.0);
        // Storing a bank does not write to it: other threads may read its settings.
        if constexpr (requires { ar.expect_end(); }) fading_ = Fading(half_life);
    }
    template <class Archive>
    void archive_readings(Archive& ar) {
        ar(ticks_, now_);
        require(ticks_ <= kLastTick);
    }

    // Validates a deserialized state.
    void check() const {
        require(!std::isnan(now_) && now_ < std::numeric_limits<double>::infinity());
    }

  private:
    Clock clock_ = Clock::row;
    Fading fading_;
    std::uint64_t ticks_ = 0;
    double now_ = -std::numeric_limits<double>::infinity();
};

}  // namespace driftsieve
