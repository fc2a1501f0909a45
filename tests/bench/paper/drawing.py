"""Pictures in SVG: panels of lines with standard errors, and maps of levels. A method looks the same in all of them."""
import html

import numpy as np

LOOKS = {  # label, colour, marker
    "shadow": ("ShDE (shadow)", "#0072b2", "circle"), "uniform": ("uniform", "#8c8c8c", "square"),
    "nystrom": ("Nystrom, keeps all rows", "#d55e00", "triangle"),
    "wnystrom": ("WNystrom, keeps all rows", "#e69f00", "diamond"),
    "projected": ("Nystrom, projected", "#009e73", "cross"), "kmeans": ("k-means", "#cc79a7", "square"),
    "paring": ("KDE paring, cells", "#56b4e9", "triangle"), "herding": ("herding", "#5d3a9b", "diamond"),
    "rpcholesky": ("rpcholesky", "#882255", "diamond"), "kpca": ("kernel PCA", "#000000", "none"),
}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 360, 250, 58, 30, 14, 42
DASHES, SMALL = ' stroke-dasharray="5 3"', ' font-size="9" fill="#555"'


def look(name):
    """Returns label, colour, marker and dashes. "reducer x lift" has the colour and the marker of its reducer."""
    label, colour, shape = LOOKS[name.split(" x ")[0]]
    return name if " x " in name else label, colour, shape, DASHES if name == "kpca" or name.endswith("weighted") else ""


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def marker(shape, x, y, colour):
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>'
    if shape == "cross":
        return line(x - 2.6, y - 2.6, x + 2.6, y + 2.6, colour) + line(x - 2.6, y + 2.6, x + 2.6, y - 2.6, colour)
    corners = {"square": ((-2.3, -2.3), (2.3, -2.3), (2.3, 2.3), (-2.3, 2.3)), "triangle": ((0, -3.2), (3, 2.4), (-3, 2.4)),
               "diamond": ((0, -3.4), (3.4, 0), (0, 3.4), (-3.4, 0)), "none": ()}[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}"/>' if corners else ""


def ticks(low, high, count=5):
    step = 10 ** np.floor(np.log10((high - low) / count))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= count)
    first = np.ceil(low / step - 1e-9)
    return [float((first + k) * step) for k in range(int((high - first * step) / step + 1e-9) + 1)]


def log_ticks(low, high):
    """Returns ticks between 10^low and 10^high: powers of ten, and multiples of them if these are fewer than three."""
    for digits in ((1,), (1, 2, 5), range(1, 10)):
        found = [d * 10.0**k for k in range(int(np.floor(low)), int(np.ceil(high)) + 1) for d in digits
                 if low - 1e-9 <= np.log10(d * 10.0**k) <= high + 1e-9]
        if len(found) >= 3:
            break
    return found


