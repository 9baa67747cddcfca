#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/base/config.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/moments.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/base/squares.hpp"
#include "driftsieve/quantiles/cell_block.hpp"
#include "driftsieve/quantiles/counted_cells.hpp"
#include "driftsieve/quantiles/packed_summary.hpp"

namespace driftsieve {

// Buffers for rows of one kind of weight; one for each thread.
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
    std::vector<double> sample;

    // Finds the finest cells of these values in `map`.
    void find(std::span<const double> of) {
        finest.resize(of.size());
        kernels().finest_cells(of.data(), of.size(), map.rule(), finest.data());
    }
    // The same in new cells that are chosen for them: see CellMap::fit().
    void fit(std::span<const double> to, std::size_t cells,
             std::size_t most_coarse = CellMap::kCoarse) {
        sample.resize(CellMap::sample_size(to.size()));
        for (std::size_t i = 0; i < sample.size(); ++i)
            sample[i] = to[i * CellMap::sample_step(to.size())];
        map.fit(sample, cells, most_coarse);
        find(to);
    }
};

// The state of one feature for the rows of one class, without its summary.
struct ClassState {
    double missing = 0.0;  // weight of the rows that do not count because the value was missing
    double missing_squared = 0.0;  // sum of their squared weights
    Moments moments;

    void scale(double factor) {
        missing *= factor;
        missing_squared *= factor * factor;
        moments.scale(factor);
    }

    void check() const {
        require_weight(missing);
        require_weight(missing_squared);
        require_weight(moments.weight);
        require(!(moments.m2 < 0.0));
    }
};

// Whether later blocks may be counted into the cells of this one. Otherwise its cells become part
// of the summary.
enum class Counting { goes_on, ends };

// Values of one feature in a block of rows, with the cells they lie in. The values are sorted if
// the map has no cells.
struct BlockValues {
    const BlockColumn& column;
    const CellMap& map;
    const std::uint32_t* finest;  // the finest cell of each value
    double block_weight;          // of the rows that are new in `weight`
    double weight;                // of all rows of the feature, these included
};

// The state of one feature.
struct FeatureState {
    std::vector<ClassState> classes;  // by class; missing entries have no rows
    PackedSummary summary;
    // At most one, beside the summary. Not std::optional, which takes eight times as many bytes as
    // the rest, and most sparse features have none.
    std::vector<CountedCells> counting;

    ClassState& of(std::uint32_t cls) {
        if (cls >= classes.size()) classes.resize(cls + 1);
        return classes[cls];
    }

    // Largest size of its class states: a vector doubles when it is full.
    static constexpr std::size_t most_class_bytes(std::size_t n_classes) {
        return std::max(n_classes, 2 * n_classes - std::min<std::size_t>(n_classes, 2)) *
               sizeof(ClassState);
    }

    std::span<const double> counted_weights() {
        return counting.empty() ? std::span<const double>() : counting[0].room<double>();
    }

    const CountedCells* counted() const { return counting.empty() ? nullptr : &counting[0]; }

    // Number of classes in the summary or the cells.
    std::size_t n_classes() const {
        return std::max(summary.n_classes(), counting.empty() ? 0 : counting[0].n_classes());
    }

    void scale(double factor, Summary& scratch) {
        if (factor == 1.0) return;
        for (ClassState& state : classes) state.scale(factor);
        if (factor == 0.0) counting.clear();
        for (CountedCells& cells : counting) cells.scale(factor);
        if (summary.empty()) return;
        summary.load(summary.n_classes(), scratch);
        scratch.scale(factor);
        summary.store(scratch);
    }

    // Weight of the rows in the summary and the cells: all that count for this feature, except for
    // the zeros of a sparse one.
    double held() const { return summary.weight() + (counting.empty() ? 0.0 : counting[0].held()); }

    // Weight of the rows in `totals` that count for this feature; `arriving` rows are not added
    // yet.
    double weight(std::span<const ClassTotal> totals, double arriving, const Config& config) const {
        if (config.absent_is_missing) return held() + arriving;
        double all = 0.0;
        double missing = 0.0;
        for (std::size_t c = 0; c < totals.size(); ++c) {
            all += totals[c].weight;
            missing += c < classes.size() ? classes[c].missing : 0.0;
        }
        if (missing == 0.0) return all;
        // if nearly all values are missing, the difference is only a rounding error
        const double known = held() + arriving;
        return all - missing <= known + kRounding * all ? known : all - missing;
    }

    // Everything as one summary.
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

    // Adds a summary of other rows; `weight` is the weight of all rows with them.
    void absorb(const Summary& other, double weight, const Config& config, Scratch& scratch) {
        load(other.n_classes, scratch.ours, scratch.merged, scratch.more);
        counting.clear();
        merge_summaries(scratch.ours, other, scratch.merged);
        if (scratch.merged.size() > config.exact_values())
            prune_summary(scratch.merged, thrifty_budget(scratch.merged, config.epsilon * weight));
        summary.store(scratch.merged);
    }

