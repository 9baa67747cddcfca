#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "driftsieve/fading.hpp"
#include "driftsieve/rows.hpp"

namespace driftsieve {

enum class Clock : std::uint8_t { sample, batch, time };

// The clock of a bank: what it counts, how far it has come, and how fast what it read fades.
class Timeline {
  public:
    // Beyond it, clock readings that differ are no longer different doubles.
    static constexpr std::uint64_t kLastTick = std::uint64_t{1} << 53;

    Timeline() = default;
    Timeline(Clock clock, double half_life) : clock_(clock), fading_(half_life) {}

    Clock clock() const { return clock_; }
    const Fading& fading() const { return fading_; }
    std::uint64_t ticks() const { return ticks_; }
    double now() const { return now_; }  // the latest reading; -infinity before any

    // What a weight stored at `epoch` is multiplied by, seen from now.
    double unit(std::int64_t epoch) const { return 1.0 / fading_.weight(now_, epoch); }

    // Reads the clock for the rows that come, into `times` unless they bring theirs. Throws before
    // anything has changed.
    void read(std::size_t n_rows, RowInfo& info, std::vector<double>& times) {
        if (n_rows > kLastTick - ticks_)
            throw std::invalid_argument("the clock has come to its end, tick 2^53");
        double latest = static_cast<double>(ticks_);
        if (clock_ == Clock::time) {
            for (const double t : info.times) fading_.epoch_of(t);
            latest = n_rows == 0 ? now_ : *std::max_element(info.times.begin(), info.times.end());
        } else if (fading_.fades()) {
            times.resize(n_rows);
            for (std::size_t i = 0; i < n_rows; ++i)
                times[i] = static_cast<double>(ticks_ + (clock_ == Clock::sample ? i : 0));
            info.times = times;
        }
        if (!fading_.fades()) info.times = {};
        if (clock_ == Clock::sample) latest += static_cast<double>(n_rows) - 1.0;
        if (n_rows > 0 || clock_ == Clock::batch) {
            fading_.epoch_of(latest);  // throws if out of range
            now_ = std::max(now_, latest);
        }
        ticks_ += clock_ == Clock::batch ? 1 : n_rows;
    }

    // `other` read `start` less. Throws before anything has changed.
    void join(const Timeline& other, double start) {
        const double their_ticks = static_cast<double>(other.ticks_) + start;
        if (!(their_ticks <= static_cast<double>(kLastTick)))
            throw std::invalid_argument("the rows would end after tick 2^53: use an earlier start");
        if (std::isfinite(other.now_)) fading_.epoch_of(other.now_ + start);  // throws if too far
        if (other.ticks_ == 0) return;
        ticks_ = std::max(ticks_, static_cast<std::uint64_t>(std::max(0.0, their_ticks)));
        now_ = std::max(now_, other.now_ + start);
    }

    // Rows of the same stream, which others have, were read up to `now`.
    void catch_up(double now) { now_ = std::max(now_, now); }

    template <class Archive>
    void archive_kind(Archive& ar) {
        double half_life = fading_.half_life();
        ar(clock_, half_life);
        require(clock_ <= Clock::time && half_life > 0.0);
        // While a bank is stored nothing is written: other threads may ask for its settings.
        if constexpr (requires { ar.expect_end(); }) fading_ = Fading(half_life);
    }
    template <class Archive>
    void archive_readings(Archive& ar) {
        ar(ticks_, now_);
        require(ticks_ <= kLastTick);
    }

    // What has come from bytes is believed only after this.
    void check() const {
        require(!std::isnan(now_) && now_ < std::numeric_limits<double>::infinity());
    }

  private:
    Clock clock_ = Clock::sample;
    Fading fading_;
    std::uint64_t ticks_ = 0;
    double now_ = -std::numeric_limits<double>::infinity();
};

}  // namespace driftsieve
