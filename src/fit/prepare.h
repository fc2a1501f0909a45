// A first pass over the rows: the input map T, the bandwidths and shifts of the kernel, the types to use.
#pragma once
#include "../gram/data.h"
#include "../recipe/recipe.h"

#include <optional>

namespace mercer {

bool tile_is_f32(const Recipe &recipe, const Source &source);
// f32: overrides the tile type that tile_is_f32 chooses.
Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32 = {});
// Memory that prepare holds, in addition to the weights of the rows.
Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source);

// The rows in a form that can be read at will, without those that data.missing leaves out.
std::shared_ptr<const Source> rows_of(Run &run, const Recipe &recipe, std::shared_ptr<const Source> source);
Data data_of(Run &run, const Recipe &recipe, const Data &given);

} // namespace mercer
