// A precompiled header of what most files of the command include and what takes long to parse. No
// file may rely on it: each includes what it uses, and `./dev test --full clang` builds without it
// (-Db_pch=false).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>
