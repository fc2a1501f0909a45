// Kernel expressions: the recipe returns an accepted expression in a normal form, which must be
// accepted and returned unchanged.
#include "fuzz.h"

#include <string>

void fuzz_one(const uint8_t *bytes, size_t count) {
    const std::string text(reinterpret_cast<const char *>(bytes), count);
    if (text.find('\0') != text.npos) return; // a C string would end there
    static mercer_recipe *recipe = [] {
        mercer_recipe *made = nullptr;
        FUZZ_NEED(mercer_recipe_create(&made, fuzz_context(), "kpca") == MERCER_OK);
        return made;
    }();
    const int32_t status = mercer_recipe_set(recipe, "kernel", text.c_str());
    if (status != MERCER_OK) return need_refusal(status, {MERCER_E_VALUE, MERCER_E_NAME});
    const char *shown = nullptr;
    FUZZ_NEED(mercer_recipe_get(recipe, "kernel", &shown) == MERCER_OK);
    const std::string once = shown;
    FUZZ_NEED(mercer_recipe_set(recipe, "kernel", once.c_str()) == MERCER_OK);
    FUZZ_NEED(mercer_recipe_get(recipe, "kernel", &shown) == MERCER_OK && once == shown);
}
