// A stream of svmlight text, in pieces cut anywhere, to rows in CSR form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "driftsieve/queue.hpp"
#include "driftsieve/svmlight_line.hpp"

namespace driftsieve {

// Rows in CSR form. The arrays are owned together with whoever else holds them.
struct CsrRows {
    std::size_t n_rows = 0;
    std::size_t n_pairs = 0;
    std::shared_ptr<double[]> labels;
    std::shared_ptr<std::int64_t[]> indptr;
    std::variant<std::shared_ptr<std::int32_t[]>, std::shared_ptr<std::int64_t[]>> indices;
    std::shared_ptr<double[]> values;
};

// Guarantees:
// - Neither rows nor faults depend on how the text is cut into pieces.
// - Every line is a row, blank, or at fault. A fault throws std::invalid_argument naming the line;
//   the rows before it can still be taken, and any further text is refused with the same message.
//   With skip_bad a line at fault is left out as a whole and counted instead.
// - No bytes, however hostile, make it read or write out of bounds. Memory stays within
//   four blocks, 16 times the longest line (cut at max_line) and 4 times the most rows that ever
//   waited.
// - Pairs are kept as written: unsorted and repeated indices are the reader's business.
// Not for use by two threads at once.
class SvmlightParser {
  public:
    struct Options {
        svmlight::Format format;
        bool skip_bad;
        std::size_t max_line;  // bytes, without the newline
    };

    static constexpr std::size_t most_faults_kept = 5;

    explicit SvmlightParser(Options options) : options_(options) {}

    std::size_t rows() const noexcept { return labels_.size(); }
    std::uint64_t lines() const noexcept { return lines_; }
    std::uint64_t lines_skipped() const noexcept { return lines_skipped_; }
    std::int64_t n_columns() const noexcept { return n_columns_; }
    // What was wrong with the first few lines skipped.
    const std::vector<std::string>& faults() const noexcept { return faults_; }

    void feed(std::string_view text) {
        check_open();
        parse(text);
    }

    // The end of the text: its last line may lack a newline.
    void finish() {
        check_open();
        if (filled_ > 0) parse("\n");
        finished_ = true;
    }

    // The oldest rows waiting, at most max_rows of them, without copying their pairs.
    CsrRows take(std::size_t max_rows) {
        CsrRows taken;
        const std::size_t n = taken.n_rows = std::min(max_rows, rows());
        taken.indptr = std::make_shared_for_overwrite<std::int64_t[]>(n + 1);
        taken.indptr[0] = 0;
        std::transform(row_ends_.begin(), row_ends_.begin() + n, taken.indptr.get() + 1,
                       [this](std::int64_t end) { return end - pairs_taken_; });
        taken.n_pairs = static_cast<std::size_t>(taken.indptr[n]);
        pairs_taken_ += taken.indptr[n];
        row_ends_.take(n);
        taken.labels = labels_.take(n);
        taken.values = values_.take(taken.n_pairs);
        std::visit([&](auto& indices) { taken.indices = indices.take(taken.n_pairs); }, indices_);
        return taken;
    }

  private:
    // Small enough to stay in the second-level cache between being copied and being parsed.
    static constexpr std::size_t block = std::size_t{64} << 10;

    void check_open() const {
        if (!failure_.empty()) throw std::invalid_argument(failure_);
        if (finished_) throw std::invalid_argument("the text was finished: use a new parser");
    }

    // Text is copied in blocks behind the unfinished line, rather than parsed in place: this gives
    // the padding that the line parser needs, joins lines cut between two pieces, and keeps the
    // caller free to change its memory at any time. It costs about 2 % of the parsing.
    void parse(std::string_view text) try {
        for (; !text.empty(); text.remove_prefix(std::min(block, text.size()))) {
            append(text.substr(0, block));
            parse_whole_lines();
        }
    } catch (...) {
        // Out of memory, if not a fault: the line is lost, so the stream cannot go on.
        if (failure_.empty()) failure_ = "parsing failed after line " + std::to_string(lines_);
        throw;
    }

