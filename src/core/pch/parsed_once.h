// What most files of src/ include and what takes long to parse, compiled once (a precompiled header): a fifth of the time of a
// build. No file may rely on it: each includes what it uses, and `./dev test --full clang` builds without it (-Db_pch=false).
#include "../json.h"
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>
