#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/cell_block.hpp"
#include "driftsieve/counted_cells.hpp"
#include "driftsieve/moments.hpp"
#include "driftsieve/packed_summary.hpp"
#include "driftsieve/rows.hpp"
#include "driftsieve/run_column.hpp"

namespace driftsieve {

struct Config {
    double epsilon = 0.01;
    bool moments = true;
    bool quantiles = true;
    bool ignore_missing = false;

    // Up to this many distinct values a summary is never pruned.
    std::size_t exact_values() const { return static_cast<std::size_t>(1.0 / epsilon) + 1; }
    // Into about this many cells the values of a feature are counted.
    std::size_t cells() const {
        return quantiles ? std::min(4 * exact_values(), CellMap::kMostCells) : 1;
    }

    // So many values of a sparse feature at once are worth cells.
    std::size_t long_run() const { return 8 * exact_values(); }

    void check_value(double value) const {
        require(std::isfinite(value) || (ignore_missing && std::isnan(value)));
    }
};

// Room to work in for rows of one kind of weight; each thread has its own.
template <class Weight>
struct ScratchOf {
    SummaryOf<Weight> ours;
    SummaryOf<Weight> theirs;
    SummaryOf<Weight> merged;
    SummaryOf<Weight> more;
    CellBlock<Weight> cells;
};
struct Scratch : ScratchOf<double> {
    ScratchOf<std::uint32_t> narrow;
    std::vector<double> ones;
    std::vector<Weighed> rows;
    CellMap map;
    Room<std::uint32_t> finest;
    std::vector<double> values;
    RunColumn run;

    // Cells for a column, and in `finest` where its values lie in them.
    const CellMap& fit(const BlockColumn& column, std::size_t cells) {
        values.resize(column.size());
        for (std::size_t i = 0; i < column.size(); ++i) values[i] = column.value(i);
        std::vector<double> sample(CellMap::sample_size(values.size()));
        for (std::size_t i = 0; i < sample.size(); ++i)
            sample[i] = values[i * CellMap::sample_step(values.size())];
        map.fit(sample, cells);
        find(map);
        return map;
    }
    void find(const CellMap& in) {
        finest.resize(values.size());
        kernels().finest_cells(values.data(), values.size(), in.rule(), finest.data());
    }
};

// What one feature remembers of the rows of one class, its summary apart.
struct ClassState {
    double missing = 0.0;  // weight of the rows that do not count because the value was missing
    Moments moments;

    void check() const {
        require_weight(missing);
        require_weight(moments.weight);
        require(!(moments.m2 < 0.0));
    }
};

// Whether later blocks may be counted into the cells of this one, or its cells become part of the
// summary.
enum class Counting { goes_on, ends };

// What one feature remembers of its rows.
struct FeatureState {
    std::vector<ClassState> classes;  // by class; those that are not there have met nothing
    PackedSummary summary;
    std::vector<CountedCells> counting;  // one, or none; beside the summary

    ClassState& of(std::uint32_t cls) {
        if (cls >= classes.size()) classes.resize(cls + 1);
        return classes[cls];
    }

    std::span<const double> counted_weights() {
        return counting.empty() ? std::span<const double>() : counting[0].room<double>();
    }

    // Those that the summary or the cells know of.
    std::size_t n_classes() const {
        return std::max(summary.n_classes(), counting.empty() ? 0 : counting[0].n_classes());
    }

    void scale(double factor, Summary& scratch) {
        if (factor == 1.0) return;
        for (ClassState& state : classes) {
            state.missing *= factor;
            state.moments.scale(factor);
        }
        if (factor == 0.0) counting.clear();
        for (CountedCells& cells : counting) cells.scale(factor);
        if (summary.empty()) return;
        summary.load(summary.n_classes(), scratch);
        scratch.scale(factor);
        summary.store(scratch);
    }

    // What the rows weigh that are in the summary and the cells: all that count for this feature,
    // but for the zeros of a sparse one.
    double held() const { return summary.weight() + (counting.empty() ? 0.0 : counting[0].held()); }

