#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

// The entries of a dictionary, in order, as CPython stores them. PyDict_Next costs more for each of
// them than all else that is done with a row, and there is no other way to them in public. The
// layout is that of CPython 3.11 to 3.13 with the GIL; elsewhere, and if a probe of it at import
// does not read what was written, nothing is found and the caller uses PyDict_Next.
namespace driftsieve::bind {

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) && \
    !defined(PYPY_VERSION)
#define DRIFTSIEVE_DICT_LAYOUT 1
#endif

struct StringEntry {  // all keys of the dictionary are strings
    PyObject* key;
    PyObject* value;
};

struct AnyEntry {
    Py_hash_t hash;
    PyObject* key;
    PyObject* value;
};

// Calls visit(entries, count), of either kind, and returns what it does; false if they are not
// found. The value of an entry that was deleted is null.
template <class Visit>
bool visit_entries(PyObject* dict, const Visit& visit) {
#ifdef DRIFTSIEVE_DICT_LAYOUT
    struct Keys {
        Py_ssize_t references;
        std::uint8_t log2_size;
        std::uint8_t log2_index_bytes;
        std::uint8_t kind;
        std::uint32_t version;
        Py_ssize_t usable;
        Py_ssize_t n_entries;
    };
    const auto* object = reinterpret_cast<const PyDictObject*>(dict);
    if (object->ma_values != nullptr) return false;  // the values are kept elsewhere
    const auto* keys = reinterpret_cast<const Keys*>(object->ma_keys);
    const auto* entries =
        reinterpret_cast<const char*>(keys + 1) + (std::size_t{1} << keys->log2_index_bytes);
    const auto count = static_cast<std::size_t>(keys->n_entries);
    if (keys->kind == 0) return visit(reinterpret_cast<const AnyEntry*>(entries), count);
    if (keys->kind == 1) return visit(reinterpret_cast<const StringEntry*>(entries), count);
#endif
    (void)dict;
    (void)visit;
    return false;
}

inline bool probe_entries() {
    const auto found = [](const nanobind::dict& dict) {
        return visit_entries(dict.ptr(), [&](const auto* entries, std::size_t count) {
            Py_ssize_t position = 0;
            PyObject* key = nullptr;
            PyObject* value = nullptr;
            std::size_t i = 0;
            for (; PyDict_Next(dict.ptr(), &position, &key, &value); ++i)
                if (i >= count || entries[i].key != key || entries[i].value != value) return false;
            return i == count;
        });
    };
    nanobind::dict strings;
    nanobind::dict numbers;
    for (int i = 0; i < 300; ++i) {  // beyond 256 entries the table before them is wider
        numbers[nanobind::int_(i)] = nanobind::float_(i + 0.5);
        strings[nanobind::str(nanobind::int_(i))] = nanobind::float_(i + 0.5);
        if (i % 100 == 0 && !(found(strings) && found(numbers))) return false;
    }
    return found(strings) && found(numbers);
}

}  // namespace driftsieve::bind
