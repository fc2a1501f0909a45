#include "raster.h"
#include "failure.h"

#include <cmath>
#include <dlfcn.h>
#include <mercer/mercer.h>

namespace cli {

namespace {

// The few functions of librsvg-2 (2.46 or later) and cairo that are called, with the types of their
// headers.
struct Rectangle {
    double x, y, width, height;
};
// returns 0 on success
using Write = int (*)(void *closure, const unsigned char *bytes, unsigned count);

struct Libraries {
    void *(*rsvg_handle_new_from_data)(const unsigned char *data, size_t size, void **error) = nullptr;
    int (*rsvg_handle_render_document)(void *handle, void *cairo, const Rectangle *viewport, void **error) = nullptr;
    void (*g_object_unref)(void *object) = nullptr;
    void *(*cairo_image_surface_create)(int format, int width, int height) = nullptr;
    void *(*cairo_pdf_surface_create_for_stream)(Write write, void *closure, double width, double height) = nullptr;
    int (*cairo_surface_write_to_png_stream)(void *surface, Write write, void *closure) = nullptr;
    void (*cairo_surface_finish)(void *surface) = nullptr;
    int (*cairo_surface_status)(void *surface) = nullptr;
    void (*cairo_surface_destroy)(void *surface) = nullptr;
    void *(*cairo_create)(void *surface) = nullptr;
    void (*cairo_destroy)(void *cairo) = nullptr;
    bool found = true;

    Libraries() {
        void *rsvg = open("librsvg-2.so.2"), *object = open("libgobject-2.0.so.0"), *cairo = open("libcairo.so.2");
        find(rsvg, "rsvg_handle_new_from_data", rsvg_handle_new_from_data);
        find(rsvg, "rsvg_handle_render_document", rsvg_handle_render_document);
        find(object, "g_object_unref", g_object_unref);
        find(cairo, "cairo_image_surface_create", cairo_image_surface_create);
        find(cairo, "cairo_pdf_surface_create_for_stream", cairo_pdf_surface_create_for_stream);
        find(cairo, "cairo_surface_write_to_png_stream", cairo_surface_write_to_png_stream);
        find(cairo, "cairo_surface_finish", cairo_surface_finish);
        find(cairo, "cairo_surface_status", cairo_surface_status);
        find(cairo, "cairo_surface_destroy", cairo_surface_destroy);
        find(cairo, "cairo_create", cairo_create);
        find(cairo, "cairo_destroy", cairo_destroy);
    }

  private:
    // The libraries are never closed, because their functions stay in use.
    static void *open(const char *name) { return ::dlopen(name, RTLD_NOW | RTLD_LOCAL); }
    template <class Function>
    void find(void *library, const char *name, Function &function) {
        function = library ? reinterpret_cast<Function>(::dlsym(library, name)) : nullptr;
        found &= function != nullptr;
    }
};

const Libraries &libraries(const std::string &ending) {
    static const Libraries all;
    if (!all.found)
        throw Failure(MERCER_E_UNSUPPORTED, "pictures as " + ending +
                                                " need librsvg 2.46 and cairo, which are not installed: write F.svg "
                                                "and convert it, for example with `rsvg-convert F.svg -o F" +
                                                ending + "`, Inkscape or a browser");
    return all;
}

int append(void *closure, const unsigned char *bytes, unsigned count) {
    static_cast<std::string *>(closure)->append(reinterpret_cast<const char *>(bytes), count);
    return 0;
}

} // namespace

void check_encoder(const std::string &ending) {
    if (ending == ".png" || ending == ".pdf") libraries(ending);
}

std::string encoded(const std::string &svg, const std::string &ending, double width, double height) {
    constexpr double points = 0.75, dots = 2; // of a PDF and of a PNG, for each pixel of 1/96 inch
    constexpr int argb32 = 0;
    if (ending != ".png" && ending != ".pdf") return svg;
    const Libraries &call = libraries(ending);
    const bool pdf = ending == ".pdf";
    const double scale = pdf ? points : dots;
    const Rectangle viewport = {0, 0, scale * width, scale * height};
    std::string out;
    void *surface = pdf ? call.cairo_pdf_surface_create_for_stream(append, &out, viewport.width, viewport.height)
                        : call.cairo_image_surface_create(argb32, static_cast<int>(std::ceil(viewport.width)),
                                                          static_cast<int>(std::ceil(viewport.height)));
    void *cairo = call.cairo_create(surface), *error = nullptr;
    void *handle =
        call.rsvg_handle_new_from_data(reinterpret_cast<const unsigned char *>(svg.data()), svg.size(), &error);
    bool drawn = handle && call.rsvg_handle_render_document(handle, cairo, &viewport, &error) != 0;
    call.cairo_destroy(cairo);
    if (!pdf) drawn = drawn && call.cairo_surface_write_to_png_stream(surface, append, &out) == 0;
    call.cairo_surface_finish(surface);
    drawn = drawn && (!pdf || call.cairo_surface_status(surface) == 0);
    call.cairo_surface_destroy(surface);
    if (handle) call.g_object_unref(handle);
    if (!drawn) throw Failure(MERCER_E_INTERNAL, "librsvg could not draw the picture as " + ending + ": write F.svg");
    return out;
}

} // namespace cli
