#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/column.hpp"
#include "driftsieve/value_log.hpp"

namespace driftsieve {

// What a sparse feature remembers beyond its atom: values not summed up yet, and their summary.
struct SparseFeature {
    std::int64_t epoch = 0;
    std::vector<LoggedValue> pending;
    FeatureState state;

    void rebase(std::int64_t target, Summary& scratch) {
        if (epoch == target) return;
        const double factor = Fading::rebase_factor(target - epoch);
        epoch = target;
        for (LoggedValue& item : pending) item.weight *= factor;
        state.scale(factor, scratch);
    }

    // For as many values as are known to come, or twice what there was.
    void make_room_for(std::size_t more) {
        const std::size_t needed = pending.size() + more;
        if (needed > pending.capacity())
            pending.reserve(std::max<std::size_t>(needed, 2 * pending.capacity()));
    }

    void fold(std::span<const ClassTotal> totals, const Config& config, Scratch& scratch) {
        if (config.moments)
            for_each_class(pending, 1.0, [&](std::uint32_t cls, const Moments& moments) {
                state.of(cls).moments.merge(moments);
            });
        if (config.quantiles) {
            // Sorted, not counted into cells: cells may hide a share of what these rows add to the
            // weight, but here that was added, and spent, when the rows were logged.
            scratch.rows.clear();
            for (const LoggedValue& item : pending)
                scratch.rows.push_back({item.value, item.weight, item.cls});
            exact_summary(std::span(scratch.rows), totals.size(), scratch.theirs);
            state.absorb(scratch.theirs, state.weight(totals), config, scratch);
        }
        // give the room back: most features are rarely seen
        pending = std::vector<LoggedValue>();
    }

    // Adds values on their way to a column, their weights multiplied by `factor`: their moments,
    // and themselves to `rows`.
    static void add(std::span<const LoggedValue> items, double factor, const Config& config,
                    Column& column, std::vector<Weighed>& rows) {
        if (items.empty()) return;
        for (const LoggedValue& item : items) {
            if (std::isnan(item.value))
                column.missing[item.cls] += item.weight * factor;
            else
                rows.push_back({item.value, item.weight * factor, item.cls});
        }
        if (config.moments)
            for_each_class(items, factor, [&](std::uint32_t cls, const Moments& moments) {
                column.moments[cls].merge(moments);
            });
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(epoch, pending, state);
    }

    std::size_t nbytes() const { return pending.capacity() * sizeof(LoggedValue) + state.nbytes(); }

  private:
    // Class by class, in the order of the rows: take(cls, moments of what is not missing).
    template <class Take>
    static void for_each_class(std::span<const LoggedValue> items, double factor,
                               const Take& take) {
        std::vector<std::uint32_t> classes;
        for (const LoggedValue& item : items)
            if (std::find(classes.begin(), classes.end(), item.cls) == classes.end())
                classes.push_back(item.cls);
        std::vector<double> values;
        std::vector<double> weights;
        for (const std::uint32_t cls : classes) {
            values.clear();
            weights.clear();
            for (const LoggedValue& item : items) {
                if (item.cls != cls || std::isnan(item.value)) continue;
                values.push_back(item.value);
                weights.push_back(item.weight * factor);
            }
            const bool unit =
                std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1.0; });
            take(cls, Moments::of(values.data(), unit ? nullptr : weights.data(), values.size()));
        }
    }
};

}  // namespace driftsieve