class Axes:
    """Maps the values of a panel to places in the picture, on a logarithmic axis of y if `log` is set."""

    def __init__(self, x, y, log):
        self.log = np.log10 if log else float
        self.x, self.y = x, (self.log(y[0]), self.log(y[1]))

    def at(self, x, y):
        right, up = (x - self.x[0]) / (self.x[1] - self.x[0]), (self.log(y) - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - np.clip(up, 0, 1) * (HEIGHT - TOP - BOTTOM)

    def frame(self, title, axis, log, grid="#e8e8e8"):
        middle = (LEFT + WIDTH - RIGHT) / 2
        out = [text(middle, 18, title, more=' font-weight="bold"'), text(middle, HEIGHT - 8, axis)]
        for tick in log_ticks(*self.y) if log else ticks(*self.y):
            y = self.at(self.x[0], tick)[1]
            out += [line(LEFT, y, WIDTH - RIGHT, y, grid), text(LEFT - 6, y + 4, f"{tick:.6g}", "end")]
        for tick in ticks(*self.x, 4):
            x = self.at(tick, 10 ** self.y[0] if log else self.y[0])[0]
            out += [line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 4, "#444"), text(x, HEIGHT - BOTTOM + 17, f"{tick:g}")]
        return [*out, f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#444"/>']


def bounds(lines, log, level, marked):
    means, errors = np.moveaxis(np.array(list(lines.values())), 2, 0)
    if log:
        return means.min() / 1.15, (means + errors).max() * (2 if marked else 1.15)
    low, high = (means - errors).min(), max((means + errors).max(), level or -np.inf)
    if 0 < low < 0.4 * high:
        low = 0.0
    pad = 0.04 * (high - low) or abs(high) or 1.0
    return (0.0 if low == 0 else low - pad), high + pad


def panel(title, axis, xs, lines, log=False, marks=(), level=None):
    """lines: {method: [(mean, standard error) for each of xs]}. marks, a list of (x, words), and level, (y, words),
    show what the paper says."""
    axes = Axes((min(xs), max(xs)), bounds(lines, log, level and level[0], marks), log)
    out = axes.frame(title, axis, log)
    for k, (x, words) in enumerate(marks):
        across = axes.at(x, lines[next(iter(lines))][0][0])[0]
        left = across > (LEFT + WIDTH) / 2
        out += [line(across, TOP, across, HEIGHT - BOTTOM, "#777", DASHES),
                text(across + (-4 if left else 4), TOP + 8 + 12 * k, words, "end" if left else "start", SMALL)]
    if level:
        height = axes.at(xs[0], level[0])[1]
        out += [line(LEFT, height, WIDTH - RIGHT, height, "#777", DASHES),
                text(WIDTH - RIGHT - 2, height + 11, level[1], "end", SMALL)]
    for name, values in lines.items():
        _, colour, shape, dash = look(name)
        points = [axes.at(x, mean) for x, (mean, _) in zip(xs, values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        wide = 2.2 if name == "shadow" else 1.3
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{wide}"{dash}/>')
        for x, (mean, error) in zip(xs, values):
            low = max(mean - error, mean / 1e3) if log else mean - error
            (across, below), (_, above) = axes.at(x, low), axes.at(x, mean + error)
            out.append(line(across, below, across, above, colour, ' stroke-width="1.3" opacity="0.6"'))
        out += [marker(shape, x, y, colour) for x, y in points]
    return "\n".join(out)


SHADES = ["#ffffff", *(f"#{255 - k * 21:02x}{255 - k * 13:02x}{255 - k * 5:02x}" for k in range(1, 12))]


def level_map(title, box, values, over=""):
    """Draws values on a grid, whose last row is at the top, in twelve shades from 0 to the largest value. Neighbours of
    the same shade in a row are one rectangle."""
    rows, columns = values.shape
    wide, high = (WIDTH - LEFT - RIGHT) / columns, (HEIGHT - TOP - BOTTOM) / rows
    shades = np.minimum((12 * values / values.max()).astype(int), 11)
    axes, out = Axes(box[0], box[1], False), []
    for i, row in enumerate(shades):
        cuts = [0, *(np.flatnonzero(np.diff(row)) + 1), columns]
        top = HEIGHT - BOTTOM - (i + 1) * high
        out += [f'<rect x="{LEFT + a * wide:.1f}" y="{top:.1f}" width="{(b - a) * wide + 0.2:.1f}" height="{high + 0.2:.1f}" '
                f'fill="{SHADES[row[a]]}"/>' for a, b in zip(cuts, cuts[1:]) if row[a]]
    return "\n".join([*out, *axes.frame(title, "", False, "none"), over])


def save(path, caption, panels, names):
    """Writes a picture: two panels in each row, and one legend and one caption below them."""
    columns = min(len(panels), 2)
    rows, across = (len(panels) + columns - 1) // columns, 3 if columns == 2 else 2
    width, lines = columns * WIDTH, (len(names) + across - 1) // across
    top = rows * HEIGHT + 14
    height = top + 18 * lines + 14
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>']
    for k, one in enumerate(panels):
        out.append(f'<g transform="translate({k % columns * WIDTH} {k // columns * HEIGHT})">{one}</g>')
    for k, name in enumerate(names):
        label, colour, shape, dash = look(name)
        x, y = 40 + k % across * (width - 40) / across, top + 18 * (k // across)
        out += [line(x, y - 4, x + 24, y - 4, colour, f' stroke-width="2"{dash}'), marker(shape, x + 12, y - 4, colour),
                text(x + 30, y, label, "start")]
    out.append(text(width / 2, height - 8, caption, more=' fill="#555"'))
    path.write_text("\n".join(out) + "\n</svg>\n")
