"""The checks of cli_test.sh on pictures: plot_checks.py CHECK ARGUMENTS... Values are read off the axes by their tick
labels, as a reader would do."""
import itertools
import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
from scipy.spatial import cKDTree

from cli_checks import load, tensor

SVG = "{http://www.w3.org/2000/svg}"
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
ROUNDED = 0.06  # pixels: coordinates are written to a tenth


def make_plots():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(10000, 4)) * [3, 2, 1, 1]
    for n in 1, 10, 10000:
        np.save(f"N{n}.npy", rows[:n])
        for classes in 1, 2, 12:
            np.save(f"N{n}C{classes}.npy", (np.arange(n) % classes + 1).astype("i4"))
    np.save("NOISE.npy", np.arange(10) % 3 - 1)
    np.save("SIGNS.npy", np.arange(10) % 2 * 2 - 1)
    np.save("LONG.npy", rng.normal(size=(60000, 4)))
    np.save("ROUND.npy", rng.normal(size=(100, 40)))
    np.save("REAL.npy", rng.normal(size=10000))
    np.save("CONSTANT.npy", np.tile([3.0, 2, 1, 0], (5, 1)))
    np.save("PLANE10000.npy", rng.normal(size=(10000, 2)))
    np.save("ONE.npy", rng.normal(size=(1, 2)))
    np.save("TEN.npy", rng.normal(size=(10, 2)) * 6)
    with open("NAMES.csv", "w") as file, open("SEMAN.csv", "w") as reversed_file:
        runs = ["run 10", "2", "blue", "10", "run 2", "1"] * 2
        lines = [f"{x:.3f},{y:.3f},{run},{[10, 3, 2, 1][i % 4]}\n"
                 for i, ((x, y), run) in enumerate(zip(rng.normal(size=(12, 2)), runs))]
        for out, order in (file, lines), (reversed_file, lines[::-1]):
            out.write("x,y,run,number\n" + "".join(order))
    np.save("PLANE.npy", rng.normal(size=(300, 2)) * [2, 1] + [5, -1])


    with open("FLOWERS.csv", "w") as file:  # row 7 has no width
        print("length,width,species,mass,number", file=file)
        for i, (a, b) in enumerate(rng.normal(size=(150, 2)) + np.arange(150)[:, None] % 3):
            species = ["red & round", "<green>", "blue"][i % 3]
            print(f"{a:.3f},{'' if i == 7 else f'{b:.3f}'},{species},{a + 2 * b:.3f},{i}", file=file)


def shift(element):
    found = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", ""))
    return np.array([float(g) for g in found.groups()]) if found else np.zeros(2)


def placed(element, origin=0):
    """Yields all elements, each with the place of its origin in the picture. For a text, box() adds the text's own
    shift."""
    here = origin if element.tag == SVG + "text" else origin + shift(element)
    yield element, here
    for child in element:
        yield from placed(child, here)


def group(svg, name):
    return [e for e in svg.iter() if e.get("class") == name]