    // Adds the values of a block of rows.
    void absorb(const BlockValues& block, const Config& config, Scratch& scratch,
                Counting later = Counting::goes_on) {
        const BlockColumn& column = block.column;
        // whole weights stay narrow as long as no sum of them can overflow
        if (column.weights == nullptr && summary.is_narrow() && counted_weights().empty() &&
            block.weight >= 0.0 && block.weight < 0x1p31) {
            absorb_rows<std::uint32_t>(block, config, later, scratch.narrow, scratch);
            return;
        }
        BlockColumn weighted = column;
        if (column.weights == nullptr) {
            scratch.ones.assign(column.size(), 1.0);
            weighted.weights = scratch.ones.data();
        }
        absorb_rows<double>({weighted, block.map, block.finest, block.block_weight, block.weight},
                            config, later, scratch, scratch);
    }

    // Adds the rows of `other`; both are at the same epoch. totals: class weights of both together.
    void merge(const FeatureState& other, std::span<const std::uint32_t> class_map,
               std::span<const ClassTotal> totals, const Config& config, Scratch& scratch) {
        for (std::size_t c = 0; c < other.classes.size(); ++c) {
            ClassState& ours = of(class_map[c]);
            ours.missing += other.classes[c].missing;
            ours.missing_squared += other.classes[c].missing_squared;
            ours.moments.merge(other.classes[c].moments);
        }
        if (other.summary.empty() && other.counting.empty()) return;
        other.load(other.n_classes(), scratch.ours, scratch.merged, scratch.more);
        Summary& theirs = scratch.theirs;  // with the classes numbered as in this state
        theirs.reset(scratch.ours.size(), totals.size());
        theirs.values = scratch.ours.values;
        theirs.hidden = scratch.ours.hidden;
        std::fill(theirs.weights.begin(), theirs.weights.end(), 0.0);
        for (std::size_t i = 0; i < theirs.size(); ++i)
            for (std::size_t c = 0; c < scratch.ours.n_classes; ++c)
                theirs.of(i)[class_map[c]] += scratch.ours.of(i)[c];
        const double arriving = std::accumulate(theirs.weights.begin(), theirs.weights.end(), 0.0);
        absorb(theirs, weight(totals, arriving, config), config, scratch);
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
    static constexpr double kRounding = 1e-9;  // sums of many rows

    // Mass that a list may hide after rows of the weight `added`, if `weight` is that of all rows:
    // the share for new rows, or the share it hid before if merges made that larger.
    template <class Weight>
    static Weight budget(const SummaryOf<Weight>& list, double added, double weight,
                         const Config& config) {
        const double before = weight - added;
        const double as_before = before > 0.0 ? list.most_hidden() * (weight / before) : 0.0;
        return static_cast<Weight>(
            std::min(config.epsilon * weight, std::max(config.hidden_of(weight), as_before)));
    }

    template <class Weight>
    static void prune(SummaryOf<Weight>& merged, double added, double weight,
                      const Config& config) {
        if (merged.size() > config.exact_values())
            prune_summary(merged, budget(merged, added, weight, config));
    }

    // Parameters of the steps that add a block.
    template <class Weight>
    struct Intake {
        const BlockValues& block;
        const Config& config;
        ScratchOf<Weight>& scratch;
        Scratch& all;
        const CellMap* map = &block.map;  // or new cells
        const std::uint32_t* finest = block.finest;

        std::size_t n_classes() const { return block.column.n_classes(); }
        CellBlock<Weight>& cells() const { return scratch.cells; }
    };

    // Counts values if that is allowed. Cells of up to a share of the weight they were counted from
    // keep the guarantee: neither a mini-bin nor a cell can hide more than that share of all
    // weight, or than the share that the list hid before if that is larger.
    template <class Weight>
    void absorb_rows(const BlockValues& block, const Config& config, Counting later,
                     ScratchOf<Weight>& scratch, Scratch& all) {
        Intake<Weight> intake{block, config, scratch, all};
        bool goes_on = later == Counting::goes_on;
        if (!goes_on || !count_on(intake)) {
            if (!counting.empty()) move_cells(intake);
            if (!count(intake)) {
                absorb_sorted(intake);
                return;
            }
            goes_on =
                goes_on && intake.cells().has_cells() && intake.n_classes() <= kCountedClasses;
            if (goes_on) begin_counting(intake);
        }
        if (goes_on)
            absorb_exact(intake);
        else
            absorb_cells(intake);
    }

    // Counts into the cells of earlier blocks. Returns false if there are none for such rows, or if
    // the values are mostly outside of them.
    template <class Weight>
    bool count_on(const Intake<Weight>& intake) {
        using Cell = typename CellBlock<Weight>::Cell;
        if (counting.empty() || counting[0].n_classes() != intake.n_classes()) return false;
        CountedCells& counted = counting[0];
        Room<Cell>& earlier = counted.template room<Cell>();
        const auto n = static_cast<double>(intake.block.column.size());
        const bool may_overflow =
            std::is_integral_v<Weight> && counted.fullest + n > CellBlock<Weight>::kMostInCell;
        const double weight = counted.weight + intake.block.block_weight;
        const BlockValues& block = intake.block;
        if (earlier.empty() || may_overflow ||
            !intake.cells().fill_up(block.column, block.map, block.finest, earlier,
                                    intake.config.hidden_of(weight)))
            return false;
        counted.weight = weight;
        counted.fullest = intake.cells().largest();
        return true;
    }

    // Cells that cannot be used any more become part of the summary, and the block gets new ones.
    template <class Weight>
    void move_cells(Intake<Weight>& intake) {
        fold<Weight>(intake, intake.block.weight - intake.block.block_weight);
        const BlockColumn& column = intake.block.column;
        Scratch& all = intake.all;
        all.values.resize(column.size());
        for (std::size_t i = 0; i < column.size(); ++i) all.values[i] = column.value(i);
        all.fit(all.values, intake.config.cells());
        intake.map = &all.map;
        intake.finest = all.finest.data();
    }

    // Counts into new cells; returns false if sorting is better.
    template <class Weight>
    static bool count(const Intake<Weight>& intake) {
        const BlockValues& block = intake.block;
        return intake.cells().fill(block.column, *intake.map, intake.finest,
                                   intake.config.hidden_of(block.block_weight),
                                   intake.config.exact_values());
    }

    template <class Weight>
    void begin_counting(const Intake<Weight>& intake) {
        counting.emplace_back(*intake.map, intake.n_classes(),
                              std::move(intake.cells().class_cells()));
        counting[0].weight = intake.block.block_weight;
        counting[0].fullest = intake.cells().largest();
    }

    // Adds the values that were taken out of cells which continue to be counted into.
    template <class Weight>
    void absorb_exact(const Intake<Weight>& intake) {
        if (intake.cells().exact().empty()) return;  // all values were counted
        load_with(intake.cells().exact(), intake);
        summary.store(intake.scratch.ours);
        if (intake.scratch.ours.size() > 2 * intake.config.exact_values())
            fold<Weight>(intake, intake.block.weight);
    }

    // Adds the values that were counted into cells, and those that were taken out of them.
    template <class Weight>
    void absorb_cells(const Intake<Weight>& intake) {
        SummaryOf<Weight>& ours = intake.scratch.ours;
        load_with(intake.cells().exact(), intake);
        if (intake.cells().has_cells()) {
            intake.cells().merge(ours, budget(ours, intake), intake.block.column,
                                 intake.scratch.merged);
            std::swap(ours, intake.scratch.merged);
        } else {
            prune(ours, intake);
        }
        summary.store(ours);
    }

    // Adds the values one by one.
    template <class Weight>
    void absorb_sorted(const Intake<Weight>& intake) {
        const BlockColumn& column = intake.block.column;
        std::vector<Weighed>& rows = intake.all.rows;
        rows.clear();
        for (std::uint32_t c = 0; c < intake.n_classes(); ++c)
            for (std::size_t i = column.begin[c]; i < column.begin[c + 1]; ++i)
                rows.push_back({column.value(i), column.weight(i), c});
        exact_summary<Weight>(rows, intake.n_classes(), intake.scratch.theirs);
        load_with(intake.scratch.theirs, intake);
        prune(intake.scratch.ours, intake);
        summary.store(intake.scratch.ours);
    }

    // Writes the summary with these mini-bins to `ours`.
    template <class Weight>
    void load_with(const SummaryOf<Weight>& exact, const Intake<Weight>& intake) const {
        ScratchOf<Weight>& scratch = intake.scratch;
        summary.load(intake.n_classes(), scratch.ours);
        if (exact.empty()) return;
        merge_summaries(scratch.ours, exact, scratch.merged);
        std::swap(scratch.ours, scratch.merged);
    }

    template <class Weight>
    static Weight budget(const SummaryOf<Weight>& list, const Intake<Weight>& intake) {
        return budget(list, intake.block.block_weight, intake.block.weight, intake.config);
    }
    template <class Weight>
    static void prune(SummaryOf<Weight>& list, const Intake<Weight>& intake) {
        prune(list, intake.block.block_weight, intake.block.weight, intake.config);
    }

    // Makes the counted values part of the summary. `weight` is that of all rows so far.
    template <class Weight>
    void fold(const Intake<Weight>& intake, double weight) {
        using Cell = typename CellBlock<Weight>::Cell;
        const Config& config = intake.config;
        ScratchOf<Weight>& scratch = intake.scratch;
        CountedCells& counted = counting[0];
        const Room<Cell>& earlier = counted.template room<Cell>();
        if (earlier.empty()) {  // weights of another kind: rare, so the simple way
            Summary whole, ours, theirs;
            load(n_classes(), whole, ours, theirs);
            prune(whole, 0.0, weight, config);
            summary.store(whole);
        } else {
            const std::size_t classes_known = n_classes();
            summary.load(classes_known, scratch.ours);
            std::vector<Cell> known(earlier.begin(), earlier.end());
            known.resize(classes_known * (counted.map().size() + 2));  // classes that came later
            scratch.cells.resume(counted.map(), known.data(), classes_known);
            scratch.cells.merge(scratch.ours, budget(scratch.ours, counted.weight, weight, config),
                                {}, scratch.merged);
            summary.store(scratch.merged);
        }
        counting.clear();
    }
};

}  // namespace driftsieve
