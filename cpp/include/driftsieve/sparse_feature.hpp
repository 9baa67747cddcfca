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

    void rebase(std::int64_t target, Entries& scratch) {
        if (epoch == target) return;
        const double factor = Fading::rebase_factor(target - epoch);
        epoch = target;
        for (LoggedValue& item : pending) item.weight *= factor;
        state.scale(factor, scratch);
    }

    void fold(std::span<const ClassTotal> totals, const Config& config, Scratch& scratch) {
        for_each_class(pending, 1.0, [&](std::uint32_t cls, double missing, const Values& rows) {
            ClassState& into = state.of(cls);
            into.missing += missing;
            if (rows.values.empty()) return;
            if (config.moments) into.moments.merge(rows.moments());
            if (!config.quantiles) return;
            // Sorted, not counted into cells: cells may hide a share of what these rows add to the
            // class weight, but here that was added, and spent, when the rows were logged.
            exact_entries_of<double>(rows.values, rows.weights.data(), scratch.theirs);
            into.absorb(scratch.theirs, totals[cls].weight - into.missing, config, scratch);
        });
        // give the room back: most features are rarely seen
        pending = std::vector<LoggedValue>();
    }

    // Adds values on their way to a column, their weights multiplied by `factor`.
    static void add(std::span<const LoggedValue> items, double factor, const Config& config,
                    Column& column, Scratch& scratch) {
        for_each_class(items, factor, [&](std::uint32_t cls, double missing, const Values& rows) {
            column.missing[cls] += missing;
            scratch.theirs.clear();
            if (config.quantiles)
                exact_entries_of<double>(rows.values, rows.weights.data(), scratch.theirs);
            column.add(cls, config.moments ? rows.moments() : Moments{}, scratch.theirs,
                       scratch.merged);
        });
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(epoch, pending, state);
    }

    std::size_t nbytes() const { return pending.capacity() * sizeof(LoggedValue) + state.nbytes(); }

  private:
    struct Values {
        std::vector<double> values;
        std::vector<double> weights;

        Moments moments() const {
            return Moments::of(values.data(), weights_or_null(), values.size());
        }
        const double* weights_or_null() const {
            const bool unit =
                std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1.0; });
            return unit ? nullptr : weights.data();
        }
    };

    // Class by class, in the order of the rows: take(cls, weight of missing values, the others).
    template <class Take>
    static void for_each_class(std::span<const LoggedValue> items, double factor,
                               const Take& take) {
        if (items.empty()) return;
        std::vector<std::uint32_t> classes;
        for (const LoggedValue& item : items)
            if (std::find(classes.begin(), classes.end(), item.cls) == classes.end())
                classes.push_back(item.cls);
        Values rows;
        for (const std::uint32_t cls : classes) {
            double missing = 0.0;
            rows.values.clear();
            rows.weights.clear();
            for (const LoggedValue& item : items) {
                if (item.cls != cls) continue;
                if (std::isnan(item.value)) {
                    missing += item.weight * factor;
                } else {
                    rows.values.push_back(item.value);
                    rows.weights.push_back(item.weight * factor);
                }
            }
            take(cls, missing, rows);
        }
    }
};

}  // namespace driftsieve