def box(text, origin):
    """Returns the approximate box of a text. Letters count as 0.55 of the font size wide, the mean of Helvetica."""
    size = float(text.get("font-size"))
    width, height = 0.55 * size * len(text.text), 0.75 * size
    left = {None: 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
    if text.get("transform"):
        x, y = origin + shift(text)
        return x - height, y - width + left, x, y + left
    x, y = origin + [float(text.get("x")), float(text.get("y"))]
    return x - left, y - height, x - left + width, y


class Axis:
    """An axis, read from the path of its ticks and the labels after the path."""

    def __init__(self, path, siblings):
        steps = re.findall(r"M([-\d.]+) ([-\d.]+)([vh])(-?[\d.]+)", path.get("d"))
        at = siblings.index(path) + 1
        texts = [e.text or "" for e in itertools.takewhile(lambda e: e.tag == SVG + "text", siblings[at:])]
        self.vertical = steps[0][2] == "h"
        long = [s for s in steps if abs(float(s[3])) > 3]
        self.x = {float(s[0]) for s in steps}
        self.pixels = np.array([float(s[1 if self.vertical else 0]) for s in steps])
        self.labelled = np.array([float(s[1 if self.vertical else 0]) for s in long])
        self.labels, self.title = texts[: len(long)], texts[len(long)]
        power = re.search("×10([⁻⁰¹²³⁴-⁹]+)", self.title)
        unit = 10.0 ** int(power[1].translate(SUPERSCRIPTS)) if power else 1
        self.log = self.labels[0].startswith("10") and self.labels[0][2:3] in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻" and len(self.labels[0]) > 2
        self.values = np.array([unit * self.value(label) for label in self.labels])

    def value(self, label):
        if self.log:
            return 10.0 ** int(label[2:].translate(SUPERSCRIPTS))
        number = float(label.replace("−", "-").rstrip(" %"))
        return number / 100 if label.endswith("%") else number

    def read(self, pixels):
        """Returns the values at pixels. Values, or their logarithms on a logarithmic axis, lie on a line through the
        outermost ticks."""
        values = np.log10(self.values) if self.log else self.values
        slope = (values[-1] - values[0]) / (self.labelled[-1] - self.labelled[0])
        found = values[0] + slope * (np.asarray(pixels) - self.labelled[0])
        return 10**found if self.log else found

    def error(self):
        """Returns the largest error of a value that is read off, from the rounding of the marks and of the ticks."""
        values = np.log10(self.values) if self.log else self.values
        return 4 * ROUNDED * abs((values[-1] - values[0]) / (self.labelled[-1] - self.labelled[0]))


def axes(panel):
    found = [Axis(e, list(panel)) for e in panel if e.get("class") == "ticks"]
    return found[0], found[1], found[2:]


def points(panel, layer=-1):
    """Returns the centres of the circles of a layer, and the number of its marks."""
    marks = group(panel, "marks")[layer]
    leaves = [e for e in marks.iter() if e.tag != SVG + "g"]
    circles = [e for e in leaves if e.tag == SVG + "circle"]
    return np.array([[float(c.get("cx")), float(c.get("cy"))] for c in circles]).reshape(-1, 2), len(leaves)


def sound(path):
    """Checks that a picture is self-contained, that ticks are on the frame, and that texts are inside and do not
    overlap."""
    svg = ET.parse(path).getroot()
    allowed = {SVG + name for name in "svg g title rect path circle text".split()}
    assert {e.tag for e in svg.iter()} <= allowed
    assert not [a for e in svg.iter() for a in e.attrib if "href" in a or a.startswith("on")]
    width, height = float(svg.get("width")), float(svg.get("height"))
    boxes = [(box(e, at), e.text) for e, at in placed(svg) if e.tag == SVG + "text"]
    for (x0, y0, x1, y1), text in boxes:
        assert x0 >= 0 and y0 >= 0 and x1 <= width and y1 <= height, (text, x0, y0, x1, y1, width, height)
    for ((ax0, ay0, ax1, ay1), a), ((bx0, by0, bx1, by1), b) in itertools.combinations(boxes, 2):
        assert ax1 <= bx0 or bx1 <= ax0 or ay1 <= by0 or by1 <= ay0, (a, b)
    for panel in group(svg, "panel"):
        (frame,) = group(panel, "frame")
        for axis in [e for e in panel if e.get("class") == "ticks"]:
            axis = Axis(axis, list(panel))
            length = float(frame.get("height" if axis.vertical else "width"))
            assert len(axis.labels) >= 1 and axis.pixels.min() >= -ROUNDED and axis.pixels.max() <= length + ROUNDED
    return svg


def picture(path, count, *names):
    """Checks that a picture of one or more panels has `count` marks, and these names in the legend."""
    svg = sound(path)
    marks = sum(points(panel, k)[1] for panel in group(svg, "panel") for k in range(len(group(panel, "marks"))))
    assert marks == int(count), marks
    legend = [e.text for g in group(svg, "legend") for e in g.iter(SVG + "text")]
    assert legend == list(names), legend


def classes(path, count):
    svg = sound(path)
    legend = [e.text for g in group(svg, "legend") for e in g.iter(SVG + "text")]
    assert legend == [str(k + 1) for k in range(int(count))], legend
    looks = [(g[0].tag, g.get("fill")) for g in group(svg, "legend")[0].iter(SVG + "g") if g.get("fill")]
    paths = [g[0].get("d", "") for g in group(svg, "legend")[0].iter(SVG + "g") if g.get("fill")]
    assert len({(tag, fill, path.count("l")) for (tag, fill), path in zip(looks, paths)}) == int(count), looks


def scatter(path, scores, i="1", j="2"):
    """Checks that the values read off the picture are the scores."""
    (panel,) = group(sound(path), "panel")
    x, y, _ = axes(panel)
    found, count = points(panel)
    z = np.load(scores)
    wanted = np.stack([z[:, int(i) - 1] if i != "0" else np.arange(len(z)), z[:, int(j) - 1]], axis=1)
    read = np.stack([x.read(found[:, 0]), y.read(found[:, 1])], axis=1)
    assert count == len(z) == len(found), (count, len(z))
    unit = np.array([x.error(), y.error()])
    for these, those in (read, wanted), (wanted, read):  # each mark must be at a score, and each score at a mark
        gap, _ = cKDTree(those / unit).query(these / unit, p=np.inf)
        assert gap.max() <= 1, gap.max()
    if i != "0":
        assert x.title.startswith(f"component {i} (") and "% of the variance" in x.title, x.title


def scree(path, model):
    svg = sound(path)
    (panel,) = group(svg, "panel")
    values = tensor(model, "lambda").ravel()
    _, y, (right,) = axes(panel)
    found, count = points(panel)
    assert count == len(values)
    read, error = y.read(found[:, 1]), y.error()
    assert (np.abs(np.log10(read / values)) if y.log else np.abs(read - values)).max() <= error, (read, values)
    assert y.log == (values.max() > 100 * values.min()), (y.log, values)
    squares = [e for e in group(panel, "marks")[0].iter(SVG + "rect")]
    middles = [float(s.get("y")) + float(s.get("height")) / 2 for s in squares]
    total = load("info.json")["total_variance"]["value"]
    assert np.abs(right.read(middles) - values.cumsum() / total).max() <= 2 * right.error()


BAR = re.compile(r"(?:M\S+ ([-\d.]+)h[-\d.]+)?M\S+ ([-\d.]+)V([-\d.]+)(?:M\S+ [-\d.]+h[-\d.]+|(M\S+ \S+L\S+ \S+L[-\d.]+ [-\d.]+))")


def bars(path, some="0"):
    """Checks that the error bars are those of the report, that they end in arrows where they continue below the axis,
    and that the marks of components that overlap noise are hollow."""
    (panel,) = group(ET.parse(path).getroot(), "panel")
    _, y, _ = axes(panel)
    (drawn,) = group(panel, "bars")
    (frame,) = group(panel, "frame")
    bottom = y.read(float(frame.get("height")))
    report = load("info.json")["error_bars"]
    found = BAR.findall(drawn.get("d"))
    assert len(found) == len(report["lower"]), (len(found), drawn.get("d"))
    for (cap, high, low, arrow), upper, lower in zip(found, report["upper"], report["lower"]):
        clipped = lower < bottom
        assert bool(arrow) == clipped and bool(cap) == (upper >= bottom), (arrow, cap, upper, lower, bottom)
        for pixels, value in (high, upper), (low, lower):
            value, read = max(value, bottom), y.read(float(pixels))
            assert abs(np.log10(read / value) if y.log else read - value) <= 2 * y.error(), (read, value)
    hollow = [c for g in group(panel, "marks")[-1] if g.get("fill") == "#fff" for c in g]
    assert len(hollow) == sum(report["overlaps_noise"]) >= int(some), len(hollow)


def decades(path, most):
    """Checks that a logarithmic axis spans at most `most` decades: it shows the eigenvalues, but not values that are
    only rounding errors."""
    (panel,) = group(ET.parse(path).getroot(), "panel")
    _, y, _ = axes(panel)
    assert y.log and np.log10(y.values[-1] / y.values[0]) <= int(most), y.labels


def points_of(path, count):
    (panel,) = group(sound(path), "panel")
    assert points(panel)[1] == int(count)


def shows_the_map(path, count):
    """Checks that the points are so small that the map remains visible: all together they cover at most a third of
    it."""
    (panel,) = group(sound(path), "panel")
    (frame,) = group(panel, "frame")
    (marks,) = group(panel, "marks")
    ink = 0.0
    for style in marks:
        assert style.get("stroke") is None
        ink += float(style.get("fill-opacity", 1)) * sum(np.pi * float(c.get("r")) ** 2 for c in style)
    assert points(panel)[1] == int(count)
    assert ink <= float(frame.get("width")) * float(frame.get("height")) / 3, ink


def crossing(path, level, out):
    """Saves the points of the contour line at the limit of 95 or 99 %, read off the picture."""
    (panel,) = group(sound(path), "panel")
    x, y, _ = axes(panel)
    lines = [e for e in panel if e.tag == SVG + "path" and e.get("stroke") == "#000"]
    pixels = np.array(re.findall(r"[ML]([-\d.]+) ([-\d.]+)", lines[int(level == "99")].get("d")), dtype=float)
    np.save(out, np.stack([x.read(pixels[:, 0]), y.read(pixels[:, 1])], axis=1))


def at_limit(values, level):
    """Checks that values on the contour line are within 5 % of the limit. The line is not more accurate, because it is
    interpolated linearly in cells of 1/160 of the picture."""
    limit, values = load("info.json")["limits"]["residual"][f"p{level}"], np.load(values).ravel()
    assert len(values) > 20 and np.abs(values / limit - 1).max() < 0.05, (limit, values.min(), values.max())


def colour_bar(path):
    svg = sound(path)
    assert group(svg, "colours") and not group(svg, "legend")


def size_of(svg):
    root = ET.parse(svg).getroot()
    return float(root.get("width")), float(root.get("height"))


def png(path, svg):
    """Checks that a PNG has twice the width and height of the SVG, and more than 5000 bytes, so that it is not
    empty."""
    blob = open(path, "rb").read()
    assert blob[:8] == b"\x89PNG\r\n\x1a\n" and blob[12:16] == b"IHDR", blob[:16]
    found = int.from_bytes(blob[16:20], "big"), int.from_bytes(blob[20:24], "big")
    assert all(0 <= pixels - 2 * length < 1 for pixels, length in zip(found, size_of(svg))), (found, size_of(svg))
    assert len(blob) > 5000, len(blob)


def pdf(path, svg):
    blob = open(path, "rb").read()
    assert blob.startswith(b"%PDF-") and b"%%EOF" in blob[-32:]
    box = [float(x) for x in re.search(rb"/MediaBox *\[ *([-\d. ]+)\]", blob)[1].split()]
    wanted = [0, 0, *(0.75 * length for length in size_of(svg))]
    assert np.abs(np.array(box) - wanted).max() < 0.01, (box, wanted)


def title(path):
    svg = sound(path)
    texts = [e.text for e in svg.iter(SVG + "text")]
    assert "a < b & \"c\" 'd' \ufffd\ufffd" in texts, texts


def caption(path, text):
    assert text in [e.text for e in sound(path).iter(SVG + "text")]


def small(path, most):
    size = len(open(path, "rb").read())
    assert size < int(most), size


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