    void append(std::string_view piece) {
        const std::size_t needed = filled_ + piece.size() + text_padding;
        if (text_.size() < needed) text_.resize(std::max(needed, 2 * filled_));
        std::memcpy(text_.data() + filled_, piece.data(), piece.size());
        searched_ = filled_;
        filled_ += piece.size();
    }

    void parse_whole_lines() {
        const char* line = text_.data();
        const char* const end = line + filled_;
        const char* from = line + searched_;
        while (const void* found = std::memchr(from, '\n', static_cast<std::size_t>(end - from))) {
            const char* const newline = static_cast<const char*>(found);
            if (!std::exchange(dropping_line_, false)) parse_line({line, newline});
            line = from = newline + 1;
        }
        const std::string_view rest(line, end);
        if (!dropping_line_ && rest.size() > options_.max_line) {
            parse_line(rest);
            dropping_line_ = true;
        }
        filled_ = dropping_line_ ? 0 : rest.size();
        std::memmove(text_.data(), rest.data(), filled_);
    }

    void parse_line(std::string_view line) {
        ++lines_;
        if (line.size() > options_.max_line) {
            const auto limit = std::to_string(options_.max_line);
            return reject("longer than max_line = " + limit + " bytes");
        }
        const std::size_t room = svmlight::most_pairs(line.size());
        double* const values = values_.reserve(room);
        const auto into = [&](auto& indices) {
            return svmlight::parse_line(line.data(), options_.format, indices.reserve(room),
                                        values);
        };
        svmlight::Row row = std::visit(into, indices_);
        if (row.fault == svmlight::Fault::wide_index) {
            widen();
            row = std::visit(into, indices_);
        }
        if (row.fault != svmlight::Fault::none) {
            return reject(describe(row.fault, svmlight::token_at(row.token)));
        }
        if (row.blank) return;
        pairs_seen_ += static_cast<std::int64_t>(row.n_pairs);
        row_ends_.push_back(pairs_seen_);
        labels_.push_back(row.label);
        values_.push(row.n_pairs);
        std::visit([&](auto& indices) { indices.push(row.n_pairs); }, indices_);
        n_columns_ = std::max(n_columns_, row.n_columns);
    }

    void reject(const std::string& reason) {
        std::string fault = "line " + std::to_string(lines_) + ": " + reason;
        if (!options_.skip_bad) throw std::invalid_argument(failure_ = std::move(fault));
        ++lines_skipped_;
        if (faults_.size() < most_faults_kept) faults_.push_back(std::move(fault));
    }

    // Indices take 32 bits until one needs more, then 64 for the rest of the stream.
    void widen() {
        const auto& narrow = std::get<Queue<std::int32_t>>(indices_);
        Queue<std::int64_t> wide;
        std::copy(narrow.begin(), narrow.end(), wide.reserve(narrow.size()));
        wide.push(narrow.size());
        indices_ = std::move(wide);
    }

    Options options_;
    std::vector<char> text_;      // the unfinished line, and the block being parsed
    std::size_t filled_ = 0;      // bytes of text_ in use
    std::size_t searched_ = 0;    // bytes of text_ known to hold no newline
    bool dropping_line_ = false;  // inside a line that was rejected for its length
    bool finished_ = false;
    std::string failure_;

    Queue<double> labels_;
    Queue<std::int64_t> row_ends_;  // in pairs since the start of the stream
    Queue<double> values_;
    std::variant<Queue<std::int32_t>, Queue<std::int64_t>> indices_;
    std::int64_t pairs_seen_ = 0;
    std::int64_t pairs_taken_ = 0;

    std::uint64_t lines_ = 0;
    std::uint64_t lines_skipped_ = 0;
    std::int64_t n_columns_ = 0;
    std::vector<std::string> faults_;
};

}  // namespace driftsieve