    // What the rows weigh that count for this feature, of those in `totals`; `arriving` are not in
    // yet.
    double weight(std::span<const ClassTotal> totals, double arriving) const {
        double all = 0.0;
        double missing = 0.0;
        for (std::size_t c = 0; c < totals.size(); ++c) {
            all += totals[c].weight;
            missing += c < classes.size() ? classes[c].missing : 0.0;
        }
        if (missing == 0.0) return all;
        // where nearly all is missing the difference would be what rounding has left
        const double known = held() + arriving;
        return all - missing <= known + kRounding * all ? known : all - missing;
    }

    // The whole as one summary.
    void load(std::size_t n_classes, Summary& out, Summary& scratch, Summary& more) const {
        if (counting.empty()) {
            summary.load(n_classes, out);
            return;
        }
        if (summary.empty()) {
            counting[0].load(n_classes, out);
            return;
        }
        summary.load(n_classes, scratch);
        counting[0].load(n_classes, more);
        merge_summaries(more, scratch, out);
    }

    // Adds a summary of other rows; `weight` is what all rows weigh with them.
    void absorb(const Summary& other, double weight, const Config& config, Scratch& scratch) {
        load(other.n_classes, scratch.ours, scratch.merged, scratch.more);
        counting.clear();
        merge_summaries(scratch.ours, other, scratch.merged);
        prune(scratch.merged, weight, config);
        summary.store(scratch.merged);
    }

    // Adds the rows of a block, their values with their cells. block_weight must be new in
    // `weight`: the last time that was so much less. Rows are sorted if there are no cells.
    void absorb(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
                double block_weight, double weight, const Config& config, Scratch& scratch,
                Counting later = Counting::goes_on) {
        // whole weights stay narrow as long as no sum of them can overflow
        if (column.weights == nullptr && summary.is_narrow() && counted_weights().empty() &&
            weight >= 0.0 && weight < 0x1p31) {
            absorb_rows<std::uint32_t>(column, map, finest, block_weight, weight, config, later,
                                       scratch.narrow, scratch);
            return;
        }
        BlockColumn weighted = column;
        if (column.weights == nullptr) {
            scratch.ones.assign(column.size(), 1.0);
            weighted.weights = scratch.ones.data();
        }
        absorb_rows<double>(weighted, map, finest, block_weight, weight, config, later, scratch,
                            scratch);
    }

    // `other` saw other rows; both stand at the same epoch. totals: class weights with both.
    void merge(const FeatureState& other, std::span<const std::uint32_t> class_map,
               std::span<const ClassTotal> totals, const Config& config, Scratch& scratch) {
        for (std::size_t c = 0; c < other.classes.size(); ++c) {
            ClassState& ours = of(class_map[c]);
            ours.missing += other.classes[c].missing;
            ours.moments.merge(other.classes[c].moments);
        }
        if (other.summary.empty() && other.counting.empty()) return;
        other.load(other.n_classes(), scratch.ours, scratch.merged, scratch.more);
        Summary& theirs = scratch.theirs;  // with the classes where they are here
        theirs.reset(scratch.ours.size(), totals.size());
        theirs.values = scratch.ours.values;
        theirs.hidden = scratch.ours.hidden;
        std::fill(theirs.weights.begin(), theirs.weights.end(), 0.0);
        for (std::size_t i = 0; i < theirs.size(); ++i)
            for (std::size_t c = 0; c < scratch.ours.n_classes; ++c)
                theirs.of(i)[class_map[c]] += scratch.ours.of(i)[c];
        const double arriving = std::accumulate(theirs.weights.begin(), theirs.weights.end(), 0.0);
        absorb(theirs, weight(totals, arriving), config, scratch);
    }

    void check(std::size_t n_classes) const {
        require(classes.size() <= n_classes);
        for (const ClassState& state : classes) state.check();
        require(summary.sound() && summary.n_classes() <= n_classes);
        require(counting.size() <= 1);
        for (const CountedCells& cells : counting)
            require(cells.sound() && cells.n_classes() <= n_classes);
    }

    std::size_t nbytes() const {
        std::size_t bytes = classes.capacity() * sizeof(ClassState) + summary.nbytes() +
                            counting.capacity() * sizeof(CountedCells);
        for (const CountedCells& cells : counting) bytes += cells.nbytes();
        return bytes;
    }

  private:
    static constexpr double kRounding = 1e-9;  // of sums of many rows

    template <class Weight>
    static void prune(SummaryOf<Weight>& merged, double weight, const Config& config) {
        if (merged.size() > config.exact_values())
            prune_summary(merged, static_cast<Weight>(config.epsilon * weight));
    }

