#include <cstdlib>
#include <stdexcept>
#include <string>

#include "driftsieve/kernels.hpp"

namespace driftsieve {

namespace baseline {
extern const Kernels kernels;
}
#ifdef DRIFTSIEVE_X86
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

namespace {

const Kernels& pick() {
    const Kernels* best = &baseline::kernels;
    const char* wanted = std::getenv("DRIFTSIEVE_SIMD");
    const std::string name = wanted == nullptr ? "" : wanted;
    if (name == baseline::kernels.name) return *best;
#ifdef DRIFTSIEVE_X86
    // what x86-64-v3 and x86-64-v4 stand for, as far as these loops use it
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi2");
    const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                            __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl");
    if (has_avx2) best = &avx2::kernels;
    if (has_avx2 && name == best->name) return *best;
    if (has_avx512) best = &avx512::kernels;
#endif
    if (!name.empty() && name != best->name)
        throw std::runtime_error("DRIFTSIEVE_SIMD is \"" + name +
                                 "\", which is not one of baseline, avx2 and avx512 or which this "
                                 "machine does not have");
    return *best;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& picked = pick();
    return picked;
}

}  // namespace driftsieve
