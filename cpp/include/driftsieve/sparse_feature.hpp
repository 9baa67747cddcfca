#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
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

    // Counts the missing values of a run, and returns the others, in their order.
    std::span<const LoggedValue> take_missing(std::span<LoggedValue> run) {
        std::size_t present = 0;
        for (const LoggedValue& item : run) {
            if (std::isnan(item.value))
                state.of(item.cls).missing += item.weight;
            else
                run[present++] = item;
        }
        return run.first(present);
    }

    // Keeps values to be summed up later, in as much room as they need or twice what there was.
    void wait(std::span<const LoggedValue> run) {
        const std::size_t needed = pending.size() + run.size();
        if (needed > pending.capacity())
            pending.reserve(std::max<std::size_t>(needed, 2 * pending.capacity()));
        pending.insert(pending.end(), run.begin(), run.end());
    }

    // Sums up what waits and a run of values that has come after it, none of them missing. To be
    // counted into cells, a run must be long, and its weight new in `totals`: cells hide a share of
    // what their rows add to the weight, which must not have been spent before.
    void fold(std::span<const LoggedValue> run, bool is_new, std::span<const ClassTotal> totals,
              const Config& config, Scratch& scratch) {
        const BlockColumn& column = scratch.run.take(pending, run, totals.size());
        if (config.moments)
            for (std::uint32_t c = 0; c < column.n_classes(); ++c) {
                const std::size_t begin = column.begin[c];
                if (column.begin[c + 1] == begin) continue;
                state.of(c).moments.merge(
                    Moments::of(column.data + begin,
                                column.weights == nullptr ? nullptr : column.weights + begin,
                                column.begin[c + 1] - begin));
            }
        if (is_new && run.size() >= config.long_run())
            fit_cells(run, column, config, scratch);
        else
            scratch.map = CellMap();  // no cells: the values are sorted
        const auto sum = [](std::span<const LoggedValue> items) {
            return std::accumulate(
                items.begin(), items.end(), 0.0,
                [](double weight, const LoggedValue& item) { return weight + item.weight; });
        };
        const double run_weight = sum(run);
        const double weight = state.weight(totals, sum(pending) + run_weight);
        state.absorb(column, scratch.map, scratch.finest.data(), run_weight, weight, config,
                     scratch, Counting::ends);
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
    // Cells by what the run is like, rows of any class; and where the column's values lie in them.
    static void fit_cells(std::span<const LoggedValue> run, const BlockColumn& column,
                          const Config& config, Scratch& scratch) {
        scratch.values.resize(CellMap::sample_size(run.size()));
        for (std::size_t i = 0; i < scratch.values.size(); ++i)
            scratch.values[i] = run[i * CellMap::sample_step(run.size())].value;
        scratch.map.fit(scratch.values, config.cells());
        scratch.finest.resize(column.size());
        kernels().finest_cells(column.data, column.size(), scratch.map.rule(),
                               scratch.finest.data());
    }

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