    // Counts where that is allowed: cells of up to epsilon times the weight they were counted from
    // keep the promise, since then neither a mini-bin nor a cell can come to hide more than epsilon
    // of all.
    template <class Weight>
    void absorb_rows(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
                     double block_weight, double weight, const Config& config, Counting later,
                     ScratchOf<Weight>& scratch, Scratch& all) {
        using Cell = typename CellBlock<Weight>::Cell;
        const std::size_t n_classes = column.n_classes();
        const std::size_t few = config.exact_values();
        CellBlock<Weight>& cells = scratch.cells;
        const CellMap* used = &map;
        bool counted = false;
        double counted_weight = block_weight;
        if (later == Counting::goes_on && !counting.empty() &&
            counting[0].n_classes() == n_classes) {
            counted_weight += counting[0].weight;
            if (Room<Cell>& earlier = counting[0].template room<Cell>(); !earlier.empty())
                counted =
                    cells.fill_up(column, map, finest, earlier, config.epsilon * counted_weight);
        }
        if (!counting.empty() && !counted) {  // the rows have moved away from these cells
            fold<Weight>(config, scratch);
            used = &all.fit(column, config.cells());
            finest = all.finest.data();
        }
        if (!counted) {
            counted_weight = block_weight;
            counted = cells.fill(column, *used, finest, config.epsilon * block_weight, few);
        }
        const bool goes_on = later == Counting::goes_on && counted && cells.has_cells() &&
                             n_classes <= cells.kFewClasses;
        if (goes_on) {
            if (counting.empty())
                counting.emplace_back(*used, n_classes, std::move(cells.class_cells()));
            counting[0].weight = counted_weight;
            counting[0].fullest = cells.largest();
            if (cells.exact().empty() && !is_full(cells)) return;  // nothing but counting
        }
        if (!counted) {
            all.rows.clear();
            for (std::uint32_t c = 0; c < n_classes; ++c)
                for (std::size_t i = column.begin[c]; i < column.begin[c + 1]; ++i)
                    all.rows.push_back({column.value(i), column.weight(i), c});
            exact_summary<Weight>(all.rows, n_classes, scratch.theirs);
        }
        const SummaryOf<Weight>& exact = counted ? cells.exact() : scratch.theirs;
        summary.load(n_classes, scratch.ours);
        if (!exact.empty()) {
            merge_summaries(scratch.ours, exact, scratch.merged);
            std::swap(scratch.ours, scratch.merged);
        }
        if (goes_on) {
            summary.store(scratch.ours);
            if (scratch.ours.size() > 2 * few || is_full(cells)) fold<Weight>(config, scratch);
            return;
        }
        if (counted && cells.has_cells()) {
            cells.merge(scratch.ours, static_cast<Weight>(config.epsilon * weight), column,
                        scratch.merged);
            std::swap(scratch.ours, scratch.merged);
        } else {
            prune(scratch.ours, weight, config);
        }
        summary.store(scratch.ours);
    }

    // Whether another block might be more than a cell can count.
    template <class Weight>
    static bool is_full(const CellBlock<Weight>& cells) {
        return std::is_integral_v<Weight> && cells.largest() > cells.kMostInCell / 2;
    }

    // What was counted becomes part of the summary.
    template <class Weight>
    void fold(const Config& config, ScratchOf<Weight>& scratch) {
        using Cell = typename CellBlock<Weight>::Cell;
        const double weight = held();  // only dense features count
        CountedCells& counted = counting[0];
        const Room<Cell>& earlier = counted.template room<Cell>();
        if (earlier.empty()) {  // weights of another kind: rare, and done the plain way
            Summary whole, ours, theirs;
            load(n_classes(), whole, ours, theirs);
            prune(whole, weight, config);
            summary.store(whole);
        } else {
            const std::size_t classes_known = n_classes();
            summary.load(classes_known, scratch.ours);
            std::vector<Cell> known(earlier.begin(), earlier.end());
            known.resize(classes_known * (counted.map().size() + 2));  // classes that came later
            scratch.cells.resume(counted.map(), known.data(), classes_known);
            scratch.cells.merge(scratch.ours, static_cast<Weight>(config.epsilon * weight), {},
                                scratch.merged);
            summary.store(scratch.merged);
        }
        counting.clear();
    }
};

}  // namespace driftsieve
