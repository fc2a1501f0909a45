"""Figure 1: rows in the plane, their shadow, and the densities of all rows and of the shadow."""
import numpy as np

import drawing
import tables
from runs import EXACT, digest, info, model_of, shadow

H, ELL, SEED, N = 0.35, 3.0, 3, 600  # the kernel is exp(-r^2 / H^2)
BOX, GRID = ((-1.45, 1.45), (-0.9, 0.9)), (64, 96)


def algorithm_2(x, radius):
    """Returns the indices of the centres, in the order in which they are found, and for each row the number of its
    centre."""
    centres, of = [], np.full(len(x), -1)
    while (of < 0).any():
        first = int(np.argmax(of < 0))
        near = (of < 0) & (((x - x[first]) ** 2).sum(1) < radius * radius)
        near[first] = True
        of[near] = len(centres)
        centres.append(first)
    return centres, of


def measured(out):
    numbers = np.random.default_rng(SEED)
    angle = numbers.uniform(0, 2 * np.pi, N)
    x = np.stack([np.cos(angle), np.sin(2 * angle) / 2], axis=1) + 0.06 * numbers.standard_normal((N, 2))
    sides = [np.linspace(*side, count) for side, count in zip(BOX, GRID[::-1])]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)

    model = model_of(x, H, {**shadow(ELL), "report.certificates": "exact"})
    kde, shde = (one.transform(grid, "density").reshape(GRID) for one in (model_of(x, H, EXACT), model))
    centres, of = algorithm_2(x, H / ELL)
    same = np.array_equal(model.tensor("C"), x[centres]) and np.allclose(model.tensor("w").ravel(), np.bincount(of), rtol=1e-12)
    proved = info(model, "/certificates")
    mmd = next(one for one in proved if one["name"] == "mmd" and one["by"] == "exact")["measured"]
    bound, apart = float(np.sqrt(2 * (1 - np.exp(-1 / ELL**2)))), float(abs(kde - shde).max())
    draw(out, x, centres, of, kde, shde)
    note = (f"{tables.about('a curve in the plane', x, digest(x))}, one run, seed {SEED}; ell = {ELL:g}, h = {H:g}; densities at "
            f"{GRID[0]} x {GRID[1]} points.")
    figures = {"largest density of all rows": kde.max(), "largest difference of the densities": apart,
               "MMD of rows and shadow": mmd, "the paper's bound (21) on both": bound}
    rows = [["centres", len(centres)], *([what, f"{value:.4f}"] for what, value in figures.items())]
    tables.write(out / "figure1.md", "Figure 1: a shadow and its density", note, ["what", "value"], rows)
    return [("figure 1: centres and weights of Algorithm 2 as printed", "the same", "the same" if same else "others", same),
            ("figure 1: MMD within bound (21)", f"at most {bound:.3f}", f"{mmd:.3f}", mmd <= bound),
            ("figure 1: densities within the same bound", f"at most {bound:.3f}", f"{apart:.3f}", apart <= bound)]


def draw(out, x, centres, of, kde, shde):
    axes = drawing.Axes(*BOX, False)
    hues = [look[1] for look in drawing.LOOKS.values()]

    def dot(point, radius, more):
        across, up = axes.at(*point)
        return f'<circle cx="{across:.1f}" cy="{up:.1f}" r="{radius:.1f}" {more}/>'

    rows = [dot(point, 1.6, f'fill="{hues[k % len(hues)]}"') for point, k in zip(x, of)]
    rings = [dot(x[c], 1 + 1.2 * np.sqrt(w), 'fill="none" stroke="#000" stroke-width="0.8"')
             for c, w in zip(centres, np.bincount(of))]
    dots = "\n".join(dot(x[c], 1.4, 'fill="#d55e00"') for c in centres)
    share = abs(kde - shde).max() / kde.max()
    panels = ["\n".join([*axes.frame(f"{len(x)} rows in {len(centres)} shadows", "", False, "none"), *rows, *rings]),
              drawing.level_map("density of all rows", BOX, kde),
              drawing.level_map("density of the shadow, with its centres", BOX, shde, dots),
              drawing.level_map(f"their difference: at most {share:.1%} of the largest", BOX, abs(kde - shde))]
    caption = "rings: centres, as large as their weights; shades: from 0 to each panel's largest"
    drawing.save(out / "figure1.svg", caption, panels, [])
