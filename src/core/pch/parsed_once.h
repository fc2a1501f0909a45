// A precompiled header, which contains what most files of src/ include and what takes long to
// parse; it saves a fifth of the time of a build. No file may rely on it: each file includes what
// it uses, and `./dev test --full clang` builds without it (-Db_pch=false).
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
