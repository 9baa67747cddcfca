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
        Entries& exact = scratch.theirs;
        for_each_class(
            [&](std::uint32_t cls, double missing, const Moments& moments) {
                ClassState& into = state.of(cls);
                into.missing += missing;
                if (config.moments) into.moments.merge(moments);
                if (config.quantiles && !exact.empty())
                    into.absorb(exact, totals[cls].weight - into.missing, config, scratch);
            },
            exact, pending);
        // give the room back: most features are rarely seen
        pending = std::vector<LoggedValue>();
    }

    void read(double factor, const Config& config, Column& column, Entries& exact,
              Entries& scratch) const {
        column.load(state, factor);
        std::vector<LoggedValue> items = pending;
        for (LoggedValue& item : items) item.weight *= factor;
        for_each_class(
            [&](std::uint32_t cls, double missing, const Moments& moments) {
                column.missing[cls] += missing;
                column.add(
                    cls, config.moments ? moments : Moments{},
                    config.quantiles ? std::span<const Entry>(exact) : std::span<const Entry>{},
                    scratch);
            },
            exact, items);
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(epoch, pending, state);
    }

    std::size_t nbytes() const { return pending.capacity() * sizeof(LoggedValue) + state.nbytes(); }

  private:
    // Sorts `items` by class and hands over what each class adds; its sorted values are in `exact`.
    template <class Take>
    static void for_each_class(const Take& take, Entries& exact, std::vector<LoggedValue>& items) {
        std::stable_sort(items.begin(), items.end(),
                         [](const auto& a, const auto& b) { return a.cls < b.cls; });
        for (std::size_t i = 0; i < items.size();) {
            const std::uint32_t cls = items[i].cls;
            double missing = 0.0;
            Moments moments;
            exact.clear();
            for (; i < items.size() && items[i].cls == cls; ++i) {
                if (std::isnan(items[i].value)) {
                    missing += items[i].weight;
                } else {
                    moments.add(items[i].value, items[i].weight);
                    exact.push_back({items[i].value, items[i].weight, 0.0});
                }
            }
            sort_exact_entries(exact);
            take(cls, missing, moments);
        }
    }
};

}  // namespace driftsieve
